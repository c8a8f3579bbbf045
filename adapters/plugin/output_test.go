package plugin

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/adapters"
)

func TestTailKeepsTheLastLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		write []string
		want  string
	}{
		{"nothing", nil, ""},
		{"a line in parts", []string{"cannot ", "open\r\n"}, "cannot open"},
		{"a line without an end", []string{"one\ntw", "o"}, "one ⏎ two"},
		{"the last three", []string{"1\n2\n\n3\n4\n"}, "2 ⏎ 3 ⏎ 4"},
		{"from a panic on", []string{"1\npanic: no\n\ngoroutine 1 [running]:\nmain.main()\n\tmain.go:7\nexit status 2\n"}, "panic: no ⏎ goroutine 1 [running]: ⏎ main.main()"},
		{"a long line", []string{strings.Repeat("x", 2000) + "\n"}, strings.Repeat("x", shownLine) + "…"},
		{"a long line of keys", []string{strings.Repeat("sk-sentinel ", 400) + "\n"}, strings.Repeat(adapters.Redacted+" ", 340)[:shownLine] + "…"},
		{"a longer word than is kept", []string{strings.Repeat("x", 5000) + "\n"}, "…"},
		{"what would act on a terminal", []string{"\x1b[2Jé\xff\u202e\ttab\n"}, "\ufffd[2Jé\ufffd\ufffd tab"},
		{"a secret", []string{"key sk-sentinel\n"}, "key " + adapters.Redacted},
	} {
		var lines tail
		for _, part := range tt.write {
			if n, err := lines.Write([]byte(part)); n != len(part) || err != nil {
				t.Errorf("%s: %d, %v", tt.name, n, err)
			}
		}
		if got := lines.said(adapters.NewRedactor("sk-sentinel")); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	var flood tail
	for i := range 10_000 {
		fmt.Fprintf(&flood, "line %d\n", i)
	}
	if len(flood.lines) != keptLines || flood.lines[keptLines-1] != "line 9999" {
		t.Errorf("%d lines, the last %q", len(flood.lines), flood.lines[len(flood.lines)-1])
	}
}

// FuzzHandshake holds the reader of a plugin's standard output to what a program may print: anything, in any parts.
func FuzzHandshake(f *testing.F) {
	f.Add([]byte("1|1|tcp|127.0.0.1:4000|grpc\n"), 3)
	f.Add([]byte("1|1|unix|/tmp/x|grpc|"+strings.Repeat("A", 600)+"\nnoise"), 100)
	f.Add([]byte("Loading\n"), 1)
	f.Add([]byte(strings.Repeat("x", 20_000)), 4096)
	f.Fuzz(func(t *testing.T, out []byte, part int) {
		part = max(1, part)
		h, r := newHandshake()
		read := make(chan []byte)
		go func() {
			data, _ := io.ReadAll(r)
			read <- data
		}()
		for rest := out; len(rest) > 0; {
			n := min(part, len(rest))
			if wrote, err := h.Write(rest[:n]); wrote != n || err != nil {
				t.Fatalf("%d of %d: %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		h.close()
		got := string(<-read)
		fault, _ := h.wrong()
		if (fault == "") != (got != "") || len(got) > longestHand+1 {
			t.Errorf("%q is handed on as %q, fault %q", out, got, fault)
		}
		if !utf8.ValidString(fault) || strings.ContainsAny(fault, "\x1b\n") {
			t.Errorf("the fault %q would act on a terminal", fault)
		}
	})
}
