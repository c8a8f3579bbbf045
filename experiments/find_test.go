package experiments

import (
	"path/filepath"
	"strings"
	"testing"
)

// An experiment in UTF-16 is found, so that Load can say what is wrong with it.
func TestFindUTF16(t *testing.T) {
	t.Parallel()
	wide := func(mark, text string, before bool) string {
		var b strings.Builder
		b.WriteString(mark)
		for _, c := range text {
			if before {
				b.WriteByte(0)
			}
			b.WriteRune(c)
			if !before {
				b.WriteByte(0)
			}
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"little-endian":    wide("\xff\xfe", "culprit: v1\n", false),
		"big-endian":       wide("\xfe\xff", "culprit: v1\n", true),
		"without a mark":   wide("", "culprit: v1\n", false),
		"behind a comment": wide("\xff\xfe", "# travel\r\nculprit: v1\r\n", false),
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "experiment.yaml")
		write(t, file, text)
		found, err := Find(dir)
		if err != nil || len(found) != 1 || found[0] != file {
			t.Errorf("%s: found %q, %v", name, found, err)
			continue
		}
		if got := problems(t, dir, Options{}); got != "experiment.yaml:1:1: this file is UTF-16: save it as UTF-8\n" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "notes.yaml"), wide("\xff\xfe", "note: \"culprit: v1\"\n", false))
	if found, err := Find(dir); err == nil {
		t.Errorf("notes in UTF-16: found %q", found)
	}
}
