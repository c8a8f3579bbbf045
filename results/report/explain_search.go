package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// production returns the retrieval that production made, and where the gold stands in it.
func (x *explained) production() (*matrix.Retrieval, *verdict.RetrievalFeatures) {
	for i := range x.Observations.Retrievals {
		r := &x.Observations.Retrievals[i]
		if r.Cell != matrix.CellC && r.Cell != matrix.CellA {
			continue
		}
		if i < len(x.Features.Retrievals) && x.Features.Retrievals[i].Cell == r.Cell {
			return r, &x.Features.Retrievals[i]
		}
		return r, &verdict.RetrievalFeatures{}
	}
	return nil, nil
}

// search draws the ranking around the cutoff and around the gold.
func (x *explained) search() {
	r, f := x.production()
	if r == nil {
		return
	}
	head := "search, " + r.Mode
	switch counted := x.Observations.Store.Scan.Counted; {
	case r.Status != matrix.StatusOK:
		head += ": " + failure(r.Status, r.Reason, r.Error)
	case counted > 0:
		head += fmt.Sprintf(", %s of %s ranked", thousands(len(r.Candidates)), thousands(counted))
	default:
		head += fmt.Sprintf(", %s ranked", thousands(len(r.Candidates)))
	}
	if r.Exact {
		head += ", exact"
	}
	x.line("  " + fit(head, x.width-4))
	x.searchedFor(r, f)
	if len(r.Filter) > 0 {
		x.labelled("  filter", filterText(r.Filter))
	}
	if r.Threshold != nil {
		x.labelled("  threshold", string(*r.Threshold))
	}
	x.ranking(r, f)
	x.absentGold(r)
	x.blank()
}

func filterText(f matrix.Filter) string {
	var parts []string
	for _, c := range f {
		is := "is "
		if c.Not {
			is = "is not "
		}
		values := strings.Join(c.AnyOf, " or ")
		if len(c.AnyOf) == 0 {
			values = "(no value: holds for nothing)"
		}
		parts = append(parts, c.Field+" "+is+values)
	}
	return strings.Join(parts, ", and ")
}

// failure says in words how a call ended that did not end well.
func failure(s matrix.Status, reason string, err *matrix.CallError) string {
	text := map[matrix.Status]string{
		matrix.StatusError: "error", matrix.StatusFiltered: "blocked by the provider",
		matrix.StatusTruncated: "stopped at the output limit", matrix.StatusNotRun: "not run",
	}[s]
	if text == "" {
		text = string(s)
	}
	if reason != "" {
		text += ": " + reason
	}
	if err != nil {
		text += ": " + err.String()
	}
	return text
}

// hitRow is one line of a ranking.
type hitRow struct {
	rank            int
	id, score, mark string
	text            string // not safe yet
}

func (x *explained) ranking(r *matrix.Retrieval, f *verdict.RetrievalFeatures) {
	marks := x.rankMarks(r, f)
	var rows []hitRow
	for _, rank := range window(len(r.Candidates), r.K, marks) {
		h := &r.Candidates[rank-1]
		rows = append(rows, hitRow{rank: rank, id: fitID(shownID(h.ID, h.Source), maxID), score: score(h.Score), mark: marks[rank], text: shownText(h.Text)})
	}
	below := ""
	if r.Deeper && scoresRise(r) {
		below = "; below it a longer search, which scores otherwise"
	}
	x.hits(rows, r.K, "k", below, len(r.Candidates))
}

// shownText is a text as a row shows it: one that is not in the bundle is named as such.
func shownText(t matrix.Text) string {
	if t.Withheld() {
		return "(withheld)"
	}
	return t.Value
}

// scoresRise reports whether what stands behind the cutoff scores better than what stands before it.
func scoresRise(r *matrix.Retrieval) bool {
	if r.K < 1 || len(r.Candidates) <= r.K {
		return false
	}
	last, next := r.Candidates[r.K-1].Score, r.Candidates[r.K].Score
	return last != nil && next != nil && last.Float() != next.Float() && (next.Float() > last.Float()) != r.LowerIsBetter
}

// hits draws rows with the cutoff between those that are passed on and the others, and with the gaps.
func (x *explained) hits(rows []hitRow, cut int, name, below string, total int) {
	if len(rows) == 0 {
		return
	}
	idWidth, scoreWidth, markWidth := 0, 0, 0
	for _, r := range rows {
		idWidth, scoreWidth, markWidth = max(idWidth, columns(r.id)), max(scoreWidth, columns(r.score)), max(markWidth, columns(r.mark))
	}
	textWidth := x.width - 8 - idWidth - 2 - scoreWidth - 2 - markWidth - 2
	last, cutDrawn := 0, false
	for _, r := range rows {
		if last <= cut && r.rank > cut && !cutDrawn {
			x.gap(last, cut)
			x.line("     " + x.dim(fmt.Sprintf("╌╌ cutoff %s = %d%s ╌╌", name, cut, below)))
			last, cutDrawn = cut, true
		}
		x.gap(last, r.rank-1)
		line := right(strconv.Itoa(r.rank), 6) + "  " + pad(r.id, idWidth) + "  " + right(r.score, scoreWidth) + "  "
		if r.mark == "" { // its text may go on where others have their mark
			x.line(line + x.evidence.preview(r.text, textWidth+2+markWidth))
		} else {
			x.line(line + pad(x.evidence.preview(r.text, textWidth), textWidth) + "  " + x.bold(r.mark))
		}
		last = r.rank
	}
	x.gap(last, total)
}

// gap says how many ranks between two rows are not shown.
func (x *explained) gap(from, to int) {
	if n := to - from; n > 0 {
		x.line("     ⋮  " + x.dim(thousands(n)+" more"))
	}
}

// window picks the ranks worth showing: the best, those around the cutoff, and every marked one.
func window(n, cut int, marks map[int]string) []int {
	const best, whole, most = 3, 8, 24
	pick := map[int]bool{}
	for rank := 1; rank <= n; rank++ {
		around := rank >= cut-1 && rank <= cut+1
		if rank <= best || around || cut <= whole && rank <= cut {
			pick[rank] = true
		}
	}
	ranks := make([]int, 0, len(pick))
	for rank := range pick {
		ranks = append(ranks, rank)
	}
	var marked []int
	for rank := range marks {
		if rank >= 1 && rank <= n && !pick[rank] {
			marked = append(marked, rank)
		}
	}
	slices.Sort(marked)
	ranks = append(ranks, marked[:min(len(marked), max(most-len(ranks), 0))]...)
	slices.Sort(ranks)
	return ranks
}

const (
	goldMark      = "◀ gold"
	forbiddenMark = "◀ not for the asker"
	maxID         = 24 // columns of an id in a list
)

// forbidden are the ids that production's search passed on and the asker may not see.
func (x *explained) forbidden() map[string]bool {
	ids := map[string]bool{}
	if r, f := x.production(); r != nil {
		for _, rank := range f.Forbidden {
			if rank >= 1 && rank <= len(r.Candidates) {
				ids[r.Candidates[rank-1].ID] = true
			}
		}
	}
	return ids
}

// rankMarks says what is to be known of a rank. Gold wins over everything else.
func (x *explained) rankMarks(r *matrix.Retrieval, f *verdict.RetrievalFeatures) map[int]string {
	marks := map[int]string{}
	for _, rank := range f.Duplicate {
		marks[rank] = "repeats a better rank"
	}
	for i := range r.Candidates {
		if kind := x.distractor(&r.Candidates[i]); kind != "" {
			marks[i+1] = kind
		}
	}
	for _, rank := range f.Forbidden {
		marks[rank] = forbiddenMark
	}
	for _, g := range f.Gold {
		if g.BySource > 0 && g.BySource != g.BySpan {
			marks[g.BySource] = "◀ gold source, not the span"
			if x.untold(r, &r.Candidates[g.BySource-1]) {
				marks[g.BySource] = "◀ gold source, text not told"
			}
		}
	}
	for _, g := range f.Gold {
		if g.BySpan > 0 {
			marks[g.BySpan] = goldMark
		}
	}
	if len(f.Gold) == 0 {
		for _, g := range x.Evaluation.Retrieval.Gold {
			if g.Rank != nil {
				marks[*g.Rank] = goldMark
			}
		}
	}
	return marks
}

// untold reports whether nobody tells the text of an item: neither the service that ranked it nor a store.
func (x *explained) untold(r *matrix.Retrieval, h *matrix.Hit) bool {
	return x.Experiment.WithoutStore() && r.By != "" && h.Text.Ref == ""
}

func (x *explained) distractor(h *matrix.Hit) string {
	for _, d := range x.Case.Evidence.Distractors {
		if (d.Source == h.Source || d.Source == h.ID) && (d.Revision == "" || d.Revision == h.Revision) {
			return fit(string(d.Kind), 16)
		}
	}
	return ""
}

// absentGold names the gold that is nowhere in the ranking.
func (x *explained) absentGold(r *matrix.Retrieval) {
	for i, g := range x.Evaluation.Retrieval.Gold {
		if g.Rank != nil || r.Status != matrix.StatusOK {
			continue
		}
		name := fit(g.Source, 40)
		if slices.ContainsFunc(r.Candidates, func(h matrix.Hit) bool {
			return (h.ID == g.Source || h.Source == g.Source) && x.untold(r, &h)
		}) {
			x.line("     " + x.mark(markUnknown) + " gold " + name + ": whether the ranking holds it is not known")
			continue
		}
		if piece := x.holder(i); piece != "" && piece != g.Source { // other pieces of the source may well be ranked
			name += ", held by " + fitID(piece, 40) + ","
		}
		x.line("     " + x.mark(markFail) + " gold " + name + " is not in the ranking")
	}
}

// holder returns the first stored item that holds the span of a required item, "" where none does.
func (x *explained) holder(requirement int) string {
	for i := range x.Observations.Store.Gold {
		if g := &x.Observations.Store.Gold[i]; g.Requirement == requirement {
			if held := slices.Concat(g.Exact, g.Folded); len(held) > 0 {
				return held[0]
			}
		}
	}
	return ""
}

// rerank draws the order after reranking beside the rank before it.
func (x *explained) rerank() {
	r, f := x.production()
	if r == nil || r.RerankModel == "" {
		return
	}
	x.line("  " + fit(fmt.Sprintf("rerank, %s, %d of %d passed on", r.RerankModel, min(r.RerankTop, len(r.Reranked)), len(r.PassedOn())), x.width-4))
	before := map[string]int{}
	for i := range r.Candidates {
		before[r.Candidates[i].ID] = i + 1
	}
	marks, forbidden := map[int]string{}, x.forbidden()
	for i := range r.Reranked {
		if forbidden[r.Reranked[i].ID] {
			marks[i+1] = forbiddenMark
		}
	}
	for _, g := range f.Gold {
		if g.Reranked >= 1 && g.Reranked <= len(r.Reranked) {
			marks[g.Reranked] = goldMark
		}
	}
	var rows []hitRow
	for _, rank := range window(len(r.Reranked), r.RerankTop, marks) {
		h := &r.Reranked[rank-1]
		was := "was –"
		if n := before[h.ID]; n > 0 {
			was = fmt.Sprintf("was %d", n)
		}
		mark := was
		if h.InputTruncated {
			mark += ", read in part"
		}
		if marks[rank] != "" {
			mark += "  " + marks[rank]
		}
		rows = append(rows, hitRow{rank: rank, id: fitID(shownID(h.ID, h.Source), maxID), score: score(h.Score), mark: mark, text: shownText(h.Text)})
	}
	x.hits(rows, r.RerankTop, "top", "", len(r.Reranked))
	x.blank()
}

// score shortens a decimal for the screen; the bundle has it as it came.
func score(d *matrix.Decimal) string {
	if d == nil {
		return "–"
	}
	f := d.Float()
	switch size := math.Abs(f); {
	case f != f || size > 1e6:
		return fit(string(*d), 9)
	case f == 0:
		return "0"
	case size >= 1:
		return strconv.FormatFloat(f, 'f', 2, 64)
	case size < 1e-4:
		return strconv.FormatFloat(f, 'e', 2, 64)
	default: // three significant digits: ranks of a fusion differ in the fourth place
		return strconv.FormatFloat(f, 'f', 2-int(math.Floor(math.Log10(size))), 64)
	}
}

// shownID is how a row names an item: where a store has made its id up, its source says more.
func shownID(id, source string) string {
	if source == "" || !madeUp.MatchString(id) {
		return id
	}
	return source
}

const uuid = `[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`

var (
	madeUp        = regexp.MustCompile(`^(?:[0-9]+|` + uuid + `)$`)
	inParentheses = regexp.MustCompile(` \(` + uuid + `\)`)
)
