package experiments

import (
	"bufio"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Find returns the experiment files at or below path, in a fixed order: a file that is named, or the YAML files with a
// line that begins with "culprit:". Hidden folders and links are left out.
func Find(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, Problems{{File: path, Message: explainPath(err).Error()}}
	}
	if !info.IsDir() {
		return []string{filepath.Clean(path)}, nil
	}
	var found []string
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != path && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case !entry.Type().IsRegular() || !isYAML(name):
			return nil
		}
		is, err := isExperiment(name)
		if is {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, Problems{{File: path, Message: "there is no experiment here: an experiment file begins with culprit: v1, and culprit init writes one"}}
	}
	return found, nil
}

// isExperiment looks for the line that marks an experiment, without parsing: a file that is broken must be found too.
func isExperiment(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close() // nothing was written, so nothing can be lost
	reader := bufio.NewReader(f)
	if head, _ := reader.Peek(4); isUTF16(head) {
		data, err := io.ReadAll(io.LimitReader(reader, maxFile))
		text := "\n" + string(bytes.ReplaceAll(bytes.Trim(data, "\xff\xfe"), []byte{0}, nil))
		return err == nil && strings.Contains(text, "\nculprit:"), nil // Load says what is wrong with it
	}
	begins := true
	for read := 0; read < maxFile; {
		line, more, err := reader.ReadLine()
		if err != nil {
			return false, nil //nolint:nilerr // the end of the file, or one that Load will report
		}
		if begins && bytes.HasPrefix(bytes.TrimPrefix(line, utf8BOM), []byte("culprit:")) {
			return true, nil
		}
		begins = !more
		read += len(line) + 1
	}
	return false, nil
}
