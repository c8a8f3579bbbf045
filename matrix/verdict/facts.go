package verdict

import (
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// boundary is the first boundary that a required item does not cross in production.
type boundary int

const (
	crossedAll   boundary = iota // it stands in the prompt
	lostInPrompt                 // packed, and not in the prompt
	lostInAssemble
	lostInRerank
	lostInSearch // not passed on by the search, for whatever reason
	notSeen      // the retrieval was not observed
)

// goldState is what is known of one requirement on its way to the prompt.
type goldState struct {
	requirement int
	source      string
	span        string
	place       Place     // in C
	packed      GoldPlace // in A
	inStore     matrix.Answer
	holders     []string // ids of the stored items that hold the span
	lost        boundary
	rule        *Rule  // that explains the loss
	blocked     string // what would have to be observed to explain it
}

// name is how evidence speaks of the gold: by the piece that holds it, where a source has several and the piece is known.
func (g *goldState) name() string {
	candidates := g.holders
	if g.place.BySpan > 0 {
		candidates = append([]string{g.place.ID}, g.holders...)
	}
	for _, id := range candidates {
		if id != "" && strings.Contains(id, g.source) {
			return id
		}
	}
	return g.source
}

// facts are the observations as the rules ask for them.
type facts struct {
	e *matrix.Experiment
	c *matrix.Case
	p *matrix.Plan
	o *matrix.Observations
	f *Features

	rules  []Rule // by which it is decided, in their order
	cells  map[matrix.CellID]*cellFacts
	a      *cellFacts        // A among them; nil where it is not planned
	search *matrix.Retrieval // C
	found  *RetrievalFeatures
	gold   []*goldState

	by          deciding
	heeded      heeded
	attributed  measure.Attribution // measure.Unattributed also where A and B cannot be held against each other
	attribution *Attribution        // nil there

	ahead   bool // it is asked what to generate next
	standIn bool // B and D are not production's: pipeline.prompt and backends.generator stand in for a service that takes no context
}

// cellFacts are the trials of one cell.
type cellFacts struct {
	result   CellResult
	trials   []*matrix.Trial  // scored
	features []*TrialFeatures // of the scored trials
	all      []*matrix.Trial  // planned, run or not
	allF     []*TrialFeatures
	ids      map[string]int  // response id → scored and copied trials that carry it
	texts    map[string]bool // refs of the answers of scored and copied trials
	served   int             // copies that a cache says it served, with ids of their own or none
	other    string          // another generator has answered it than A, and how that shows

	cap           int              // repetitions at the most
	ahead         int              // of them, those that are reckoned with already: all, where it is asked what to generate next
	decided       measure.Decision // on its own
	state         measure.Decision // with what it is held against
	better, worse bool             // of a perturbation: than its base
}

// usable reports whether the cell may decide anything. More than 5 % of errors and blocks make every verdict that uses it
// inconclusive, and so does another generator than A's.
func (c *cellFacts) usable() bool {
	return c != nil && c.result.Scored > 0 && c.other == "" && perLost*c.lost() <= max(c.result.Scored+c.lost(), c.ahead)
}

// perLost is how many calls one that is lost needs beside it.
const perLost = 20

// lost counts the errors and blocks. A copy is no answer that might have been another.
func (c *cellFacts) lost() int { return c.result.Failed + c.result.Unscored - c.result.Copies }

func (c *cellFacts) passes() bool { return c != nil && c.state == measure.Passes }
func (c *cellFacts) fails() bool  { return c != nil && c.state == measure.Fails }

// atTimes reports whether the cell passes in more than a fifth of its trials, which is more often than by an accident.
func (c *cellFacts) atTimes() bool { return c != nil && 5*c.result.Pass > c.result.Scored }

// mixed reports whether the cell passes at times, and fails at times.
func (c *cellFacts) mixed() bool { return c.atTimes() && 5*c.result.Pass < 4*c.result.Scored }

// cached reports whether a scored trial was answered without asking the generator.
func (c *cellFacts) cached() bool {
	return slices.ContainsFunc(c.trials, func(t *matrix.Trial) bool { return t.Cached })
}

// every reports whether all scored trials of the cell have the property; false where there is none.
func (c *cellFacts) every(has func(*TrialFeatures) bool) bool {
	return c != nil && len(c.features) > 0 && !slices.ContainsFunc(c.features, func(f *TrialFeatures) bool { return !has(f) })
}

// most reports whether four in five scored trials or more have the property; false where there is none.
func (c *cellFacts) most(has func(*TrialFeatures) bool) bool {
	if c == nil || len(c.features) == 0 {
		return false
	}
	return 5*c.count(has) >= 4*len(c.features)
}

func (c *cellFacts) count(has func(*TrialFeatures) bool) int {
	n := 0
	for _, f := range c.features {
		n += one(has(f))
	}
	return n
}

func (c *cellFacts) some(has func(*TrialFeatures) bool) bool {
	return c != nil && slices.ContainsFunc(c.features, has)
}

func refused(f *TrialFeatures) bool { return f.Refused }

func declined(f *TrialFeatures) bool { return f.Declines }

// failing keeps the features of the scored trials that do not meet the case.
func (c *cellFacts) failing() []*TrialFeatures {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.features), func(f *TrialFeatures) bool { return f.Meets })
}

func newFacts(e *matrix.Experiment, c *matrix.Case, p *matrix.Plan, o *matrix.Observations, f *Features) *facts {
	return factsWith(e, c, p, o, f, false)
}

// factsWith takes calls to come for calls that were made well, where it looks ahead.
func factsWith(e *matrix.Experiment, c *matrix.Case, p *matrix.Plan, o *matrix.Observations, f *Features, ahead bool) *facts {
	x := &facts{rules: table(), e: e, c: c, p: p, o: o, f: f, cells: make(map[matrix.CellID]*cellFacts, len(p.Cells)), by: decidingBy(e, p), standIn: composed(e, o), ahead: ahead}
	cells := make([]cellFacts, len(p.Cells))
	for i := range p.Cells {
		planned := &p.Cells[i]
		cells[i] = cellFacts{cap: planned.Repeats, result: CellResult{Cell: planned.Cell, Planned: planned.Repeats, Exact: p.Deterministic, Expect: planned.Expect}}
		if ahead {
			cells[i].ahead = planned.Repeats
		}
		x.cells[planned.Cell] = &cells[i]
	}
	x.a = x.cells[matrix.CellA]
	x.makeRoom()
	trials := x.heed()
	for i := range o.Trials {
		if cell, ok := x.cells[o.Trials[i].Cell]; ok && i < len(trials) {
			cell.add(&o.Trials[i], &trials[i], p.Deterministic)
		}
	}
	x.finish()
	x.search, x.found = x.retrieval(matrix.CellC)
	for i := range c.Evidence.Required {
		x.gold = append(x.gold, x.newGold(i))
	}
	return x
}

// makeRoom makes room for the trials of each cell.
func (x *facts) makeRoom() {
	n := make(map[matrix.CellID]int, len(x.cells))
	for i := range x.o.Trials {
		n[x.o.Trials[i].Cell]++
	}
	trials, features := make([]*matrix.Trial, 2*len(x.o.Trials)), make([]*TrialFeatures, 2*len(x.o.Trials))
	for cell, c := range x.cells {
		n := n[cell]
		c.all, c.trials, trials = trials[:0:n], trials[n:n:2*n], trials[2*n:]
		c.allF, c.features, features = features[:0:n], features[n:n:2*n], features[2*n:]
	}
}

func (c *cellFacts) add(t *matrix.Trial, f *TrialFeatures, deterministic bool) {
	c.all, c.allF = append(c.all, t), append(c.allF, f)
	switch t.Status {
	case matrix.StatusOK:
		if !deterministic && c.copied(t) {
			return
		}
		c.result.Scored++
		c.trials, c.features = append(c.trials, t), append(c.features, f)
		if f.Meets {
			c.result.Pass++
		}
		if f.Refused {
			c.result.Refused++
		}
	case matrix.StatusError:
		c.result.Failed++
	case matrix.StatusNotRun:
		c.result.NotRun++
		c.result.Reason = t.Reason
	default:
		c.result.Unscored++
	}
}

// retrieval returns one retrieval with its features; nil where it was not run or failed.
func (x *facts) retrieval(cell matrix.CellID) (*matrix.Retrieval, *RetrievalFeatures) {
	for i := range x.o.Retrievals {
		if r := &x.o.Retrievals[i]; r.Cell == cell && r.Status == matrix.StatusOK && i < len(x.f.Retrievals) {
			return r, &x.f.Retrievals[i]
		}
	}
	return nil, nil
}

// probe returns the rank of the gold in a probe of C, and whether the probe passes it on. seen is false where the probe
// was not run.
func (x *facts) probe(cell matrix.CellID, g *goldState) (rank int, passed, seen bool) {
	r, f := x.retrieval(cell)
	if r == nil {
		return 0, false, false
	}
	rank = f.Gold[g.requirement].BySpan
	return rank, rank > 0 && rank <= r.K, true
}

// named returns the gold's own place in the full ranking, of the item of it that stands best; nil where it was not looked up.
func (x *facts) named(g *goldState) *matrix.NamedHit {
	r, _ := x.retrieval(matrix.ProbeNamed)
	if r == nil {
		return nil
	}
	var best *matrix.NamedHit
	for i := range r.Named {
		n := &r.Named[i]
		switch {
		case !slices.Contains(g.holders, n.ID) || !x.ownItem(g.requirement, n.ID):
		case best == nil, best.Score == nil, n.Score != nil && n.Rank > 0 && (best.Rank == 0 || n.Rank < best.Rank):
			best = n
		}
	}
	return best
}

// label is how evidence speaks of an item: by its id, and by its source with it where the id is one that a store made up.
func (x *facts) label(id string) string {
	if !madeUp(id) {
		return id
	}
	for i := range x.o.Store.Gold {
		for _, item := range x.o.Store.Gold[i].Items {
			if item.ID == id && item.Source != "" && item.Source != id {
				return item.Source + " (" + id + ")"
			}
		}
	}
	for i := range x.o.Retrievals {
		for _, h := range x.o.Retrievals[i].Candidates {
			if h.ID == id && h.Source != "" && h.Source != id {
				return h.Source + " (" + id + ")"
			}
		}
	}
	return id
}

// madeUp reports whether an id is a UUID or a number, which says nothing to a reader.
func madeUp(id string) bool {
	return id != "" && strings.Trim(id, "0123456789") == "" || len(id) == 36 && strings.Count(id, "-") == 4 && strings.Trim(id, "0123456789abcdefABCDEF-") == ""
}

// ownItem reports whether a stored item that holds the span is the gold's own, where the scan met any such.
func (x *facts) ownItem(requirement int, id string) bool {
	known := false
	for _, g := range x.goldFacts(requirement) {
		for _, i := range g.Items {
			known = true
			if i.ID == id {
				return !i.Stale
			}
		}
	}
	return !known
}

func (x *facts) newGold(requirement int) *goldState {
	first := x.c.Evidence.Required[requirement].AnyOf[0]
	if best := GoldText(&x.o.Store, requirement); best != nil {
		first = x.c.Evidence.Required[requirement].AnyOf[best.Alternative]
	}
	g := &goldState{requirement: requirement, source: first.Source, span: first.Span, inStore: matrix.Unknown}
	for i := range x.o.Store.Gold {
		if s := &x.o.Store.Gold[i]; s.Requirement == requirement {
			g.holders = append(g.holders, s.Exact...)
			g.holders = append(g.holders, s.Folded...)
		}
	}
	switch {
	case x.servedInStore(requirement):
		g.inStore = matrix.Yes
	case x.o.Store.Scan.Complete:
		g.inStore = matrix.No
	}
	if x.search == nil {
		g.lost = notSeen
		return g
	}
	g.place = x.found.Gold[requirement]
	if g.place.BySpan > 0 {
		g.inStore = matrix.Yes // what the search returns is stored, however far the scan came
	}
	production := x.production()
	if production != nil {
		g.packed = production.Gold[requirement]
	}
	g.lost = x.firstLoss(g, production)
	return g
}

// production returns the features of the first trial of A that was assembled.
func (x *facts) production() *TrialFeatures {
	if t := x.productionTrial(); t != nil {
		a := x.cells[matrix.CellA]
		return a.allF[slices.Index(a.all, t)]
	}
	return nil
}

// productionTrial returns the first trial of A that was assembled, and one that tells its context before one that failed.
func (x *facts) productionTrial() *matrix.Trial {
	var untold *matrix.Trial
	for _, t := range x.cells[matrix.CellA].all {
		switch {
		case t.Status == matrix.StatusNotRun:
		case t.Status != matrix.StatusError || !t.Unseen(matrix.PackedUnobserved):
			return t
		case untold == nil:
			untold = t
		}
	}
	return untold
}

func (x *facts) firstLoss(g *goldState, production *TrialFeatures) boundary {
	kept := slices.ContainsFunc(x.search.Kept(), func(h matrix.Hit) bool {
		return x.search.RerankModel == "" && h.Rank == g.place.BySpan || x.search.RerankModel != "" && h.Rank == g.place.Reranked
	})
	switch {
	case g.packed.Prompt:
		return crossedAll
	case g.packed.Packed > 0:
		return lostInPrompt
	case g.place.BySpan == 0 || g.place.BySpan > x.search.K:
		return lostInSearch
	case !kept:
		return lostInRerank
	case production == nil, x.productionTrial().Unseen(matrix.PackedUnobserved):
		return notSeen
	}
	return lostInAssemble
}

// servedInStore reports whether the searched collection holds the requirement: the span stands in an item of its source, or
// in any item when no item has that source (a stale id).
func (x *facts) servedInStore(requirement int) bool {
	for i := range x.o.Store.Gold {
		g := &x.o.Store.Gold[i]
		if g.Requirement != requirement || len(g.Exact)+len(g.Folded) == 0 {
			continue
		}
		want := x.c.Evidence.Required[requirement].AnyOf[g.Alternative]
		if x.o.Store.Scan.Complete && len(Moved(g, want)) > 0 || slices.ContainsFunc(g.Items, func(i matrix.GoldItem) bool {
			return !i.Stale && (slices.Contains(g.Exact, i.ID) || slices.Contains(g.Folded, i.ID))
		}) || g.TextOrigin == "store" {
			return true
		}
	}
	return false
}

// goldFacts lists what the scan saw of a requirement.
func (x *facts) goldFacts(requirement int) []*matrix.GoldFacts {
	var out []*matrix.GoldFacts
	for i := range x.o.Store.Gold {
		if g := &x.o.Store.Gold[i]; g.Requirement == requirement {
			out = append(out, g)
		}
	}
	return out
}

func (x *facts) relations(requirement int) []StoredRelation {
	var out []StoredRelation
	for _, g := range x.f.Gold {
		if g.Requirement == requirement {
			out = append(out, g.Items...)
		}
	}
	return out
}

// allInPrompt reports whether production's prompt held every required item.
func (x *facts) allInPrompt() bool {
	return len(x.gold) > 0 && !slices.ContainsFunc(x.gold, func(g *goldState) bool { return g.lost != crossedAll })
}

// goldJudges reports whether a failing B may be held against the generator: every required item was in its prompt, with more
// than its bare span, which may be too little to answer from.
func (x *facts) goldJudges() bool {
	for i := range x.c.Evidence.Required {
		if g := GoldText(&x.o.Store, i); g == nil || g.TextOrigin == "span" {
			return false
		}
	}
	return x.goldTested()
}

// goldTested reports whether B put every required item into production's prompt, so that its answers judge the generator.
func (x *facts) goldTested() bool {
	b := x.cells[matrix.CellB]
	return !x.standIn && b != nil && b.every(func(f *TrialFeatures) bool {
		return !slices.ContainsFunc(f.Gold, func(g GoldPlace) bool { return !g.Prompt })
	})
}

// variants returns the cells of D of one variant that were scored.
func (x *facts) variants(names ...string) []*cellFacts {
	var out []*cellFacts
	for _, planned := range x.p.Cells {
		if planned.Cell.Run() == matrix.Perturbation && slices.Contains(names, planned.Cell.Variant()) && x.cells[planned.Cell].result.Scored > 0 {
			out = append(out, x.cells[planned.Cell])
		}
	}
	return out
}

// keyword reports whether the production search is by keyword alone.
func (x *facts) keyword() bool { return x.e.Pipeline.Search.Mode == matrix.ModeKeyword }

func quoted(ids []string) string {
	const most = 5
	out := strings.Join(ids[:min(len(ids), most)], ", ")
	if len(ids) > most {
		out += ", …"
	}
	return out
}
