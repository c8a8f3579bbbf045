package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
	"github.com/culprit-rag/culprit/results"
)

// FloorSchema is the schema of [FloorReport].
const FloorSchema = "culprit.floor/v1"

// ErrNoFloor is returned where the scores of an experiment's search have no floor to be measured.
var ErrNoFloor = errors.New("no floor can be measured")

// FloorOptions say what a floor is measured on.
type FloorOptions struct {
	Sample int     // stored items that are held against every query
	Seed   int64   // of the sample
	Share  float64 // of items that have nothing to do with a query and reach the floor all the same, 0 to 1
}

// FloorReport is a floor with what it rests on.
type FloorReport struct {
	Schema   string          `json:"schema"`
	Name     string          `json:"name"`
	Exit     int             `json:"exit"`
	Search   string          `json:"search"` // mode
	Seed     int64           `json:"seed"`
	Sample   int             `json:"sample"` // stored items in it
	Arms     []FloorArm      `json:"arms"`
	Below    int             `json:"below"`           // gold items below the floor of every arm
	Floor    *matrix.Floor   `json:"floor,omitempty"` // as checks.floor takes it; nil: none was found
	Gold     []FloorGold     `json:"gold"`            // one for each required piece of evidence that was measured
	LeftOut  []FloorLeft     `json:"left_out,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Totals   *results.Totals `json:"totals,omitempty"` // what was asked for, and what of it may have to be paid for
}

// FloorArm is the floor of one arm of the search. Reason says why there is none.
type FloorArm struct {
	Mode    string          `json:"mode"`
	Floor   *matrix.Decimal `json:"floor,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Below   int             `json:"below"`              // gold items that score below it, of as many as are measured
	Error   matrix.Decimal  `json:"error,omitempty"`    // the largest share that does, at 95 %
	Others  int             `json:"others"`             // pairs of a query with an item that is not its gold
	Reach   int             `json:"reach"`              // of these, those that reach the floor
	Distant bool            `json:"distance,omitempty"` // scores are distances: lower is better
}

// FloorGold is the own score of one required piece of evidence by each arm, of the item of it that scores best. A nil score: the
// arm cannot score it.
type FloorGold struct {
	Case   string                     `json:"case"`
	ID     string                     `json:"id"`
	Scores map[string]*matrix.Decimal `json:"scores"` // by mode
	Below  bool                       `json:"below"`  // the floor of every arm
}

// FloorLeft is a case that was not measured.
type FloorLeft struct {
	Case   string `json:"case"`
	Reason string `json:"reason"`
}

// draw is a seeded sample of the store; the zero one is that of every run.
type draw struct {
	size int
	seed uint64
}

// Floor measures how alike queries are to their gold and to items that have nothing to do with them, on the experiment's own store,
// and finds the score that parts the two. The store is only read. The error wraps [ErrNoFloor] where the search has no such score.
func Floor(ctx context.Context, l *experiments.Loaded, o Options, of FloorOptions) (_ *FloorReport, err error) {
	switch search := l.Experiment.Pipeline.Search; {
	case l.Experiment.Backends.Store == nil:
		return nil, fmt.Errorf("%w: the experiment declares no store", ErrNoFloor)
	case search.Mode == matrix.ModeKeyword:
		return nil, fmt.Errorf("%w: keyword search needs none, an item that shares no term with the query has no score", ErrNoFloor)
	case l.Experiment.Pipeline.Rewrite.Many():
		return nil, fmt.Errorf("%w: pipeline.rewrite makes several searches of a query, and a merged rank is no score", ErrNoFloor)
	}
	own := *l // no stored vector is compared with a fresh one here, which would be paid for
	own.Experiment.Checks.Sample, own.Experiment.Checks.Floor = 0, nil
	o.drawn = draw{of.Sample, uint64(of.Seed)}
	var s *session
	defer o.tellAsked(&own.Experiment, &s)()
	s, err = start(ctx, &own, o, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if !s.store.Capabilities().Only {
		return nil, fmt.Errorf("%w: the store cannot score an item that is asked for by name", ErrNoFloor)
	}
	m := &measuring{report: &FloorReport{Schema: FloorSchema, Name: own.Experiment.Name, Search: own.Experiment.Pipeline.Search.Mode, Seed: of.Seed, Gold: []FloorGold{}}}
	m.report.Sample = min(of.Sample, len(s.presence.sample))
	measured := make([][]measuredArm, len(own.Cases))
	err = s.each(ctx, own.Cases, o.Drain, nil, func(ctx context.Context, i int) (err error) {
		c := &own.Cases[i].Case
		if measured[i], err = s.measureCase(ctx, c, of.Sample); err != nil {
			return fmt.Errorf("case %q: %w", c.ID, err)
		}
		s.progress.finished(c.ID)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range measured {
		m.add(own.Cases[i].Case.ID, measured[i])
	}
	m.finish(of.Share, s.embedderInfo.Model)
	m.report.Warnings = slices.Concat(s.notes.list, s.ledger.offs.warnings(s.experiment))
	return m.report, nil
}

// measuredArm are the scores of one case by one arm; better is higher, and nil is none. Reason says why there are none at all.
type measuredArm struct {
	mode    string
	reason  string
	distant bool
	gold    []FloorGold // of each requirement; Scores holds this arm alone
	others  []float64
}

// measureCase asks each arm for the gold of a case and the sample by name; nil for a case without evidence.
func (s *session) measureCase(ctx context.Context, c *matrix.Case, sample int) ([]measuredArm, error) {
	if !c.HasGold() {
		return nil, nil
	}
	r, err := s.newCase(c, &matrix.Plan{}, unrecorded{}, nil)
	if err != nil {
		return nil, err
	}
	r.probing = true
	if err := r.rewrite(ctx); err != nil {
		return nil, err
	}
	gold := r.goldIDs()
	switch {
	case r.unwritten() != "":
		return []measuredArm{{reason: r.unwritten()}}, nil
	case len(r.queries()) == 0:
		return []measuredArm{{reason: matrix.SearchedNothing}}, nil
	case len(gold) == 0:
		return []measuredArm{{reason: "none of its evidence is in the store"}}, nil
	}
	var others []string
	for _, v := range s.presence.sample[:min(sample, len(s.presence.sample))] {
		if i := &v.item; !slices.Contains(gold, i.ID) && !r.isAnyGold(i.ID, i.Source, i.Revision, matrix.NewText(i.Text)) {
			others = append(others, i.ID)
		}
	}
	var out []measuredArm
	for _, mode := range s.experiment.Pipeline.Search.Arms() {
		found, err := r.retrieve(ctx, r.own(matrix.ProbeOwn(mode), slices.Concat(gold, others)))
		if err != nil {
			return nil, err
		}
		if found.Status != matrix.StatusOK {
			return []measuredArm{{reason: found.Error.String()}}, nil
		}
		out = append(out, r.measured(mode, &found, others))
	}
	return out, nil
}

// measured reads the scores of one arm.
func (r *caseRun) measured(mode string, found *matrix.Retrieval, others []string) measuredArm {
	arm := measuredArm{mode: mode, distant: found.LowerIsBetter}
	scores := map[string]*matrix.Decimal{}
	for _, h := range found.Candidates {
		scores[h.ID] = h.Score
	}
	for i := range r.c.Evidence.Required {
		var best *FloorGold
		for _, g := range r.obs.Store.Gold {
			for _, id := range append(slices.Clone(g.Exact), g.Folded...) {
				if g.Requirement == i && (best == nil || height(scores[id], arm.distant) > height(best.Scores[mode], arm.distant)) {
					best = &FloorGold{Case: r.c.ID, ID: id, Scores: map[string]*matrix.Decimal{mode: scores[id]}}
				}
			}
		}
		if best != nil {
			arm.gold = append(arm.gold, *best)
		}
	}
	for _, id := range others {
		arm.others = append(arm.others, height(scores[id], arm.distant))
	}
	return arm
}

// height is a score where better is higher; no score is below all.
func height(score *matrix.Decimal, distant bool) float64 {
	switch {
	case score == nil:
		return math.Inf(-1)
	case distant:
		return -score.Float()
	}
	return score.Float()
}

// measuring gathers what was measured of the cases, in their order.
type measuring struct {
	report *FloorReport
	others map[string][]float64 // by mode
}

func (m *measuring) add(id string, arms []measuredArm) {
	if len(arms) == 1 && arms[0].reason != "" {
		m.report.LeftOut = append(m.report.LeftOut, FloorLeft{id, arms[0].reason})
		return
	}
	if m.others == nil {
		m.others = map[string][]float64{}
	}
	first := len(m.report.Gold)
	for n, arm := range arms {
		if !slices.ContainsFunc(m.report.Arms, func(a FloorArm) bool { return a.Mode == arm.mode }) {
			m.report.Arms = append(m.report.Arms, FloorArm{Mode: arm.mode, Distant: arm.distant})
		}
		m.others[arm.mode] = append(m.others[arm.mode], arm.others...)
		for i, g := range arm.gold {
			if n == 0 {
				m.report.Gold = append(m.report.Gold, g)
			} else { // each arm by the item that it scores best
				m.report.Gold[first+i].Scores[arm.mode] = g.Scores[arm.mode]
			}
		}
	}
}

// finish finds the floor of every arm, and counts the gold below.
func (m *measuring) finish(share float64, model string) {
	gold := m.report.Gold
	floor := &matrix.Floor{N: len(gold), EmbedModel: model}
	for i := range m.report.Arms {
		arm := &m.report.Arms[i]
		others := m.others[arm.Mode]
		arm.Others = len(others)
		least := measure.Floor(others, share)
		if !least.OK() || len(gold) == 0 {
			arm.Reason = fmt.Sprintf("%d pairs with items that are no evidence are too few for a share of %s: take a larger sample, or more cases", len(others), matrix.NewDecimal(share))
			continue
		}
		at := least.Float()
		for _, h := range others {
			if h >= at {
				arm.Reach++
			}
		}
		if arm.Distant {
			at = -at
		}
		arm.Floor = score(at)
		for n := range gold {
			if height(gold[n].Scores[arm.Mode], arm.Distant) < height(arm.Floor, arm.Distant) {
				arm.Below++
			}
		}
		arm.Error = bound(arm.Below, len(gold))
		if arm.Mode == matrix.ModeDense {
			floor.Dense = arm.Floor
		} else {
			floor.Keyword = arm.Floor
		}
	}
	missing := slices.ContainsFunc(m.report.Arms, func(a FloorArm) bool { return a.Floor == nil })
	if missing || len(gold) == 0 {
		return
	}
	for i := range gold {
		gold[i].Below = !slices.ContainsFunc(m.report.Arms, func(a FloorArm) bool {
			return height(gold[i].Scores[a.Mode], a.Distant) >= height(a.Floor, a.Distant)
		})
		if gold[i].Below {
			m.report.Below++
		}
	}
	floor.Error = bound(m.report.Below, len(gold))
	m.report.Floor = floor
}

// bound is the largest share behind k of n, at 95 %, rounded up.
func bound(k, n int) matrix.Decimal {
	return matrix.NewDecimal(math.Ceil(measure.ClopperPearsonUpper(k, n, 0.05).Float()*1e4) / 1e4)
}

// own is the search of one arm for some items by name: their own scores, whatever the filter, the threshold and the cutoff say.
func (r *caseRun) own(cell matrix.CellID, ids []string) search {
	s := r.production()
	s.cell, s.mode = cell, strings.TrimPrefix(string(cell), string(matrix.ProbeOwn("")))
	s.only, s.reach, s.filter, s.threshold, s.exact = ids, len(ids), nil, nil, r.store.Capabilities().Exact
	return s
}

// goldIDs lists the items that hold gold; none where the store cannot be asked for items by name.
func (r *caseRun) goldIDs() []string {
	if !r.store.Capabilities().Only {
		return nil
	}
	ids := r.obs.Store.GoldIDs()
	return ids[:min(len(ids), keepItems)]
}
