package tap

import (
	"errors"
	"fmt"
	"strings"
)

// Substitution puts another context into a prompt: what stands between Begin and End is replaced by With. One of the two may be
// empty, and then means the beginning or the end of the message that holds the other.
type Substitution struct {
	Begin string `json:"begin"`
	End   string `json:"end"`
	With  string `json:"with"`
}

// errNoPlace says that a prompt holds no context: it is another call of the service, such as the one that rewrites a query.
var errNoPlace = errors.New("the prompt holds no context between the markers")

// find returns the message that holds the context, and where in its text. It fails where there is more than one place, for then
// either would be a guess.
func (s *Substitution) find(messages []Message) (message, from, to int, err error) {
	found := 0
	for i, m := range messages {
		starts, ends := places(m.Text, s.Begin), places(m.Text, s.End)
		if s.Begin == "" {
			starts = []int{0}
		}
		if s.End == "" {
			ends = []int{len(m.Text)}
		}
		for _, start := range starts {
			for _, end := range ends {
				if start+len(s.Begin) <= end {
					found++
					message, from, to = i, start+len(s.Begin), end
				}
			}
		}
	}
	switch found {
	case 0:
		return 0, 0, 0, errNoPlace
	case 1:
		return message, from, to, nil
	}
	return 0, 0, 0, fmt.Errorf("the context could stand in %d places of the prompt, between %q and %q: choose markers that stand there once, and in no document", found, s.Begin, s.End)
}

func places(text, marker string) []int {
	if marker == "" {
		return nil
	}
	var out []int
	for at := 0; ; at++ {
		next := strings.Index(text[at:], marker)
		if next < 0 {
			return out
		}
		at += next
		out = append(out, at)
	}
}

// apply returns the body with the context substituted, and what stood there before. The prompt's texts are those of the new body.
func (s *Substitution) apply(body []byte, p *prompt) (changed []byte, replaced string, err error) {
	at, from, to, err := s.find(p.messages)
	if err != nil {
		return nil, "", err
	}
	m := &p.messages[at]
	replaced = m.Text[from:to]
	text := m.Text[:from] + s.With + m.Text[to:]
	if changed, err = replaceText(body, *m, text); err != nil {
		return nil, "", err
	}
	m.Text = text
	return changed, replaced, nil
}
