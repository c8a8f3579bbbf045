package matrix

import (
	"cmp"
	"slices"
)

// CalibrationSchema is the schema of [Calibration].
const CalibrationSchema = "culprit.calibration/v1"

// Calibration is what is known of a judge from labels that persons gave: what `culprit calibrate judge` writes, and judge.calibration
// names. Passing is saying that the answer states the claim. All counts are of claims that the deterministic match leaves missing,
// since the judge decides no others.
type Calibration struct {
	Schema string          `json:"schema"`
	Date   string          `json:"date"` // of the labels, as 2026-11-30, in UTC
	Judge  CalibratedJudge `json:"judge"`
	Labels LabelCounts     `json:"labels"`
	By     []string        `json:"by,omitempty"` // tags of cases by whose values the labels are held apart
	Slices []LabelledSlice `json:"slices,omitempty"`
	Recent LabelCounts     `json:"recent"` // of the 30 judgements that were made last
	Humans *LabelCounts    `json:"humans,omitempty"`
	// Repeated counts how often one question was judged, and how often the judge passed it.
	Repeated   []RepeatedWord `json:"repeated,omitempty"`
	Judgements int            `json:"judgements"`      // of claims that were answered, whether they were labelled or not
	Void       int            `json:"void"`            // of these, those from which no word could be read
	Shown      *Shown         `json:"shown,omitempty"` // what follows from all this, for who reads the file; an experiment does not take it in
}

// Shown is what labels show of a judge. Rates are decimals, and empty where there is none.
type Shown struct {
	Gates         bool         `json:"gates"`           // it may decide claims
	Lacks         []string     `json:"lacks,omitempty"` // why it may not
	Of            ShownRates   `json:"rates"`
	SelfAgreement string       `json:"self_agreement,omitempty"`
	Questions     int          `json:"repeated_questions"` // that this is over
	HumanAC1      string       `json:"human_ac1,omitempty"`
	Slices        []ShownSlice `json:"slices,omitempty"`
	Unlabelled    int          `json:"unlabelled"` // answers that were judged and not labelled
	JudgedRate    string       `json:"judged_rate,omitempty"`
	Rate          []string     `json:"corrected_rate,omitempty"` // the share that persons would pass of all: estimate, lower and upper bound at 95 %
}

// ShownRates is how a judge agrees with persons. Intervals hold at 95 %, the bounds at least one-sidedly.
type ShownRates struct {
	Sensitivity        string   `json:"sensitivity,omitempty"` // of what persons pass, the share that the judge passes
	SensitivityAtLeast string   `json:"sensitivity_at_least,omitempty"`
	Pass               int      `json:"human_passes"`
	Specificity        string   `json:"specificity,omitempty"` // of what persons fail, the share that the judge fails
	SpecificityAtLeast string   `json:"specificity_at_least,omitempty"`
	Fail               int      `json:"human_fails"`
	Kappa              []string `json:"kappa,omitempty"` // with its interval
	AC1                []string `json:"ac1,omitempty"`
	MorePass           int      `json:"more_passes_needed"` // labels of what persons pass, if the judge errs on none of them
	MoreFail           int      `json:"more_fails_needed"`
}

// ShownSlice is what labels show of a slice.
type ShownSlice struct {
	Tag   string     `json:"tag"`
	Value string     `json:"value"`
	Holds bool       `json:"holds"` // sensitivity and specificity are shown for it
	Of    ShownRates `json:"rates"`
}

// CalibratedJudge is the judge that was held against persons. With another one the calibration does not hold.
type CalibratedJudge struct {
	Model    string   `json:"model"`                    // that was asked for
	Reported []string `json:"model_reported,omitempty"` // that answered, sorted
	Prompt   string   `json:"prompt_digest"`            // of the judge's prompts and forms, which hold the rubric
	Settings string   `json:"settings_digest"`          // of its backend and of how it is asked
}

// LabelCounts holds labels against the words of a judge, or of a second person.
type LabelCounts struct {
	BothPass  int `json:"both_pass"`
	JudgePass int `json:"judge_pass"` // and the person fails it: the dangerous error
	HumanPass int `json:"human_pass"` // and the judge fails it
	BothFail  int `json:"both_fail"`
}

// Add counts one label.
func (l *LabelCounts) Add(judge, human bool) {
	switch {
	case judge && human:
		l.BothPass++
	case judge:
		l.JudgePass++
	case human:
		l.HumanPass++
	default:
		l.BothFail++
	}
}

// N is the number of labels.
func (l LabelCounts) N() int { return l.BothPass + l.JudgePass + l.HumanPass + l.BothFail }

// LabelledSlice are the labels of cases with one value of a tag, "" for none.
type LabelledSlice struct {
	Tag    string      `json:"tag"`
	Value  string      `json:"value"`
	Labels LabelCounts `json:"labels"`
}

// RepeatedWord is how many questions the judge was asked Of times and passed Passes times.
type RepeatedWord struct {
	Passes    int `json:"passes"`
	Of        int `json:"of"`
	Questions int `json:"questions"`
}

// JudgeSettings identifies how the experiment's judge is asked: its backend, and what is sent with each question.
func (e *Experiment) JudgeSettings() (string, error) {
	if e.Judge == nil {
		return "", nil
	}
	return Digest(struct {
		Backend     *Backend
		Temperature Decimal
		Seed        int64
		MaxTokens   int
	}{e.Backends.Judge, e.Judge.Temperature, e.Judge.Seed, e.Judge.MaxTokens})
}

// JudgeDecides reports whether a judge's word may stand for the match of a claim: what the answer must say, and nothing beside it.
func (c *Claim) JudgeDecides() bool {
	text, forbidden := c.Statement()
	return text != "" && !forbidden && len(c.Cites) == 0
}

// Slice returns the labels of one value of a tag; they are made where there are none yet, in the order of tags and values.
func (c *Calibration) Slice(tag, value string) *LabelCounts {
	at, found := slices.BinarySearchFunc(c.Slices, LabelledSlice{Tag: tag, Value: value}, func(a, b LabelledSlice) int {
		return cmp.Or(cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Value, b.Value))
	})
	if !found {
		c.Slices = slices.Insert(c.Slices, at, LabelledSlice{Tag: tag, Value: value})
	}
	return &c.Slices[at].Labels
}
