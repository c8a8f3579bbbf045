package verdict

import (
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// trial reads a trial. One that differs in nothing that is read from an earlier one, as repetitions do that are answered alike, says the same.
func (x *extractor) trial(out *TrialFeatures, t *matrix.Trial) {
	earlier := x.read[t.Answer.Ref]
	if i := slices.IndexFunc(earlier, func(r readTrial) bool { return readsAlike(r.trial, t) }); i >= 0 {
		*out = *earlier[i].features
	} else {
		x.readTrial(out, t)
		x.read[t.Answer.Ref] = append(earlier, readTrial{t, out})
	}
	out.CallKey, out.Cell, out.Rep = t.CallKey, t.Cell, t.Rep
	if t.Sensitivity == matrix.Restricted {
		out.CallKey = ""
	}
}

// readsAlike reports whether [extractor.readTrial] finds the same in two trials: it reads what is compared here, and nothing else.
func readsAlike(a, b *matrix.Trial) bool {
	return a.Answer == b.Answer && a.Refusal == b.Refusal && a.Status == b.Status && a.Cached == b.Cached && a.By == b.By && a.Retrieval == b.Retrieval &&
		slices.Equal(a.Unobserved, b.Unobserved) && slices.Equal(a.Prompt, b.Prompt) && slices.EqualFunc(a.Packed, b.Packed, func(p, q matrix.Packed) bool {
		return p.ID == q.ID && p.Position == q.Position && p.Source == q.Source && p.Revision == q.Revision && p.Gold == q.Gold && p.Text == q.Text &&
			slices.Equal(p.Access, q.Access)
	})
}

func (x *extractor) readTrial(out *TrialFeatures, t *matrix.Trial) {
	prompt := x.readPrompt(t.Prompt)
	x.readPacked(out, t, prompt)
	if t.Status == matrix.StatusOK {
		x.readAnswer(out, t, prompt)
	}
}

// readPacked reads the context of a trial. Of repetitions that share it, only the first is read.
func (x *extractor) readPacked(out *TrialFeatures, t *matrix.Trial, prompt *foldedPrompt) {
	if s := prompt.shown; s != nil && len(t.Packed) > 0 && &t.Packed[0] == &s.trial.Packed[0] && len(t.Packed) == len(s.trial.Packed) &&
		t.Retrieval == s.trial.Retrieval && t.By == s.trial.By && slices.Equal(t.Unobserved, s.trial.Unobserved) {
		same := s.features
		out.Gold, out.Carried, out.Worded, out.Named = same.Gold, same.Carried, same.Worded, same.Named
		out.Altered, out.Forbidden, out.Superseded = same.Altered, same.Forbidden, same.Superseded
		return
	}
	for i := range x.c.Evidence.Required {
		out.Gold = append(out.Gold, x.goldPlace(i, t, prompt))
	}
	retrieved := x.retrieved(t.Retrieval)
	for _, p := range t.Packed {
		text := strings.TrimSpace(p.Text.Value)
		if text != "" && strings.Count(prompt.text.Value, text) > strings.Count(x.base.text, text) {
			out.Carried++
		}
		if mostlyIn(x.brought(p.Text), prompt.words()) || x.mostlyAdded(p.Text) {
			out.Worded++
		}
		if x.mentioned(prompt.text.Value, p.ID) || x.mentioned(prompt.text.Value, p.Source) {
			out.Named++
		}
		hit := retrieved[p.ID]
		if hit == nil {
			hit = &matrix.Hit{}
		}
		if !p.Gold && t.Retrieval != "" && hit.Text.Ref != p.Text.Ref && (t.By == "" || hit.Text.Ref != "") { // a service need not tell the texts of its candidates
			out.Altered = append(out.Altered, p.ID)
		}
		if !x.c.As.Authorised(p.Access, hit.Metadata) {
			out.Forbidden = append(out.Forbidden, p.ID)
		}
		out.Superseded = out.Superseded || x.outdated(p.ID, p.Source, p.Revision)
	}
	if len(t.Packed) > 0 {
		prompt.shown = &readTrial{t, out}
	}
}

// readAnswer reads what came of a trial that was answered.
func (x *extractor) readAnswer(out *TrialFeatures, t *matrix.Trial, prompt *foldedPrompt) {
	said := x.answers.read(t)
	check := x.checker.CheckSaid(said, t.Packed)
	out.Malformed, out.Answer = said.Malformed, unnumbered
	out.Claims, out.Refused, out.Declines, out.Empty, out.Meets = check.Claims, check.Refused, check.Declines, check.Empty, check.Meets
	out.Citations, out.Fabricated = check.Citations, check.Fabricated
	if t.Unseen(matrix.PackedUnobserved) {
		out.Fabricated = nil // what could be cited is not known
	}
	if told, ok := x.supportTexts(t); ok && !check.Refused && !check.Empty {
		if out.Unsupported, ok = told.unsupported[said.Text]; !ok {
			out.Unsupported = x.checker.unsupported(said.Text, told)
			told.unsupported[said.Text] = out.Unsupported
		}
	}
	if check.Refused {
		return
	}
	if bare := x.bare(said.Text); bare.text != "" {
		out.Copied = strings.Contains(prompt.folded.String(), strings.TrimRight(bare.text, " .!?"))
		out.Grounded = out.Copied || mostlyIn(bare.words, prompt.words()) && !foreignFigure(bare.words, prompt.words())
	}
}

// bareText is an answer without citations, folded, and its distinct words.
type bareText struct {
	text  string
	words []string
}

func (x *extractor) bare(answer string) bareText {
	b, ok := x.bares[answer]
	if !ok {
		b.text = FoldText(StripCitations(answer)).String()
		b.words = distinctWords(b.text)
		x.bares[answer] = b
	}
	return b
}
