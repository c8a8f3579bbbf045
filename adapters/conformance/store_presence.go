package conformance

import (
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// presence looks for texts as one does who must not be wrong about any of them: in everything that a scan returns, and
// believing that one is absent only when nothing was left out.
func (s *storeSuite) presence(t T, store adapters.VectorStore) {
	items, report := scan(t, store, adapters.ScanRequest{})
	if report.Scanned != report.Counted || report.Unread != "" || len(items) != report.Scanned {
		t.Fatalf("%d items, %+v: this proves nothing", len(items), report)
	}
	spans := append(slices.Clone(awkward),
		"case matters", "CASE MATTERS", "ZX-4471", "ZX-4471/B", "zx-4471/b", "to be", "C++", "c++", "制度", "caf\u00e9", "cafe\u0301", "cafe",
		"👩‍👧", "🇨🇭", "NUL \x00 ends", "\x0b", "\x7f", "* ? % _", "\\ and", "\" '", "and\ta", "line\nand", "line and", "abc", "abcd",
		"end-of-long-text", strings.Repeat("ten kilobytes ", 700), "Apart in the list of lines", "Apart in the", "two spaces  ", "absent decoy",
		"ZX-4472", "applied from \x00")
	for _, span := range spans {
		if got, want := holders(items, span), holders(s.main, span); !slices.Equal(got, want) {
			t.Errorf("%.40q stands in %q, want %q", span, got, want)
		}
	}
}

// holders returns the ids of the items in whose text the span stands, in their order.
func holders(items []adapters.Item, span string) []string {
	var list []string
	for _, item := range items {
		if strings.Contains(item.Text, span) {
			list = append(list, item.ID)
		}
	}
	slices.Sort(list)
	return list
}
