package experiments

import (
	"fmt"
	"strings"
)

// archive is a comment and files in one text, written "-- name --" and then the lines of the file (the txtar form).
type archive struct {
	comment string
	files   []archived
}

type archived struct {
	name, text string
}

func parseArchive(text string) archive {
	var a archive
	for line := range strings.Lines(text) {
		mark := strings.TrimSuffix(line, "\n")
		name, isMark := strings.CutPrefix(mark, "-- ")
		if name, closed := strings.CutSuffix(name, " --"); isMark && closed {
			a.files = append(a.files, archived{name: name})
			continue
		}
		if last := len(a.files) - 1; last >= 0 {
			a.files[last].text += line
		} else {
			a.comment += line
		}
	}
	return a
}

func (a archive) String() string {
	var b strings.Builder
	b.WriteString(a.comment)
	for _, f := range a.files {
		fmt.Fprintf(&b, "-- %s --\n%s", f.name, f.text)
	}
	return b.String()
}
