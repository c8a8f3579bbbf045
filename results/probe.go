package results

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// ProbeSchema is the schema of [Probe].
const ProbeSchema = "culprit.probe/v1"

// Probe is what was seen of a store without asking any model for an answer: what `culprit probe --json` prints.
type Probe struct {
	Schema   string                `json:"schema"`
	Name     string                `json:"name"`
	At       string                `json:"at"`
	Exit     int                   `json:"exit"`
	Store    ProbedStore           `json:"store"`
	Search   string                `json:"search"` // mode
	K        int                   `json:"k"`
	Notes    []string              `json:"notes,omitempty"` // what the store says that bears on all of this
	Scan     matrix.ScanFacts      `json:"scan"`
	ScanMS   int64                 `json:"scan_ms"`
	Fresh    *matrix.FreshFacts    `json:"fresh,omitempty"`
	Checks   []ProbedCheck         `json:"checks"` // of the store and over all cases, in a fixed order
	Spans    Share                 `json:"spans"`  // required items whose evidence is stored, of all
	Recall   map[string]Mean       `json:"recall"` // recall@k by span, id_recall@k by source
	Cases    []verdict.Examination `json:"cases"`
	Planned  int                   `json:"planned,omitempty"` // cases of the experiment
	Stopped  string                `json:"stopped,omitempty"` // why the probe ended before its last case: as in [Summary]
	Warnings []string              `json:"warnings,omitempty"`
	WallMS   int64                 `json:"wall_ms"`
}

// ProbedStore is the store as it describes itself.
type ProbedStore struct {
	Adapter    string `json:"adapter"`
	Engine     string `json:"engine,omitempty"`
	Version    string `json:"version,omitempty"`
	Address    string `json:"address,omitempty"`
	Asked      string `json:"asked,omitempty"` // the collection that the experiment names, where it is another name
	Collection string `json:"collection,omitempty"`
	Items      int    `json:"items"`
	Dimensions int    `json:"dimensions,omitempty"`
	Distance   string `json:"distance,omitempty"`
}

// ProbedCheck is a check over all cases: no where one says no, else unknown where one is unknown.
type ProbedCheck struct {
	Name     string        `json:"name"`
	Result   matrix.Answer `json:"result"`
	Evidence string        `json:"evidence,omitempty"` // of the first case that decided
	Cases    int           `json:"cases"`              // that have the check
	No       []string      `json:"no,omitempty"`       // ids of those that say no
	Unknown  []string      `json:"unknown,omitempty"`
}

// NewProbe begins a probe with what the experiment declares.
func NewProbe(e *matrix.Experiment, at time.Time) *Probe {
	p := &Probe{Schema: ProbeSchema, Name: e.Name, At: at.UTC().Format(time.RFC3339), Search: e.Pipeline.Search.Mode, K: e.Pipeline.Search.K, Cases: []verdict.Examination{}}
	var named struct{ Address, Collection string }
	if b := e.Backends.Store; b != nil {
		p.Store.Adapter = b.Adapter
		if json.Unmarshal(b.Settings, &named) == nil { // not every adapter has them
			p.Store.Address, p.Store.Asked = named.Address, named.Collection
		}
	}
	return p
}

// Add takes one case in; required is how many items of evidence it needs.
func (p *Probe) Add(c verdict.Examination, required int) {
	p.Cases = append(p.Cases, c)
	p.Spans.Total += required
}

// checkOrder is that in which checks are shown; others follow.
func checkOrder() []string {
	return []string{
		"corpus_hit", "gold_id_resolves", "body_hash_match", "revision_match", "fresh", "embed_model_declared", "embed_model_match",
		"dimension_match", "embed_behaviour_match", "filter_control_empty", "index_stable", "gold_in_candidates",
	}
}

// Total makes everything that is over all cases.
func (p *Probe) Total() {
	if p.Store.Asked == p.Store.Collection {
		p.Store.Asked = ""
	}
	p.Checks, p.Recall, p.Spans.Used = nil, map[string]Mean{}, 0
	for i := range p.Cases {
		for _, check := range p.Cases[i].Checks {
			p.count(p.Cases[i].Case, check)
		}
		for _, g := range p.Cases[i].Retrieval.Gold {
			if g.Stored == matrix.Yes {
				p.Spans.Used++
			}
		}
	}
	order := checkOrder()
	place := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(p.Checks, func(a, b ProbedCheck) int { return place(a.Name) - place(b.Name) })
	p.recall()
	p.Exit = p.exit()
}

func (p *Probe) count(id string, c verdict.Check) {
	i := slices.IndexFunc(p.Checks, func(have ProbedCheck) bool { return have.Name == c.Name })
	if i < 0 {
		i = len(p.Checks)
		p.Checks = append(p.Checks, ProbedCheck{Name: c.Name, Result: c.Result, Evidence: c.Evidence})
	}
	have := &p.Checks[i]
	have.Cases++
	switch c.Result {
	case matrix.No:
		if have.No = append(have.No, id); len(have.No) == 1 {
			have.Result, have.Evidence = c.Result, c.Evidence
		}
	case matrix.Unknown:
		if have.Unknown = append(have.Unknown, id); len(have.Unknown) == 1 && len(have.No) == 0 {
			have.Result, have.Evidence = c.Result, c.Evidence
		}
	}
}

func (p *Probe) recall() {
	sums := map[string]float64{}
	for i := range p.Cases {
		for _, m := range p.Cases[i].Retrieval.Metrics {
			n := parseNumber(m.Value)
			if n == nil || !strings.Contains(m.Name, "recall@") {
				continue
			}
			mean := p.Recall[m.Name]
			mean.Used++
			sums[m.Name] += float64(*n)
			p.Recall[m.Name] = mean
		}
	}
	for name, mean := range p.Recall {
		value := Number(sums[name] / float64(mean.Used))
		mean.Mean, mean.Total = &value, len(p.Cases)
		p.Recall[name] = mean
	}
}

// barring are the checks whose "no" blocks by itself: the store is not what the experiment takes it for.
func barring(check string) bool {
	return slices.Contains([]string{"corpus_hit", "fresh", "dimension_match", "embed_behaviour_match", "filter_control_empty"}, check)
}

// exit returns the code that a probe ends with. Only blocking cases change it.
func (p *Probe) exit() int {
	code := exitPassed
	worse := func(c int) {
		rank := []int{exitPassed, exitHeld, exitEnvironment, exitBlocked}
		if slices.Index(rank, c) > slices.Index(rank, code) {
			code = c
		}
	}
	for i := range p.Cases {
		c := &p.Cases[i]
		if c.Risk != matrix.RiskBlocking {
			continue
		}
		switch {
		case len(c.Defects) > 0:
			worse(exitBlocked)
		case c.Error != "":
			worse(exitEnvironment)
		case len(c.Missing) > 0:
			worse(exitHeld)
		}
		for _, check := range c.Checks {
			switch {
			case check.Result == matrix.No && barring(check.Name):
				worse(exitBlocked)
			case check.Result == matrix.No && check.Name == "index_stable", check.Result == matrix.Unknown && check.Name == "corpus_hit":
				worse(exitHeld)
			}
		}
	}
	return code
}

// Rate returns how many items a second the scan read, 0 where it was too short to tell.
func (p *Probe) Rate() int {
	if p.ScanMS < 1 {
		return 0
	}
	return int(int64(p.Scan.Scanned) * 1000 / p.ScanMS)
}

// Named writes a store's collection, with the alias that was asked for.
func (s *ProbedStore) Named() string {
	if s.Asked != "" {
		return fmt.Sprintf("%s (alias of %s)", s.Asked, s.Collection)
	}
	return s.Collection
}
