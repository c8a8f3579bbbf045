package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/crash"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// openJudge opens the experiment's judge, a generator under a policy of its own, and asks it what it is; nil where there is none.
func openJudge(ctx context.Context, l *experiments.Loaded, o Options, ledger *ledger) (_ adapters.Generator, info adapters.GeneratorInfo, err error) {
	spec := l.Experiment.Backends.Judge
	if spec == nil || !l.Experiment.Judge.Asks() {
		return nil, info, nil
	}
	cfg := config(spec, l, o)
	cfg.As = matrix.RoleJudge
	opened, err := o.Registry.Generator(ctx, spec.Adapter, cfg)
	if err != nil {
		return nil, info, fmt.Errorf("backends.judge: %w", err)
	}
	judge := adapters.WrapGenerator(opened, ledger.policy(matrix.RoleJudge, spec, o.Secrets.Redactor()))
	if info, err = judge.Describe(ctx); err != nil {
		return nil, info, errors.Join(fmt.Errorf("asking the judge what it is: %w", err), judge.Close())
	}
	return judge, info, nil
}

// judging is one question to the judge on its way to a judgement.
type judging struct {
	judgement matrix.Judgement
	place     [3]int // order of the judgements: trial, kind, claim or item
	call      matrix.Call
	messages  []adapters.Message
	format    adapters.Format
	about     verdict.Question
}

// judgeAll puts to the judge what the experiment asks of it. It is called when everything else of the case was observed, and what
// it fails in is an observation like any other: the verdict does not rest on it.
func (r *caseRun) judgeAll(ctx context.Context) error {
	if r.judge == nil || !r.experiment.Judge.Asks() {
		return nil
	}
	asked, err := r.questions()
	if err != nil {
		return err
	}
	made := map[string]*judging{} // by the digest of the messages
	if err := r.judgeEach(ctx, asked, made); err != nil {
		return err
	}
	more, err := r.faithfulness(asked) // of the statements that were found
	if err != nil {
		return err
	}
	if err := r.judgeEach(ctx, more, made); err != nil {
		return err
	}
	asked = append(asked, more...)
	slices.SortStableFunc(asked, func(a, b *judging) int { return slices.CompareFunc(a.place[:], b.place[:], cmp.Compare[int]) })
	for _, q := range asked {
		r.obs.Judgements = append(r.obs.Judgements, q.judgement)
	}
	return nil
}

// kindOrder is the order of the judgements of one trial.
var kindOrder = []matrix.JudgementKind{
	matrix.JudgeClaim, matrix.JudgeStatements, matrix.JudgeFaithfulness, matrix.JudgeAnswerRelevancy, matrix.JudgeContextPrecision, matrix.JudgeContextRecall,
}

// questions are those that rest on no other judgement.
func (r *caseRun) questions() ([]*judging, error) {
	settings := r.experiment.Judge
	var asked []*judging
	ask := func(trial int, j matrix.Judgement, n int, about verdict.Question, texts ...fenced) error {
		q, err := r.question(trial, j, n, about, texts)
		asked = append(asked, q)
		return err
	}
	contexts := map[matrix.CellID]bool{}
	question := fenced{"QUESTION", r.c.Question()}
	for i := range r.obs.Trials {
		t := &r.obs.Trials[i]
		if !settings.Judges(t.Cell) || t.Status == matrix.StatusNotRun {
			continue
		}
		if !contexts[t.Cell] {
			contexts[t.Cell] = true
			if err := r.contextQuestions(i, ask); err != nil {
				return nil, err
			}
		}
		text := verdict.ReadAnswer(r.experiment.Pipeline.Answer, t).Text
		if t.Status != matrix.StatusOK || strings.TrimSpace(text) == "" {
			continue
		}
		answer := fenced{"ANSWER", text}
		about := verdict.Question{Answer: text}
		for n := range r.c.Claims {
			claim := &r.c.Claims[n]
			if text, _ := claim.Statement(); settings.Claims && text != "" {
				if err := ask(i, matrix.Judgement{Kind: matrix.JudgeClaim, Rep: t.Rep, Claim: claim.ID}, n, about, question, fenced{"CLAIM", text}, answer); err != nil {
					return nil, err
				}
			}
		}
		if settings.Faithfulness {
			if err := ask(i, matrix.Judgement{Kind: matrix.JudgeStatements, Rep: t.Rep}, 0, about, question, answer); err != nil {
				return nil, err
			}
		}
		if relevancy := settings.AnswerRelevancy; relevancy != nil {
			about.Questions = relevancy.Questions
			if err := ask(i, matrix.Judgement{Kind: matrix.JudgeAnswerRelevancy, Rep: t.Rep}, 0, about, answer); err != nil {
				return nil, err
			}
		}
	}
	return asked, nil
}

// contextQuestions are those about the context that the trials of a cell share.
func (r *caseRun) contextQuestions(trial int, ask func(int, matrix.Judgement, int, verdict.Question, ...fenced) error) error {
	settings, packed, reference := r.experiment.Judge, r.obs.Trials[trial].Packed, r.c.Reference()
	if len(packed) == 0 || len(reference) == 0 {
		return nil
	}
	question := fenced{"QUESTION", r.c.Question()}
	if settings.ContextPrecision {
		for n := range packed {
			texts := []fenced{question}
			for _, text := range reference {
				texts = append(texts, fenced{"REFERENCE", text})
			}
			texts = append(texts, fenced{"CONTEXT", packed[n].Text.Value})
			if err := ask(trial, matrix.Judgement{Kind: matrix.JudgeContextPrecision, Position: n + 1, Item: packed[n].ID}, n, verdict.Question{}, texts...); err != nil {
				return err
			}
		}
	}
	if settings.ContextRecall {
		texts := append([]fenced{question}, contextTexts(packed)...)
		for n, text := range reference {
			texts = append(texts, fenced{fmt.Sprintf("STATEMENT %d", n+1), text})
		}
		return ask(trial, matrix.Judgement{Kind: matrix.JudgeContextRecall}, 0, verdict.Question{Numbered: len(reference)}, texts...)
	}
	return nil
}

func contextTexts(packed []matrix.Packed) []fenced {
	var texts []fenced
	for n := range packed {
		texts = append(texts, fenced{fmt.Sprintf("CONTEXT %d", n+1), packed[n].Text.Value})
	}
	return texts
}

// faithfulness asks of the statements that were found in each answer whether its context supports them. Where there is no context,
// or no statement, there is nothing to ask.
func (r *caseRun) faithfulness(asked []*judging) ([]*judging, error) {
	var more []*judging
	for _, q := range asked {
		statements, packed := q.judgement.Statements, r.obs.Trials[q.place[0]].Packed
		if q.judgement.Kind != matrix.JudgeStatements || len(statements) == 0 || len(packed) == 0 {
			continue
		}
		texts := contextTexts(packed)
		for n, s := range statements {
			texts = append(texts, fenced{fmt.Sprintf("STATEMENT %d", n+1), s.Value})
		}
		j := matrix.Judgement{Kind: matrix.JudgeFaithfulness, Rep: q.judgement.Rep, Statements: statements}
		next, err := r.question(q.place[0], j, 0, verdict.Question{Numbered: len(statements)}, texts)
		if err != nil {
			return nil, err
		}
		more = append(more, next)
	}
	return more, nil
}

// question writes a question and names its call.
func (r *caseRun) question(trial int, j matrix.Judgement, n int, about verdict.Question, texts []fenced) (*judging, error) {
	q := &judging{judgement: j, place: [3]int{trial, slices.Index(kindOrder, j.Kind), n}, about: about}
	settings := r.experiment.Judge
	q.messages, q.format = judgePrompt(j.Kind, texts, about.Questions, r.judgeInfo.Formats)
	q.judgement.Cell = r.obs.Trials[trial].Cell
	q.judgement.Version, q.judgement.PromptDigest, q.judgement.Structured = judgeVersion, judgeDigest(), r.judgeInfo.Formats
	q.judgement.ModelRequested = r.judgeInfo.Model
	q.judgement.Sensitivity = r.judgedLevel(&r.obs.Trials[trial], j.Kind)
	for _, m := range q.messages {
		q.judgement.Prompt = append(q.judgement.Prompt, matrix.PromptMessage{Role: m.Role, Text: matrix.NewText(m.Text)})
	}
	params, err := matrix.Digest(struct {
		Temperature matrix.Decimal
		Seed        int64
		MaxTokens   int
		Prompts     string
		Backend     *matrix.Backend
	}{settings.Temperature, settings.Seed, settings.MaxTokens, judgeDigest(), r.experiment.Backends.Judge})
	if err != nil {
		return nil, err
	}
	input, err := matrix.JudgeInput(&q.judgement)
	if err != nil {
		return nil, err
	}
	q.call = matrix.Call{
		Case: r.plan.CaseDigest, Cell: q.judgement.Cell, Step: "judge", Rep: j.Rep,
		Provider: r.experiment.Backends.Judge.Adapter, Model: r.judgeInfo.Model, Params: params, Input: input,
	}
	q.judgement.CallKey, err = q.call.Key()
	return q, err
}

// judgeEach puts the questions to the judge side by side, each once however often it comes up in the case.
func (r *caseRun) judgeEach(ctx context.Context, asked []*judging, made map[string]*judging) error {
	group, callCtx := errgroup.WithContext(ctx)
	group.SetLimit(r.experiment.Limits.Concurrency)
	var copies []*judging
	same := map[*judging]*judging{}
	for _, q := range asked {
		key := q.judgement.Prompt[1].Text.Ref // the first message is the same in all
		if known := r.before.judgement(q.judgement.CallKey); known != nil {
			q.judgement = *known
			made[key] = q
			continue
		}
		if first := made[key]; first != nil {
			copies, same[q] = append(copies, q), first
			continue
		}
		made[key] = q
		group.Go(crash.Guard(func() error { return r.askJudge(callCtx, q) }))
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, q := range copies {
		mine, from := q.judgement, same[q].judgement
		q.judgement = from
		q.judgement.CallKey, q.judgement.Cell, q.judgement.Rep = mine.CallKey, mine.Cell, mine.Rep
		q.judgement.Claim, q.judgement.Position, q.judgement.Item = mine.Claim, mine.Position, mine.Item
		q.judgement.SameAs = from.CallKey
		q.judgement.RequestID, q.judgement.At, q.judgement.LatencyMS, q.judgement.Attempts, q.judgement.Asked = "", "", 0, 0, nil
	}
	return nil
}

// judgement returns a judgement that was asked for under this key itself.
func (s seen) judgement(key string) *matrix.Judgement {
	if s.known() {
		for i := range s.Judgements {
			if j := &s.Judgements[i]; j.CallKey == key && j.SameAs == "" && j.Status != matrix.StatusNotRun {
				return j
			}
		}
	}
	return nil
}
