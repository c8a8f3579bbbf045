package report

import (
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

func TestPreviewShowsWhatIsSought(t *testing.T) {
	t.Parallel()
	c := &matrix.Case{
		Query:    "Which port does the server listen on?",
		Evidence: matrix.Evidence{Required: []matrix.Requirement{{AnyOf: []matrix.Gold{{Source: "a", Span: "port  8443"}}}}},
		Claims:   []matrix.Claim{{ID: "port", Says: "It listens on port 8443.", Any: []string{"8443"}, Never: []string{`/80\d0/`}}},
	}
	const title = "Manual > Configuration > Network > Listening and binding of addresses\n"
	for _, tt := range []struct {
		name, text string
		sought     sought
		width      int
		want       string
	}{
		{"all of it", "port 8443", evidence(c), 9, "port 8443"},
		{"the span", title + "By default it binds to\nport 8443 of every interface that the machine has.", evidence(c), 40, "…it binds to port 8443 of every interfa…"},
		{"the start holds it", "It binds to PORT 8443 of every interface that the machine has.", evidence(c), 40, "It binds to PORT 8443 of every interfac…"},
		{"the words of the question", title + "Set the timeout there. The server is told its port by a flag when it starts.", evidence(c), 40, "…The server is told its port by a flag …"},
		{"an end fills its place", title + "It is port 8443.", evidence(c), 40, "…binding of addresses It is port 8443."},
		{"nothing of it", title + "Nothing.", sought{}, 20, "Manual > Configurat…"},
		{"a claim", title + "The server uses 8443.", statements(c), 30, "…The server uses 8443."},
		{"what must never be said", title + "The server uses 8080 and more of that kind than you would like to read.", statements(c), 30, "…server uses 8080 and more of…"},
		{"a hostile lead", strings.Repeat("\x1b[2J", 20) + " port 8443 " + strings.Repeat("\u202e", 20), evidence(c), 24, "…port 8443 ‹U+202E›…"},
		{"wide letters", strings.Repeat("日本語", 20) + "port 8443" + strings.Repeat("日本語", 20), evidence(c), 24, "…語日本語port 8443日本…"},
		{"no room", title + "port 8443", evidence(c), 1, "……"},
	} {
		got := tt.sought.preview(tt.text, tt.width)
		if got != tt.want {
			t.Errorf("%s: want %q, got %q", tt.name, tt.want, got)
		}
		if n := columns(got); n > max(tt.width, 2) {
			t.Errorf("%s: %d columns of %d: %q", tt.name, n, tt.width, got)
		}
	}
}

// FuzzPreview: whatever is shown is safe and has its place.
func FuzzPreview(f *testing.F) {
	f.Add("a title\nand the words of the text", "words of", "text", 10)
	f.Add("\x1b[2J\xff日本語 ##[error] x", "/[/", "日本", 5)
	f.Fuzz(func(t *testing.T, text, span, words string, width int) {
		width = 2 + max(width, -width)%80
		if width < 2 {
			width = 2
		}
		s := sought{words: keywords(words)}
		s.add(span)
		got := s.preview(text, width)
		if n := columns(got); n > width {
			t.Errorf("%d columns of %d: %q", n, width, got)
		}
		if strings.ContainsFunc(got, invisible) {
			t.Errorf("not safe: %q", got)
		}
	})
}
