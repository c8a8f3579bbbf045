package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/culprit-rag/culprit/matrix"
)

// Said is what an answer says, whatever form it came in.
type Said struct {
	Text      string   // what is judged
	Cited     []string // as it is written, where Declared
	Declared  bool     // the citations are known by form: no other is looked for in the text
	Refused   bool     // it says so in a field of its own
	Malformed bool     // not the JSON that was asked for: judged as plain text
}

// answerReader reads answers of one form.
type answerReader struct {
	structured bool
	citation   *regexp.Regexp // nil: what looks like one
}

func newAnswerReader(form *matrix.AnswerForm) (answerReader, error) {
	if form.Structured() {
		return answerReader{structured: true}, nil
	}
	expr, err := form.CitationPattern()
	return answerReader{citation: expr}, err
}

// ReadAnswer reads the answer of a trial. An expression for citations that cannot be compiled finds none; reading the experiment
// refuses it.
func ReadAnswer(form *matrix.AnswerForm, t *matrix.Trial) Said {
	r, _ := newAnswerReader(form)
	return r.read(t)
}

func (r *answerReader) read(t *matrix.Trial) Said {
	said := r.readText(t.Answer.Value)
	if t.Cached && said.Malformed { // production's cache keeps what is shown
		said.Malformed = false
	}
	if !t.Refusal.IsZero() {
		said.Refused, said.Malformed = true, false
	}
	return said
}

func (r *answerReader) readText(text string) Said {
	switch {
	case r.structured:
		if said, err := decodeAnswer(text); err == nil {
			return said
		}
		return Said{Text: text, Malformed: true}
	case r.citation != nil:
		said := Said{Text: r.citation.ReplaceAllString(text, ""), Declared: true}
		for _, found := range r.citation.FindAllStringSubmatch(text, -1) {
			said.Cited = append(said.Cited, found[1])
		}
		return said
	}
	return Said{Text: text}
}

// decodeAnswer reads a structured answer: one object of the three fields and nothing beside it.
func decodeAnswer(text string) (Said, error) {
	var in struct {
		Answer    *string   `json:"answer"`
		Citations *[]string `json:"citations"`
		Refused   *bool     `json:"refused"`
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return Said{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Said{}, errors.New("more stands behind the object")
	}
	if in.Answer == nil || in.Citations == nil || in.Refused == nil {
		return Said{}, errors.New("a field is missing")
	}
	return Said{Text: *in.Answer, Cited: *in.Citations, Declared: true, Refused: *in.Refused}, nil
}

// citations resolves what an answer cites.
func (s *Said) citations(packed []matrix.Packed) (cited, fabricated []string) {
	if !s.Declared {
		return FindCitations(s.Text, packed)
	}
	names := newCitable(packed)
	for _, written := range s.Cited {
		for _, name := range names.split(written) {
			ids := names.resolve(name)
			for _, id := range ids {
				cited = withName(cited, id)
			}
			if len(ids) == 0 {
				fabricated = withName(fabricated, name)
			}
		}
	}
	return cited, fabricated
}

// answerFindings count the answers that were not in the form that was asked for.
func (x *facts) answerFindings() []string {
	if !x.e.Pipeline.Answer.Structured() {
		return nil
	}
	malformed, n := 0, 0
	for _, planned := range x.p.Cells {
		for _, f := range x.cells[planned.Cell].features {
			n++
			if f.Malformed {
				malformed++
			}
		}
	}
	if malformed == 0 {
		return nil
	}
	return []string{fmt.Sprintf("answer: %d of %s not the JSON that was asked for, and judged as plain text", malformed, counted(n, "answer was", "answers were"))}
}
