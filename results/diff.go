package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// DiffSchema is the schema of [Diff].
const DiffSchema = "culprit.diff/v1"

// What a comparison of two bundles of one case comes to, from the mildest to the worst.
const (
	DiffSame          = "same"           // the labels
	DiffWithinNoise   = "within-noise"   // the labels differ, and nothing that they rest on does by more than chance
	DiffChanged       = "changed"        // the labels differ, and so does what they rest on
	DiffNotComparable = "not-comparable" // the case, the rules or the judge are others
)

// Diff compares two executions, or two bundles, case by case.
type Diff struct {
	Schema    string         `json:"schema"`
	Left      string         `json:"left"` // the earlier
	Right     string         `json:"right"`
	Cases     []CaseDiff     `json:"cases"` // of both, in the order of their ids
	OnlyLeft  []string       `json:"only_left,omitempty"`
	OnlyRight []string       `json:"only_right,omitempty"`
	Counts    map[string]int `json:"counts"` // cases by result
}

// Result is the worst of the cases.
func (d *Diff) Result() string {
	for _, r := range []string{DiffNotComparable, DiffChanged, DiffWithinNoise} {
		if d.Counts[r] > 0 {
			return r
		}
	}
	return DiffSame
}

// CaseDiff compares two bundles of one case: pins, observations, counts and labels. Of a layer that is the same nothing is listed.
type CaseDiff struct {
	Case    string   `json:"case"`
	Result  string   `json:"result"`
	Because []string `json:"because,omitempty"` // why they are not comparable
	// Migrated is the side that was migrated from the other: "left" or "right"; "": neither. They are of the same observations.
	Migrated string      `json:"migrated,omitempty"`
	Story    string      `json:"story"` // what moved, and what became of the label
	Left     Labelled    `json:"left"`
	Right    Labelled    `json:"right"`
	Pins     []Moved     `json:"pins,omitempty"`
	Gold     []Moved     `json:"gold,omitempty"`   // the way of each required item: its rank, and where it was lost
	Checks   []Moved     `json:"checks,omitempty"` // of the store
	Ranking  []Reranking `json:"rankings,omitempty"`
	Cells    []CellDiff  `json:"cells,omitempty"`
	Claims   []ClaimDiff `json:"claims,omitempty"`
}

// Labelled is the verdict of one side.
type Labelled struct {
	Bundle    string          `json:"bundle"`
	Execution ExecutionID     `json:"execution"`
	Outcome   verdict.Outcome `json:"outcome"`
	Qualifier string          `json:"qualifier,omitempty"`
	Defects   []string        `json:"defects"` // stage/label
	Grade     verdict.Grade   `json:"grade,omitempty"`
}

// Name is the label, or the outcome where there is none.
func (l *Labelled) Name() string {
	if len(l.Defects) > 0 {
		return strings.Join(l.Defects, " + ")
	}
	return strings.TrimRight(string(l.Outcome)+"/"+l.Qualifier, "/")
}

// Moved is one value that differs; "" is not told.
type Moved struct {
	Name  string `json:"name"`
	Left  string `json:"left"`
	Right string `json:"right"`
}

// Reranking compares the rankings of one cell to the depth of both, items of equal score being in no order among themselves.
type Reranking struct {
	Cell  matrix.CellID `json:"cell"`
	Left  int           `json:"left"` // items
	Right int           `json:"right"`
	Items []Moved       `json:"items"` // by id: the ranks, "" where it is not there
}

// CellDiff compares how often a cell passes.
type CellDiff struct {
	Cell    matrix.CellID `json:"cell"`
	Left    Counted       `json:"left"`
	Right   Counted       `json:"right"`
	Differs matrix.Answer `json:"differs"` // by more than chance
	// By says how that was decided: "exact" of a deterministic generator, "intervals" that do not overlap where trials were counted
	// until they decided, or where one side alone is exact, whose rate is an interval of no width, else "fisher", whose two-sided p is P.
	By string `json:"by,omitempty"`
	P  string `json:"p,omitempty"`
	// Shared is how many of the answers of both sides, as texts, stand on both; of the Left and the Right there are so many.
	Shared       int `json:"shared_answers"`
	LeftAnswers  int `json:"left_answers"`
	RightAnswers int `json:"right_answers"`
	// Withheld: some answers are not there, so that the texts are not compared and the three are 0.
	Withheld bool `json:"withheld,omitempty"`
}

// ClaimDiff compares in how many scored trials of a cell a claim was met.
type ClaimDiff struct {
	Cell  matrix.CellID `json:"cell"`
	Claim string        `json:"claim"`
	Left  Counted       `json:"left"`
	Right Counted       `json:"right"`
}

// noise is the p above which a difference may be chance.
const noise = 0.05

// Comparing says how two bundles are compared.
type Comparing struct {
	Force   bool // say what became of the labels of cases that are not comparable, too
	Rejudge bool // both are judged again, by the rules of this program
}

// Compare compares two bundles of one case, the earlier on the left.
func Compare(left, right *Bundle, how Comparing) (*CaseDiff, error) {
	if left.Case.ID != right.Case.ID {
		return nil, fmt.Errorf("case %q is compared with case %q", left.Case.ID, right.Case.ID)
	}
	if how.Rejudge {
		for _, b := range []*Bundle{left, right} {
			if err := judgeAgain(b); err != nil {
				return nil, fmt.Errorf("bundle %q: %w", b.Path, err)
			}
		}
	}
	d := &CaseDiff{Case: left.Case.ID, Left: labelled(left), Right: labelled(right), Migrated: migrated(left, right)}
	d.Because = incomparable(left, right, d.Migrated != "")
	var err error
	if d.Pins, err = movedPins(left, right); err != nil {
		return nil, err
	}
	d.Gold, d.Checks = movedGold(&left.Evaluation, &right.Evaluation), movedChecks(&left.Evaluation, &right.Evaluation)
	d.Ranking = rerankings(&left.Observations, &right.Observations)
	d.Cells = cellDiffs(left, right)
	d.Claims = claimDiffs(&left.Evaluation, &right.Evaluation)
	d.Result = d.result(how.Force)
	d.Story = d.story()
	return d, nil
}

// judgeAgain gives a bundle the features and the verdict that this program makes of its observations.
func judgeAgain(b *Bundle) (err error) {
	defer cannotBe(&err)
	if b.Features, err = verdict.Extract(&b.Experiment, &b.Case, &b.Observations); err == nil {
		b.Evaluation, err = verdict.Evaluate(&b.Experiment, &b.Case, &b.Plan, &b.Observations, &b.Features)
	}
	return err
}

func labelled(b *Bundle) Labelled {
	e := &b.Evaluation
	l := Labelled{Bundle: b.Path, Execution: b.Manifest.ExecID, Outcome: e.Outcome, Qualifier: e.Qualifier, Defects: []string{}}
	for i, d := range e.Defects {
		l.Defects = append(l.Defects, string(d.Stage)+"/"+d.Label)
		if i == 0 {
			l.Grade = d.Grade
		}
	}
	return l
}

// migrated returns which of two bundles was migrated from the other.
func migrated(left, right *Bundle) string {
	from := func(b, of *Bundle) bool {
		digest, err := matrix.Digest(&of.Manifest)
		return err == nil && b.Manifest.DerivedFrom == digest
	}
	switch {
	case from(right, left):
		return "right"
	case from(left, right):
		return "left"
	}
	return ""
}

// incomparable says why the labels of two bundles cannot be held against each other. Of one that was migrated from the other the rules are
// what is compared.
func incomparable(left, right *Bundle, migrated bool) (because []string) {
	if left.Manifest.CaseDigest != right.Manifest.CaseDigest {
		because = append(because, "the case was changed")
	}
	if left.Evaluation.Ruleset != right.Evaluation.Ruleset && !migrated {
		because = append(because, "they were judged by other rules: --rejudge judges both by the rules of this program")
	}
	judge := func(b *Bundle) string {
		if b.Pins.Judge == nil {
			return ""
		}
		data, err := matrix.Canonical(b.Pins.Judge)
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	if judge(left) != judge(right) {
		because = append(because, "the judge is another")
	}
	return because
}

func (d *CaseDiff) result(force bool) string {
	same := d.Left.Outcome == d.Right.Outcome && d.Left.Qualifier == d.Right.Qualifier && slices.Equal(d.Left.Defects, d.Right.Defects)
	differs := slices.ContainsFunc(d.Cells, func(c CellDiff) bool { return c.Differs == matrix.Yes })
	switch {
	case len(d.Because) > 0 && !force:
		return DiffNotComparable
	case same:
		return DiffSame
	case len(d.Ranking)+len(d.Gold)+len(d.Checks) > 0 || differs || d.Migrated != "":
		return DiffChanged
	}
	return DiffWithinNoise
}

// story says in a few sentences which pin moved, what of the observations did, and what became of the label.
func (d *CaseDiff) story() string {
	var says []string
	add := func(format string, args ...any) { says = append(says, fmt.Sprintf(format, args...)) }
	if len(d.Because) > 0 {
		add("Not comparable: %s.", strings.Join(d.Because, "; "))
		if d.Result == DiffNotComparable {
			return says[0]
		}
	}
	if before, after := d.Left.Name(), d.Right.Name(); before == after {
		add("%s as before.", after)
	} else {
		add("%s became %s.", before, after)
	}
	for _, g := range d.Gold {
		add("%s: %s → %s.", g.Name, g.Left, g.Right)
	}
	for _, c := range d.Checks {
		add("%s: %s → %s.", c.Name, cmp.Or(c.Left, "–"), cmp.Or(c.Right, "–"))
	}
	for _, c := range d.Cells {
		if c.Differs == matrix.Yes {
			add("%s passes %d/%d → %d/%d.", c.Cell, c.Left.Pass, c.Left.Scored, c.Right.Pass, c.Right.Scored)
		}
	}
	names := d.explains()
	switch {
	case d.Migrated != "":
		add("They are of the same observations, judged by two versions: the one on the %s was migrated from the other.", d.Migrated)
	case len(names) > 0:
		const most = 3
		more := ""
		if len(names) > most {
			more = fmt.Sprintf(" and %d more", len(names)-most)
			names = names[:most]
		}
		add("What moved of the pins: %s%s.", strings.Join(names, ", "), more)
	case d.Result == DiffSame:
	case len(d.Ranking)+len(d.Gold)+len(d.Checks) > 0:
		add("No pin that is told differs, and the store answered otherwise.")
	default:
		add("No pin differs: the generator is not the same each time.")
	}
	return strings.Join(says, " ")
}

// explains names the pins that moved and can change a result.
func (d *CaseDiff) explains() (names []string) {
	for _, p := range d.Pins {
		if !strings.HasPrefix(p.Name, "toolchain.") {
			names = append(names, p.Name)
		}
	}
	return names
}

// cellDiffs compares the cells that both scored, as distributions.
func cellDiffs(left, right *Bundle) (all []CellDiff) {
	for i := range left.Evaluation.Cells {
		l := &left.Evaluation.Cells[i]
		at := slices.IndexFunc(right.Evaluation.Cells, func(r verdict.CellResult) bool { return r.Cell == l.Cell })
		if at < 0 {
			continue
		}
		r := &right.Evaluation.Cells[at]
		d := CellDiff{Cell: l.Cell, Left: counted(l), Right: counted(r)}
		d.Differs, d.By, d.P = differs(l, r)
		texts, here := answers(&left.Observations, l.Cell)
		others, there := answers(&right.Observations, l.Cell)
		if d.Withheld = !here || !there; d.Withheld {
			texts, others = nil, nil
		}
		d.LeftAnswers, d.RightAnswers = len(texts), len(others)
		for ref := range texts {
			if others[ref] {
				d.Shared++
			}
		}
		if d.Left.Pass != d.Right.Pass || d.Left.Scored != d.Right.Scored || d.Shared < max(d.LeftAnswers, d.RightAnswers) {
			all = append(all, d)
		}
	}
	return all
}

func counted(c *verdict.CellResult) Counted {
	return Counted{Pass: c.Pass, Scored: c.Scored, Interval: c.Interval()}
}

// answers is the set of a cell's answers, by what they hold, and whether all of them are there.
func answers(o *matrix.Observations, cell matrix.CellID) (refs map[string]bool, all bool) {
	refs, all = map[string]bool{}, true
	for i := range o.Trials {
		if t := &o.Trials[i]; t.Cell == cell && t.Status == matrix.StatusOK {
			refs[t.Answer.Same()] = true
			all = all && !t.Answer.Withheld()
		}
	}
	return refs, all
}

// differs reports whether a cell passes more or less often than before by more than chance, and how that was decided.
func differs(l, r *verdict.CellResult) (_ matrix.Answer, by, p string) {
	if l.Scored == 0 || r.Scored == 0 {
		return matrix.Unknown, "", ""
	}
	yes := func(b bool) matrix.Answer {
		if b {
			return matrix.Yes
		}
		return matrix.No
	}
	switch {
	case l.Exact && r.Exact:
		return yes(l.Pass != r.Pass), "exact", ""
	case l.Exact || r.Exact || l.Sequence95 != nil || r.Sequence95 != nil:
		return yes(apart(interval(l), interval(r))), "intervals", ""
	}
	f := measure.Fisher(measure.Count{K: l.Pass, N: l.Scored}, measure.Count{K: r.Pass, N: r.Scored})
	p = strconv.FormatFloat(f, 'f', 4, 64)
	if f < 0.0001 {
		p = "<0.0001"
	}
	return yes(f <= noise), "fisher", p
}

// interval is that of the pass rate of a scored cell. An exact cell has passed in all of its trials or in none.
func interval(c *verdict.CellResult) []string {
	if !c.Exact {
		return c.Interval()
	}
	if c.Pass == 0 {
		return []string{"0", "0"}
	}
	return []string{"1", "1"}
}

// apart reports whether two intervals have no point in common.
func apart(a, b []string) bool {
	if len(a) != 2 || len(b) != 2 {
		return false
	}
	at := func(s string) float64 { return matrix.Decimal(s).Float() }
	return at(a[1]) < at(b[0]) || at(b[1]) < at(a[0])
}

func claimDiffs(left, right *verdict.Evaluation) (all []ClaimDiff) {
	for i := range left.Cells {
		l := &left.Cells[i]
		for j := range right.Cells {
			r := &right.Cells[j]
			if r.Cell != l.Cell {
				continue
			}
			for _, c := range l.Claims {
				at := slices.IndexFunc(r.Claims, func(o verdict.ClaimCount) bool { return o.ID == c.ID })
				if at < 0 {
					continue
				}
				if o := r.Claims[at]; o.Met*c.N != c.Met*o.N {
					all = append(all, ClaimDiff{Cell: l.Cell, Claim: c.ID, Left: Counted{Pass: c.Met, Scored: c.N}, Right: Counted{Pass: o.Met, Scored: o.N}})
				}
			}
		}
	}
	return all
}

// DiffExecutions compares bundles given by the ids of their cases, the earlier on the left; told, where it is not nil, is called as that
// goes on. Two bundles are in memory at a time.
func DiffExecutions(left, right map[string]string, how Comparing, told func(done, of int)) (*Diff, error) {
	d := &Diff{Schema: DiffSchema, Cases: []CaseDiff{}, Counts: map[string]int{}}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		if right[id] == "" {
			d.OnlyLeft = append(d.OnlyLeft, id)
			continue
		}
		l, err := Open(left[id])
		if err != nil {
			return nil, err
		}
		r, err := Open(right[id])
		if err != nil {
			return nil, err
		}
		c, err := Compare(l, r, how)
		if err != nil {
			return nil, err
		}
		d.Cases = append(d.Cases, *c)
		d.Counts[c.Result]++
		if told != nil {
			told(len(d.Cases), len(left))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(right)) {
		if left[id] == "" {
			d.OnlyRight = append(d.OnlyRight, id)
		}
	}
	return d, nil
}
