package plugin

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/culprit-rag/culprit/adapters"
)

const (
	keptLines   = 64
	longestLine = 4 << 10 // bytes of a line that are kept
	shownLine   = 1 << 10 // bytes of a line without keys that are shown: what was cut off before may have left a part of a key behind
	longestHand = 8 << 10 // bytes of a handshake line: with a certificate it has about one thousand
)

// tail keeps the last lines that were written to it. It is safe for concurrent use.
type tail struct {
	mu    sync.Mutex
	lines []string
	open  []byte // the line that has not ended
	cut   bool   // the open line is longer than what is kept
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	for {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		if room := longestLine - len(t.open); len(line) > room {
			line, t.cut = line[:max(room, 0)], true
		}
		t.open = append(t.open, line...)
		if !ended {
			return n, nil
		}
		t.end()
		p = rest
	}
}

func (t *tail) end() {
	line := strings.TrimRight(string(t.open), "\r ")
	if t.cut {
		line = line[:max(strings.LastIndexByte(line, ' '), 0)] + "…" // half a key would be found no more
	}
	t.open, t.cut = t.open[:0], false
	if line == "" {
		return
	}
	if t.lines = append(t.lines, line); len(t.lines) > keptLines {
		t.lines = append(t.lines[:0], t.lines[len(t.lines)-keptLines:]...)
	}
}

// said returns what the lines tell of an end: from the last that begins a crash, else the last three. It is safe to show.
func (t *tail) said(redact *adapters.Redactor) string {
	const shown = 3
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines
	if len(t.open) > 0 {
		lines = append(append([]string{}, lines...), string(t.open))
	}
	from := max(0, len(lines)-shown)
	for i, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			from = i
		}
	}
	var said []string
	for _, line := range lines[from:min(len(lines), from+shown)] {
		if line = redact.String(line); len(line) > shownLine {
			line = line[:shownLine] + "…"
		}
		said = append(said, line)
	}
	return printable(strings.Join(said, " ⏎ "))
}

// missingModule returns what a Python program ended for the want of, or nothing.
func (t *tail) missingModule() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == 0 {
		return ""
	}
	_, module, _ := strings.Cut(t.lines[len(t.lines)-1], "ModuleNotFoundError: No module named '")
	module, _, _ = strings.Cut(module, "'")
	return printable(module)
}

// printable shows what would act on a terminal as an escape.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// handshake hands on the first line of a plugin's standard output and drops the rest, of which no amount and no length of a line
// can then hold the plugin up.
type handshake struct {
	mu    sync.Mutex
	line  []byte
	ended bool
	out   *io.PipeWriter
}

func newHandshake() (*handshake, io.ReadCloser) {
	r, w := io.Pipe()
	return &handshake{out: w}, r
}

func (h *handshake) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		line, _, ended := bytes.Cut(p, []byte{'\n'})
		h.line = append(h.line, line...)
		if ended || len(h.line) > longestHand {
			h.end()
		}
	}
	return len(p), nil
}

// close ends the line where nothing more will come.
func (h *handshake) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.end()
	}
}

func (h *handshake) end() {
	h.ended = true
	if len(h.line) > 0 && h.fault() == "" {
		_, _ = h.out.Write(append(h.line, '\n')) // its reader may be gone, and then nobody asks
	}
	_ = h.out.Close()
}

// fault says what is wrong with the line; the lock is held.
func (h *handshake) fault() string {
	parts := bytes.Split(bytes.TrimSpace(h.line), []byte{'|'})
	switch {
	case len(h.line) == 0:
		return "prints no handshake line"
	case len(h.line) > longestHand:
		return fmt.Sprintf("prints more than %d bytes before a handshake line, beginning with %q", longestHand, h.line[:60])
	case len(parts) < 5 || string(parts[0]) != "1":
		return fmt.Sprintf("prints %q before the handshake line 1|VERSION|tcp|HOST:PORT|grpc", printable(string(h.line[:min(len(h.line), 120)])))
	}
	return ""
}

// printed reports whether anything was written to standard output.
func (h *handshake) printed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.line) > 0
}

// wrong says what is wrong with what was printed, or nothing. certificate holds where the line carries one.
func (h *handshake) wrong() (fault string, certificate bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		if len(h.line) > 0 {
			return fmt.Sprintf("prints %q and does not end the line", printable(string(h.line[:min(len(h.line), 120)]))), false
		}
		return "prints no handshake line", false
	}
	parts := bytes.Split(bytes.TrimSpace(h.line), []byte{'|'})
	return h.fault(), len(parts) >= 6 && len(parts[5]) > 50
}
