package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSafe(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"plain text stays", "Is 1<2? <b>yes</b> & more", "Is 1<2? <b>yes</b> & more"},
		{"colour codes are shown", "\x1b[31mred\x1b[0m", "‹U+001B›[31mred‹U+001B›[0m"},
		{"the clipboard is out of reach", "\x1b]52;c;aGk=\a", "‹U+001B›]52;c;aGk=‹U+0007›"},
		{"a line cannot be overwritten", "good\rbad\b\b", "good‹U+000D›bad‹U+0008›‹U+0008›"},
		{"line ends and tabs become spaces", "a\nb\r\nc\td", "a b c d"},
		{"eight-bit controls are shown", "\u009b31m", "‹U+009B›31m"},
		{"bidirectional overrides are shown", "abc\u202edef\u2066", "abc‹U+202E›def‹U+2066›"},
		{"zero width characters are shown", "c\u200b08\ufeff", "c‹U+200B›08‹U+FEFF›"},
		{"tags are shown", "a\U000e0041", "a‹U+E0041›"},
		{"line separators are shown", "a\u2028b", "a‹U+2028›b"},
		{"variation selectors are shown", "a\ufe0f", "a‹U+FE0F›"},
		{"blank letters are shown", "a\u3164b\u2800", "a‹U+3164›b‹U+2800›"},
		{"private use is shown", "\ue000", "‹U+E000›"},
		{"bytes that are no UTF-8 are shown", "a\xff\xc0b", "a‹0xFF›‹0xC0›b"},
		{"an escape cannot be faked", "‹U+202E›", "‹U+2039›U+202E›"},
		{"quotes stay", "‹ja›", "‹ja›"},
		{"accents stay, a tower of them does not", "e\u0301 x\u0301\u0301\u0301\u0301\u0301", "e\u0301 x\u0301\u0301\u0301‹U+0301›‹U+0301›"},
		{"build servers are not commanded", "x ##[error]no ##vso[task.x] #[", "x ##‹U+005B›error]no ##vso‹U+005B›task.x] #["},
		{"other scripts stay", "日本語 العربية हिन्दी", "日本語 العربية हिन्दी"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := Safe(tc.in); got != tc.want {
				t.Errorf("Safe(%q)\nwant %q\ngot  %q", tc.in, tc.want, got)
			}
		})
	}
}

func TestSafeCutsWhatWouldFloodTheTerminal(t *testing.T) {
	t.Parallel()
	got := Safe(strings.Repeat("a", 10<<20))
	if len(got) > safeColumns+60 || !strings.HasSuffix(got, "… (cut: 10,485,760 bytes)") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-40:])
	}
}

func TestFitCountsColumns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in      string
		columns int
		want    string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
		{"\x1b\x1b", 9, "‹U+001B›…"},
		{"\x1b", 3, "…"},
		{"", 3, ""},
		{"abc", 0, "…"},
	} {
		got := fit(tc.in, tc.columns)
		if got != tc.want {
			t.Errorf("fit(%q, %d): want %q, got %q", tc.in, tc.columns, tc.want, got)
		}
	}
}

func TestWrapBreaksBetweenWordsWhereItCan(t *testing.T) {
	t.Parallel()
	for _, line := range wrap("one two three "+strings.Repeat("x", 50)+" 日本語日本語日本語日本語 \x1b\x1b\x1b", 12) {
		if columns(line) > 12 {
			t.Errorf("%q has %d columns", line, columns(line))
		}
	}
	if got := strings.Join(wrap("one two three four", 10), "|"); got != "one two|three four" {
		t.Errorf("got %q", got)
	}
}

func FuzzSafe(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31m", "a\u202eb", "\xff\xfe", "##[error]", "‹U+1›", strings.Repeat("\u0301", 40), "日本", "\r\n\r"} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 1 + (width%200+200)%200
		for _, got := range append(wrap(s, width), fit(s, width), Safe(s)) {
			if !utf8.ValidString(got) {
				t.Errorf("not UTF-8: %q", got)
			}
			for _, r := range got {
				if invisible(r) {
					t.Errorf("%U is shown as it is in %q", r, got)
				}
			}
			if strings.Contains(got, "##[") {
				t.Errorf("a log command is left in %q", got)
			}
		}
		if got := fit(s, width); columns(got) > width {
			t.Errorf("fit(%q, %d) has %d columns", s, width, columns(got))
		}
		for _, line := range wrap(s, width) {
			if columns(line) > max(width, 10) {
				t.Errorf("wrap(%q, %d) has a line of %d columns", s, width, columns(line))
			}
		}
	})
}

func TestFitIDKeepsTheEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		id    string
		width int
		want  string
	}{
		{"c08", 24, "c08"},
		{"acme/business-travel.md#2", 25, "acme/business-travel.md#2"},
		{"acme/business-travel.md#2", 24, "…/business-travel.md#2"},
		{"acme/business-travel.md#2", 4, "…d#2"},
		{"acme/business-travel.md#2", 1, "…"},
		{"日本語の文書#12", 9, "…文書#12"},
		{"a\x1b[2Jb", 24, "a‹U+001B›[2Jb"},
		{strings.Repeat("x", 2000) + "#9", 9, "…xxxxxx#9"},
		{"https://docs.example.org/en/admin/configuration.md#46", 24, "…/configuration.md#46"},
		{strings.Repeat("\x1b", 200), 9, "…‹U+001B›"},
	} {
		got := fitID(tt.id, tt.width)
		if got != tt.want {
			t.Errorf("fitID(%.40q, %d) is %q, want %q", tt.id, tt.width, got, tt.want)
		}
		if n := columns(got); n > tt.width {
			t.Errorf("fitID(%.40q, %d) takes %d columns", tt.id, tt.width, n)
		}
	}
}
