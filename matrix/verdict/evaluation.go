package verdict

import "github.com/culprit-rag/culprit/matrix"

// Stage is a boundary of the pipeline, or a reason to leave it, in the order in which they are judged.
type Stage string

// The stages.
const (
	StageFixture  Stage = "fixture"
	StageAccess   Stage = "access"
	StageIndex    Stage = "index"
	StageEmbed    Stage = "embed"
	StageRetrieve Stage = "retrieve"
	StageRerank   Stage = "rerank"
	StageAssemble Stage = "assemble"
	StagePrompt   Stage = "prompt"
	StageGenerate Stage = "generate"
	StageAbstain  Stage = "abstain"
	StageSeam     Stage = "seam"
)

// State says what is known of a stage. A stage that was not tested is never shown as fine.
type State string

// The states of a stage.
const (
	Broken     State = "broken"
	Clear      State = "clear"       // tested, and Tested says with what
	NotReached State = "not reached" // an earlier stage explains the failure
	Unobserved State = "unobserved"  // what it needs was not seen, and Tested says what
	NotUsed    State = "not used"    // the pipeline has no such stage
)

// Outcome is what came of a case.
type Outcome string

// The outcomes.
const (
	Pass           Outcome = "pass"
	Fail           Outcome = "fail"
	Inconclusive   Outcome = "inconclusive"
	Environment    Outcome = "environment"     // errors, blocks and cut-offs: no stage is blamed
	InvalidFixture Outcome = "invalid-fixture" // the case cannot judge
)

// Qualifiers of a pass.
const (
	CorrectRefusal  = "correct-refusal"
	WithoutEvidence = "without-evidence" // right answer, evidence absent from the prompt: memory
	FromMemory      = "from-memory"      // right answer, evidence in the prompt, and the same answer where the evidence says otherwise
)

// ContextLengthExceeded qualifies an environment: the model cannot read a prompt so long. That is no answer, and no stage is
// blamed for it.
const ContextLengthExceeded = "context-length-exceeded"

// Grade says how well a defect is shown.
type Grade string

// The grades of a defect.
const (
	Verified Grade = "verified" // its one-change repair was run and the case then passed
	Shown    Grade = "shown"    // the trace shows it
	Inferred Grade = "inferred" // it follows by exclusion
)

// EvaluationSchema is the schema of [Evaluation].
const EvaluationSchema = "culprit.evaluation/v1"

// Evaluation is the verdict of one case with everything it rests on. It is derived: equal observations give equal bytes,
// so numbers are integers, fractions or decimal strings.
type Evaluation struct {
	Schema            string          `json:"schema"`
	Case              string          `json:"case"`
	Risk              matrix.Risk     `json:"risk"`
	Outcome           Outcome         `json:"outcome"`
	Qualifier         string          `json:"qualifier,omitempty"`
	Summary           string          `json:"summary"` // one line: what was seen
	Story             string          `json:"story"`   // two or three sentences: what happened
	Defects           []Defect        `json:"defects"`
	Behind            []Defect        `json:"behind,omitempty"`   // what showed when one of the defects was repaired: they are next
	Suspects          []Defect        `json:"suspects,omitempty"` // what the trace shows where A is undecided: no cause yet
	Stages            []StageState    `json:"stages"`
	Cells             []CellResult    `json:"cells"`
	Checks            []Check         `json:"checks"`
	Retrieval         RetrievalResult `json:"retrieval"`
	Attribution       *Attribution    `json:"attribution,omitempty"` // what A's failure is due to, by holding it against B
	Answer            AnswerFacts     `json:"answer"`
	Missing           []string        `json:"missing,omitempty"`        // what would have to be observed to decide
	Findings          []string        `json:"findings,omitempty"`       // worth knowing, not the cause
	NotProduction     []string        `json:"not_production,omitempty"` // which parts were made otherwise than by the user's own service
	Judged            *Judged         `json:"judged,omitempty"`         // what a model said of the answers
	ObservationDigest string          `json:"observation_digest"`
	Ruleset           string          `json:"ruleset"`
}

// Defect is one broken stage with its evidence.
type Defect struct {
	Stage    Stage    `json:"stage"`
	Label    string   `json:"label"`
	Rule     string   `json:"rule"`
	Grade    Grade    `json:"grade"`
	Evidence []string `json:"evidence"`   // what was seen, one fact a line
	Decided  string   `json:"decided_by"` // the observation that decides between this label and its neighbours
	TryFirst string   `json:"try_first"`
	Wasted   string   `json:"wasted_effort"`
	Gold     []string `json:"gold,omitempty"`     // sources of the gold it is about
	Rests    []Rests  `json:"rests_on,omitempty"` // the counts of the cells that it rests on
	Repair   string   `json:"repair,omitempty"`   // the cell of the repair or rung that was run for it
	Behind   string   `json:"behind,omitempty"`   // of a defect in Evaluation.Behind: the one whose repair revealed it
}

// Rests is a cell that a defect rests on. Interval is nil where the generator is deterministic.
type Rests struct {
	Cell matrix.CellID `json:"cell"`
	Passed
	Interval []string `json:"interval,omitempty"`
}

// Name returns "stage/label".
func (d Defect) Name() string { return string(d.Stage) + "/" + d.Label }

// StageState is the state of one stage, with what it was tested by (or what was not seen).
type StageState struct {
	Stage  Stage  `json:"stage"`
	State  State  `json:"state"`
	Tested string `json:"tested,omitempty"`
}

// CellResult counts the trials of one cell. Planned = Scored + Unscored + Failed + NotRun, always.
type CellResult struct {
	Cell     matrix.CellID `json:"cell"`
	Planned  int           `json:"planned"`
	Scored   int           `json:"scored"`
	Pass     int           `json:"pass"`
	Unscored int           `json:"unscored"`         // filtered, truncated, or a copy
	Copies   int           `json:"copies,omitempty"` // of Unscored: the same response as another repeat's
	Failed   int           `json:"failed"`           // errors
	NotRun   int           `json:"not_run"`
	Reason   string        `json:"reason,omitempty"`   // why trials were not run, or not scored
	Exact    bool          `json:"exact,omitempty"`    // the generator is deterministic: no interval
	Decision string        `json:"decision,omitempty"` // of a cell that was scored, by itself and against no other: passes, fails or undecided
	// One of the two is there where equal requests may get unequal answers: an interval of 95 % for a number of trials that was fixed in
	// advance, or one that holds whenever the counting stops.
	Wilson95   []string           `json:"wilson95,omitempty"`
	Sequence95 []string           `json:"sequence95,omitempty"`
	ByJudge    int                `json:"by_judge,omitempty"` // of Pass: by the word of a calibrated judge
	Judged95   []string           `json:"judged95,omitempty"` // then: with what the error of the judge adds
	Refused    int                `json:"refused"`
	Distinct   int                `json:"distinct,omitempty"`  // of several scored answers of a generator that may vary: those that differ
	Agreement  string             `json:"agreement,omitempty"` // then: the probability that two of its answers are one, as a decimal of six places
	Expect     matrix.Expectation `json:"expect,omitempty"`
	Held       matrix.Answer      `json:"held,omitempty"`  // the expectation: yes, no, unknown
	Shows      string             `json:"shows,omitempty"` // what that shows of the generator: robust, fragile, sensitive or insensitive
	Claims     []ClaimCount       `json:"claims,omitempty"`
}

// Interval returns the interval of the pass rate, nil where there is none.
func (r *CellResult) Interval() []string {
	if r.Judged95 != nil {
		return r.Judged95
	}
	if r.Sequence95 != nil {
		return r.Sequence95
	}
	return r.Wilson95
}

// ClaimCount says in how many scored trials a claim was met.
type ClaimCount struct {
	ID  string `json:"id"`
	Met int    `json:"met"`
	N   int    `json:"n"`
}

// Check is one yes/no/unknown question with its evidence.
type Check struct {
	Name     string        `json:"name"`
	Result   matrix.Answer `json:"result"`
	Evidence string        `json:"evidence,omitempty"`
}

// RetrievalResult holds ranks and metrics of the production retrieval. Metrics of a case without gold are absent.
type RetrievalResult struct {
	Gold    []GoldRank `json:"gold,omitempty"`
	Metrics []Metric   `json:"metrics,omitempty"`
}

// GoldRank is the place of one required item: nil is "not in the ranking". Rerank and Packed are nil where it is not there.
type GoldRank struct {
	Source string          `json:"source"`
	ID     string          `json:"id,omitempty"`
	Stored matrix.Answer   `json:"stored,omitempty"` // its evidence is in the searched collection
	Rank   *int            `json:"rank"`
	Score  *matrix.Decimal `json:"score,omitempty"`
	Rerank *int            `json:"rerank,omitempty"`
	Packed *int            `json:"packed,omitempty"`
	Prompt bool            `json:"prompt"` // its span is in A's prompt
}

// Metric is a fraction: recall@2 = Num/Den. A metric with Den 0 is not listed.
type Metric struct {
	Name  string `json:"name"`
	Value string `json:"value"` // decimal, six places
}

// AnswerFacts describes A's answers, for totals over cases.
type AnswerFacts struct {
	Scored        int `json:"scored"`
	Answered      int `json:"answered"` // not a refusal
	Copied        int `json:"copied"`   // answered, and the answer stands verbatim in the prompt
	Correct       int `json:"correct"`  // met what the case expects
	CopiedCorrect int `json:"copied_correct"`
}
