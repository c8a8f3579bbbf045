package adapters

import (
	"io"
	"sync"
)

// Writer passes on what is written to it without the secrets of twelve bytes or more that were read by then, also where one comes in
// pieces: an end that may be the beginning of a secret waits for what follows, or for Flush. It is safe for concurrent use.
type Writer struct {
	to      io.Writer
	secrets func() *Redactor

	mu   sync.Mutex
	kept string
}

// NewWriter returns a writer to to. Secrets gives what is known at each write; it may give nil.
func NewWriter(to io.Writer, secrets func() *Redactor) *Writer {
	return &Writer{to: to, secrets: secrets}
}

// Write passes p on. It reports all of p as written where what is passed on is.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.secrets()
	if w.kept == "" && r.beginning(string(p)) == 0 && !r.Holds(p) {
		return w.to.Write(p)
	}
	text := r.Answer(w.kept + string(p))
	cut := len(text) - r.beginning(text)
	w.kept = text[cut:]
	if _, err := io.WriteString(w.to, text[:cut]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on what waits.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.kept
	w.kept = ""
	if text == "" {
		return nil
	}
	_, err := io.WriteString(w.to, text)
	return err
}
