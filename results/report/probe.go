package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

const (
	probeLabels = 24
	probeNames  = 8 // cases named under a check
)

// Probe draws what a store shows: the checks of the store as a whole, then the evidence that would not reach the context.
func Probe(w io.Writer, r *results.Probe, o Options) error {
	p := newPage(o, probeLabels)
	p.probeHead(r)
	p.blank()
	for _, c := range r.Checks {
		if len(c.Unknown) < c.Cases || !slices.Contains([]string{"body_hash_match", "revision_match"}, c.Name) { // no case asks
			p.probedCheck(r, &c)
		}
	}
	p.findings(r)
	p.blank()
	lost := p.lost(r)
	p.probeEnd(r, lost)
	return p.flush(w)
}

func (p *page) probeHead(r *results.Probe) {
	parts := []string{p.bold(Safe(r.Name))}
	add := func(text string) {
		if text != "" {
			parts = append(parts, fit(text, 2*maxSetting))
		}
	}
	if r.Service != nil {
		p.probedService(r)
		return
	}
	engine := r.Store.Engine
	if !strings.Contains(engine, r.Store.Version) {
		engine += " " + r.Store.Version
	}
	if r.Store.Address != "" {
		engine += " at " + r.Store.Address
	}
	add(engine)
	add("collection " + r.Store.Named())
	add(counted(r.Store.Items, "item", "items"))
	if r.Store.Dimensions > 0 {
		add(fmt.Sprintf("%d dimensions, %s", r.Store.Dimensions, r.Store.Distance))
	}
	add(fmt.Sprintf("%s search, k %d", r.Search, r.K))
	p.flow("", "   ", parts)
	p.probeNotes(r)
}

// probedService says what the service can be asked for, where there is no store.
func (p *page) probedService(r *results.Probe) {
	s := r.Service
	context := "takes no context"
	switch {
	case s.Through != "":
		context = "takes a context through " + s.Through
	case s.Context:
		context = "takes a context"
	}
	stops := "does not stop before the answer, so that its search was not made"
	if s.Retrieval {
		stops = "stops before the answer"
	}
	p.flow("", "   ", []string{p.bold(Safe(r.Name)), "service " + fit(strings.TrimSpace(s.Name+" "+s.Version), maxSetting), fit(context, 2*maxSetting), stops, "no store"})
	p.probeNotes(r)
}

func (p *page) probeNotes(r *results.Probe) {
	if r.Stopped != "" {
		p.line("  " + p.mark(markEnvironment) + " " + fit(stopped(r.Stopped, r.Planned-len(r.Cases)), p.width-4))
	}
	for _, note := range r.Notes {
		p.noted(markEnvironment, note)
	}
	for _, warning := range r.Warnings {
		p.noted(markEnvironment, warning)
	}
}

// findings tells what is worth knowing and is no defect, each once: a pin of the index that has moved is of every case.
func (p *page) findings(r *results.Probe) {
	seen := map[string]bool{}
	for i := range r.Cases {
		for _, finding := range r.Cases[i].Findings {
			if !seen[finding] && len(seen) < 2*probeNames {
				p.noted(markEnvironment, finding)
			}
			seen[finding] = true
		}
	}
}

// labelledAt adds untrusted text behind a short label, wrapped.
func (p *page) labelledAt(label, text string) {
	for _, line := range wrap(text, p.width-runLabels-4) {
		p.line("  " + p.dim(pad(label, runLabels)) + line)
		label = ""
	}
}

// noted adds untrusted text behind a mark, wrapped.
func (p *page) noted(mark, text string) {
	head := "  " + p.mark(mark) + " "
	for _, line := range wrap(text, p.width-6) {
		p.line(head + line)
		head = "    "
	}
}

// probedCheck draws one check, with the cases that fail it where these are some of several.
func (p *page) probedCheck(r *results.Probe, c *results.ProbedCheck) {
	text := c.Evidence
	failing := len(c.No) + len(c.Unknown)
	switch {
	case c.Name == "corpus_hit" && r.Service != nil:
		text = fmt.Sprintf("%s of %s found by the service; of the rest it is not known: no store is declared (backends.store)", thousands(r.Spans.Used), counted(r.Spans.Total, "span", "spans"))
	case c.Name == "corpus_hit":
		of := counted(r.Scan.Counted, "item", "items")
		if !r.Scan.Complete && r.Scan.Counted == 0 { // it stopped before the store was asked how many there are
			of = "the items"
		}
		text = fmt.Sprintf("%s of %s stored, by one pass over %s of %s", thousands(r.Spans.Used), counted(r.Spans.Total, "span", "spans"), thousands(r.Scan.Scanned), of)
		if rate := r.Rate(); rate > 0 {
			text += fmt.Sprintf(" (%.1f s, %s items/s)", float64(r.ScanMS)/1000, thousands(rate))
		}
		if r.Scan.Reason != "" {
			text += "; not complete: " + r.Scan.Reason
		}
	case c.Name == "fresh" && r.Fresh != nil && r.Fresh.Outdated() > 0 && c.Result == matrix.No:
		text = freshness(r.Fresh)
	case c.Name == "fresh" && r.Fresh != nil && r.Fresh.Outdated() > 0:
		text += ". Beside them, " + freshness(r.Fresh)
	case failing == c.Cases && (ofIndex(c.Name) || r.Service != nil && len(c.No) == 0):
		p.checkLine(c, text)
		return
	case failing > 0 && c.Cases > 1:
		text = fmt.Sprintf("%s of %d", counted(failing, "case", "cases"), c.Cases)
		if c.Evidence != "" {
			text += "; the first: " + c.Evidence
		}
	}
	if c.Result == matrix.Yes && text == "" {
		text = map[string]string{"gold_in_candidates": fmt.Sprintf("all evidence of %s ranks within k = %d", counted(c.Cases, "case", "cases"), r.K)}[c.Name]
	}
	p.checkLine(c, text)
	if failing > 0 && c.Cases > 1 && c.Name != "gold_in_candidates" { // those are told below, with why
		p.perCase(r, c)
	}
}

// ofIndex reports whether a check is about the index and not about a case.
func ofIndex(check string) bool {
	return strings.HasPrefix(check, "embed_") || check == "dimension_match" || check == "filter_control_empty" || check == "index_stable"
}

func (p *page) checkLine(c *results.ProbedCheck, text string) {
	head := "  " + p.mark(answerMark(c.Result)) + " " + pad(Safe(c.Name), p.labels)
	for _, line := range wrap(text, p.width-p.labels-6) {
		p.line(head + line)
		head = spaces(p.labels + 4)
	}
	if strings.TrimSpace(text) == "" {
		p.line(head)
	}
}

func freshness(f *matrix.FreshFacts) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, thousands(n)+" "+what)
		}
	}
	add(f.Updated, "updated at the source after they were indexed")
	add(f.Old, "older than checks.max_age")
	add(f.Differ, "with another text than their source")
	add(f.Gone, "without a source")
	add(f.Unstored, "documents not stored")
	return "of " + counted(f.Items, "item", "items") + ": " + strings.Join(parts, ", ") + "; such as " + strings.Join(f.Examples, ", ")
}

// perCase names the cases that say no, each with its own evidence where that is not the one that stands above. What is unknown
// for every case is said above once.
func (p *page) perCase(r *results.Probe, c *results.ProbedCheck) {
	alike, named := []string{}, 0
	indent := spaces(p.labels + 4)
	for _, id := range c.No {
		evidence := evidenceOf(r, id, c.Name)
		if evidence == "" || evidence == c.Evidence && c.Name != "corpus_hit" {
			alike = append(alike, id)
			continue
		}
		if named++; named > probeNames {
			continue
		}
		head := "      " + p.mark(markFail) + " " + pad(Safe(id), p.labels-4)
		if columns(Safe(id)) >= p.labels-4 {
			p.line(head)
			head = indent
		}
		for _, line := range wrap(evidence, p.width-len(indent)-2) {
			p.line(head + line)
			head = indent
		}
	}
	if named > probeNames {
		p.line("      … " + counted(named-probeNames, "more case", "more cases") + ": --json lists them")
	}
	if len(c.Unknown) < c.Cases && len(c.No)+len(c.Unknown) > 1 {
		p.names(markFail, alike)
		p.names(markUnknown, c.Unknown)
	}
}

// names lists ids behind a mark, the first of them.
func (p *page) names(mark string, ids []string) {
	if len(ids) == 0 {
		return
	}
	more := ""
	if len(ids) > 2*probeNames {
		more = fmt.Sprintf(", and %d more", len(ids)-2*probeNames)
		ids = ids[:2*probeNames]
	}
	head := "      " + p.mark(mark) + " "
	for _, line := range wrap(strings.Join(ids, ", ")+more, p.width-10) {
		p.line(head + line)
		head = spaces(8)
	}
}

func evidenceOf(r *results.Probe, id, check string) string {
	for i := range r.Cases {
		if r.Cases[i].Case != id {
			continue
		}
		for _, c := range r.Cases[i].Checks {
			if c.Name == check {
				return c.Evidence
			}
		}
	}
	return ""
}

// lost lists the cases whose evidence would not reach the context, or whose search says something else that is wrong, and
// returns how many there are.
func (p *page) lost(r *results.Probe) int {
	var rows []row
	cases, defects, failed, open := 0, 0, 0, 0
	for i := range r.Cases {
		c := &r.Cases[i]
		if len(c.Defects)+len(c.Missing) == 0 && c.Error == "" {
			continue
		}
		cases++
		first := row{mark: markUnknown, id: Safe(c.Case), text: strings.Join(c.Missing, "; ")}
		switch {
		case len(c.Defects) > 0:
			first.mark, first.label, first.text = markFail, fit(c.Defects[0].Name(), maxName), c.Defects[0].Evidence[0]
			defects++
		case c.Error != "":
			first.mark, first.label, first.text = markEnvironment, "environment", c.Error
			failed++
		default:
			open++
		}
		rows = append(rows, first)
		for _, d := range c.Defects[min(1, len(c.Defects)):] {
			rows = append(rows, row{mark: " ", id: "and", label: fit(d.Name(), maxName), text: d.Evidence[0]})
		}
	}
	if cases == 0 {
		return 0
	}
	p.paragraph(fmt.Sprintf("of %s: %s, %s undecided, %s not searched", counted(len(r.Cases), "case", "cases"), counted(defects, "with a defect", "with a defect"), thousands(open), thousands(failed)))
	idWidth, labelWidth := 0, 0
	for _, r := range rows {
		if n := columns(r.id); n <= maxIDWidth {
			idWidth = max(idWidth, n)
		}
		if n := columns(r.label); n <= maxLabelWidth {
			labelWidth = max(labelWidth, n)
		}
	}
	for _, r := range rows {
		p.caseRow(r, idWidth, labelWidth, true)
	}
	p.blank()
	return cases
}

func (p *page) probeEnd(r *results.Probe, lost int) {
	if len(r.Recall) > 0 {
		parts := []string{"recall"}
		for _, name := range slices.Sorted(maps.Keys(r.Recall)) {
			if k, ok := strings.CutPrefix(name, "id_recall@"); ok {
				if span, both := r.Recall["recall@"+k]; both && span.Mean != nil && r.Recall[name].Mean != nil {
					parts = append(parts, fmt.Sprintf("@%s by span %s, by id %s", k, fraction(float64(*span.Mean)), fraction(float64(*r.Recall[name].Mean))),
						fmt.Sprintf("(%d of %s, those with gold)", span.Used, counted(span.Total, "case", "cases")))
				}
			}
		}
		p.flow("  ", "   ", parts)
	}
	needing := slices.DeleteFunc(slices.Clone(r.Cases), func(c verdict.Examination) bool { return len(c.Retrieval.Gold) == 0 })
	switch {
	case lost > 0:
	case len(needing) > 0:
		p.paragraph(fmt.Sprintf("%s the evidence of %s is stored and ranks within k = %d; budget, prompt and answer are not looked at", markPass, counted(len(needing), "case", "cases"), r.K))
	default:
		p.line("  no case names evidence, so none was looked for")
	}
	if len(r.Blocked) > 0 {
		p.labelledAt("blocked", "by "+strings.Join(r.Blocked, ", "))
	}
	if len(r.Held) > 0 {
		p.labelledAt("held", "by "+strings.Join(r.Held, ", "))
	}
	asked := "no generator and no reranker was asked"
	if r.Rewrites {
		asked = "the generator was asked for nothing but queries, and no reranker was asked"
	}
	p.linef("  %s; %.1f s", asked, float64(r.WallMS)/1000)
}
