package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// SummarySchema is the schema of [Summary].
const SummarySchema = "culprit.execution/v1"

// Summary is one execution over all its cases: what `culprit run --json` ends with. Numbers are rounded to four places;
// what is not known is null. Everything below Cases is made of Cases by Total,
// with Shared and Unfinished.
type Summary struct {
	Schema    string        `json:"schema"`
	Execution ExecutionID   `json:"execution"`
	Exit      int           `json:"exit"`
	Name      string        `json:"name"`
	Setup     Setup         `json:"setup"`
	Planned   int           `json:"planned,omitempty"` // cases that were to be run; 0 where that is not known
	Stopped   string        `json:"stopped,omitempty"` // why the execution ended before its last case: one of the constants
	Cases     []CaseSummary `json:"cases"`

	Counts      Counts             `json:"counts"`
	ByStage     []StageCount       `json:"by_stage"` // cases whose first defect is in the stage, in the order of stages
	Recall      map[string]*Number `json:"recall"`   // by k, the mean over the cases with gold
	RecallCases Share              `json:"recall_cases"`
	Metrics     map[string]Mean    `json:"metrics"` // of the production ranking: hit@k, complete@k, precision@k, ndcg@k and mrr
	Answers     AnswerTotals       `json:"answers"`
	Totals      Totals             `json:"totals"`
	Shared      *Totals            `json:"shared,omitempty"` // of Totals, the calls that served all cases; not known where Rebuilt
	// Unfinished are of Totals the calls of cases that the execution did not finish, which have no bundle.
	Unfinished *Totals  `json:"unfinished,omitempty"`
	Warnings   []string `json:"warnings,omitempty"`      // about the execution as a whole
	Taken      []Taken  `json:"from_journals,omitempty"` // finished calls that were taken over from unfinished work, this execution's own among it
	Bundles    string   `json:"bundles,omitempty"`       // the folder that holds them
	WallMS     int64    `json:"wall_ms"`
	// Rebuilt is set on a summary that was made of the bundles because the execution did not write one: it did not end.
	Rebuilt bool `json:"rebuilt,omitempty"`
	// ReenactedOf is the digest of the manifest of the bundle that answered every call, so that nobody was asked; "": they were made.
	ReenactedOf string `json:"reenacted_of,omitempty"`
}

// Reasons why an execution ended before its last case.
const (
	StoppedInterrupted = "interrupted"   // no new case was started, and those under way were finished
	StoppedCancelled   = "cancelled"     // the cases under way were given up
	StoppedLimit       = "limits.budget" // the next call might have passed the budget
	StoppedError       = "error"         // a case could not be run
)

// Setup is what the cases were run on, for the head of a report.
type Setup struct {
	Store      string   `json:"store"`
	Search     string   `json:"search"` // mode
	Reranker   string   `json:"reranker,omitempty"`
	Generator  string   `json:"generator"`
	Generation string   `json:"generation"` // "deterministic", "stochastic", "mixed", "" when nothing was generated; set by Total
	K          int      `json:"k"`
	Top        int      `json:"top,omitempty"` // what a reranker passes on of the k
	Budget     string   `json:"budget"`
	Runs       []string `json:"runs"`               // letters, set by Total
	Local      bool     `json:"local"`              // the generator says that it runs in this process and costs nothing
	Currency   string   `json:"currency,omitempty"` // of the cost
	Judge      string   `json:"judge,omitempty"`
	JudgeLocal bool     `json:"judge_local,omitempty"` // so does the judge
}

// Counts are the cases by outcome.
type Counts struct {
	Cases        int `json:"cases"`
	Failing      int `json:"failing"`
	Passing      int `json:"passing"`
	Inconclusive int `json:"inconclusive"`
	Environment  int `json:"environment"`
	Invalid      int `json:"invalid"`
	Blocking     int `json:"blocking"` // blocking cases that fail or cannot judge
}

// StageCount is the number of cases that fail first at a stage.
type StageCount struct {
	Stage verdict.Stage `json:"stage"`
	Cases int           `json:"cases"`
}

// Share says how many of the cases a mean is over.
type Share struct {
	Used  int `json:"used"`
	Total int `json:"total"`
}

// Mean is a mean over the cases that have a value, with how many of all cases these are.
type Mean struct {
	Mean *Number `json:"mean"`
	Share
}

// AnswerTotals counts production's answers over all cases.
type AnswerTotals struct {
	Scored        int `json:"scored"`
	Answered      int `json:"answered"` // not a refusal
	Copied        int `json:"copied"`   // answered with words that stand in the prompt
	Correct       int `json:"correct"`
	CopiedCorrect int `json:"copied_correct"`
}

// Totals count calls and tokens. A token count is null where no call reported it, and the cost where it is not known.
type Totals struct {
	Calls   int `json:"calls"`              // searches, embeddings, reranks, generations and judgements, with every retry of them; reading the store is none
	Reused  int `json:"reused"`             // answers of an identical call, which were not asked for again
	Paid    int `json:"paid"`               // calls of models outside of this process, but for those that never arrived or were refused
	InDoubt int `json:"in_doubt,omitempty"` // calls besides, announced and of which nothing tells what came back: they may be billed
	// Of Paid and InDoubt, calls that another execution has made: they count there, too.
	PaidElsewhere    int    `json:"paid_elsewhere,omitempty"`
	InDoubtElsewhere int    `json:"in_doubt_elsewhere,omitempty"`
	TokensIn         *int64 `json:"tokens_in"`
	TokensOut        *int64 `json:"tokens_out"`
	CostMicro        *int64 `json:"cost_micro"` // in millionths of the currency's unit
	Generation       int    `json:"generations"`
	Judgements       int    `json:"judgements,omitempty"` // asked of the judge

	CostLeast   int64    `json:"cost_micro_at_least,omitempty"` // of the calls whose cost is known
	CostUnknown []string `json:"cost_unknown,omitempty"`        // the prices that are missing
	CostUntold  int      `json:"cost_untold,omitempty"`         // calls that may have to be paid for, and whose tokens are not known
}

// CaseSummary is one case of a summary.
type CaseSummary struct {
	ID            string                        `json:"id"`
	Risk          matrix.Risk                   `json:"risk"`
	Outcome       verdict.Outcome               `json:"outcome"`
	Qualifier     string                        `json:"qualifier,omitempty"`
	Summary       string                        `json:"summary"` // one line
	Defects       []DefectSummary               `json:"defects"`
	Behind        []DefectSummary               `json:"behind,omitempty"` // what showed when one of the defects was repaired
	Cells         map[matrix.CellID]CellSummary `json:"cells"`
	Gold          bool                          `json:"gold"` // the case declares evidence
	Retrieval     RetrievalSummary              `json:"retrieval"`
	Checks        map[string]matrix.Answer      `json:"checks"`
	Attribution   *verdict.Attribution          `json:"attribution,omitempty"` // what A's failure is due to, by holding it against B
	Answer        AnswerTotals                  `json:"answer"`
	Judged        *verdict.Judged               `json:"judged,omitempty"` // what a model said of the answers
	Missing       []string                      `json:"missing,omitempty"`
	Findings      []string                      `json:"findings,omitempty"`
	NotProduction []string                      `json:"not_production,omitempty"` // parts that were made otherwise than by the user's own service
	LeftOut       []string                      `json:"left_out,omitempty"`       // what was not made by whoever went on with the run, by name, and why
	Totals        Totals                        `json:"totals"`
	Bundle        string                        `json:"bundle"`
}

// DefectSummary is one defect of a summary.
type DefectSummary struct {
	Stage    verdict.Stage `json:"stage"`
	Label    string        `json:"label"`
	Rule     string        `json:"rule"`
	Grade    verdict.Grade `json:"grade"`
	Evidence []string      `json:"evidence,omitempty"`
	Behind   string        `json:"behind,omitempty"` // of CaseSummary.Behind: the defect whose repair revealed it
}

// Name returns "stage/label".
func (d DefectSummary) Name() string { return string(d.Stage) + "/" + d.Label }

// CellSummary counts the trials of one cell.
type CellSummary struct {
	Trials   int      `json:"trials"` // that were run: Scored + Unscored + Errors
	Scored   int      `json:"scored"`
	Pass     int      `json:"pass"`
	Errors   int      `json:"errors"`
	Unscored int      `json:"unscored"` // blocked, cut off, or the same response as another repeat's
	NotRun   int      `json:"not_run"`
	Exact    bool     `json:"exact"`              // deterministic: no interval
	Decision string   `json:"decision,omitempty"` // of a cell that was scored: passes, fails or undecided
	Wilson95 []string `json:"wilson95,omitempty"` // of Pass/Scored, the number of trials being fixed in advance
	// Sequence95 is the interval where the trials were counted until they decided.
	Sequence95 []string `json:"sequence95,omitempty"`
	ByJudge    int      `json:"by_judge,omitempty"` // of Pass: by the word of a calibrated judge
	Judged95   []string `json:"judged95,omitempty"` // then: with what its error adds

	Refused int           `json:"refused"`
	Held    matrix.Answer `json:"held,omitempty"`  // the declared expectation of a perturbation
	Shows   string        `json:"shows,omitempty"` // robust, fragile, sensitive or insensitive
}

// Interval returns the interval of the pass rate, nil where there is none.
func (c CellSummary) Interval() []string {
	if c.Judged95 != nil {
		return c.Judged95
	}
	if c.Sequence95 != nil {
		return c.Sequence95
	}
	return c.Wilson95
}

// RetrievalSummary is the production retrieval of one case. A rank is null where the gold is not in the ranking. Two
// required items of one source are told apart as "source" and "source#2".
type RetrievalSummary struct {
	Ranks   map[string]*int    `json:"ranks"`
	Recall  map[string]*Number `json:"recall"`
	Metrics map[string]*Number `json:"metrics"`
}

// NewSummary begins the summary of an execution with what the experiment declares. Whether the generator is local is for the
// caller to say, who has asked it.
func NewSummary(id ExecutionID, e *matrix.Experiment) Summary {
	s := Summary{Schema: SummarySchema, Execution: id, Name: e.Name}
	s.Setup = Setup{Search: e.Pipeline.Search.Mode, K: e.Pipeline.Search.K, Budget: e.Pipeline.Assemble.Budget.String(), Currency: e.Currency()}
	if b := e.Backends.Store; b != nil {
		s.Setup.Store = b.Adapter
	}
	if b := e.Backends.Generator; b != nil {
		if s.Setup.Generator = modelOf(b); s.Setup.Generator == "" {
			s.Setup.Generator = b.Adapter
		}
	}
	if b := e.Backends.Pipeline; b != nil {
		s.Setup.Generator = "your service"
	}
	if b := e.Backends.Reranker; b != nil && e.Pipeline.Rerank != nil {
		if s.Setup.Reranker = modelOf(b); s.Setup.Reranker == "" {
			s.Setup.Reranker = b.Adapter
		}
		s.Setup.Top = e.Pipeline.Rerank.Top
	}
	if b := e.Backends.Judge; b != nil && e.Judge.Asks() {
		if s.Setup.Judge = modelOf(b); s.Setup.Judge == "" {
			s.Setup.Judge = b.Adapter
		}
	}
	return s
}

// Share sets what was asked for all cases together, and for cases that were not finished: what this execution asked, what others did, and how
// many calls are in doubt, with those of others that were made again: elsewhere.
func (s *Summary) Share(e *matrix.Experiment, shared Shared, unfinished, others []matrix.Asked, doubts, elsewhere int) {
	of := func(asked []matrix.Asked) *Totals {
		if len(asked) == 0 {
			return nil
		}
		t := TotalsOf(e, asked)
		return &t
	}
	s.Shared, s.Unfinished = of(shared.Asked()), of(matrix.AddAsked(slices.Clone(unfinished), others...))
	for _, part := range []struct {
		of     **Totals
		doubts int
	}{{&s.Shared, shared.Doubt}, {&s.Unfinished, doubts}} {
		if part.doubts > 0 {
			if *part.of == nil {
				*part.of = &Totals{}
			}
			(*part.of).doubt(part.doubts)
		}
	}
	if s.Unfinished != nil {
		s.Unfinished.PaidElsewhere, s.Unfinished.InDoubtElsewhere = TotalsOf(e, others).Paid, elsewhere
	}
}

// Settle sets what the observations of the case do not tell, and its journal does: how many calls are in doubt, and which another execution
// has made. A journal that does not name the backends that were asked tells nothing of that.
func (c *CaseSummary) Settle(x *matrix.Experiment, b Bill) {
	c.Totals.doubt(b.InDoubt + b.Elsewhere)
	c.Totals.InDoubtElsewhere = b.Elsewhere
	if b.paid[""] == 0 {
		c.Totals.PaidElsewhere = max(0, c.Totals.Paid-b.Paid(x.Paid()))
	}
}

// Summarise makes the summary of one case of its verdict and the recorded trials. Bundle is the path of its bundle.
func Summarise(e verdict.Evaluation, x *matrix.Experiment, o *matrix.Observations, bundle string) CaseSummary {
	s := CaseSummary{
		ID: e.Case, Risk: e.Risk, Outcome: e.Outcome, Qualifier: e.Qualifier, Summary: e.Summary, Bundle: bundle,
		Missing: e.Missing, Findings: e.Findings, NotProduction: e.NotProduction, Gold: len(o.Store.Gold) > 0 || len(e.Retrieval.Gold) > 0,
		Defects: []DefectSummary{}, Cells: map[matrix.CellID]CellSummary{}, Checks: map[string]matrix.Answer{},
		Answer: AnswerTotals(e.Answer), Judged: e.Judged, Attribution: e.Attribution, Totals: TotalsOf(x, o.Asked()), Retrieval: summariseRetrieval(e.Retrieval),
	}
	s.LeftOut = leftOut(o)
	for _, d := range e.Defects {
		s.Defects = append(s.Defects, summariseDefect(&d))
	}
	for _, d := range e.Behind {
		s.Behind = append(s.Behind, summariseDefect(&d))
	}
	for _, c := range e.Cells {
		s.Cells[c.Cell] = CellSummary{
			Trials: c.Scored + c.Unscored + c.Failed, Scored: c.Scored, Pass: c.Pass, Errors: c.Failed,
			Unscored: c.Unscored, NotRun: c.NotRun, Exact: c.Exact, Decision: c.Decision, Wilson95: c.Wilson95, Sequence95: c.Sequence95, ByJudge: c.ByJudge, Judged95: c.Judged95, Refused: c.Refused, Held: c.Held, Shows: c.Shows,
		}
	}
	for _, c := range e.Checks {
		s.Checks[c.Name] = c.Result
	}
	return s
}

func summariseDefect(d *verdict.Defect) DefectSummary {
	return DefectSummary{Stage: d.Stage, Label: d.Label, Rule: d.Rule, Grade: d.Grade, Evidence: d.Evidence, Behind: d.Behind}
}

func summariseRetrieval(r verdict.RetrievalResult) RetrievalSummary {
	s := RetrievalSummary{Ranks: map[string]*int{}, Recall: map[string]*Number{}, Metrics: map[string]*Number{}}
	for i, g := range r.Gold {
		name := g.Source
		if _, taken := s.Ranks[name]; taken {
			name = fmt.Sprintf("%s#%d", name, i+1)
		}
		s.Ranks[name] = g.Rank
	}
	for _, m := range r.Metrics {
		if k, ok := strings.CutPrefix(m.Name, "recall@"); ok {
			s.Recall[k] = parseNumber(m.Value)
		} else {
			s.Metrics[m.Name] = parseNumber(m.Value)
		}
	}
	return s
}
