package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// What is put before a text, which is shown at the start of a line, and behind it: what acts on a terminal or a build log, and what
// breaks out of Markdown.
const (
	order   = "::error::forged "
	forgery = hostile + "\n``````\n![x](http://evil.example/x.png) @everyone <details>\n"
)

// readable reads the JSON of a file, a value a line.
func readable(t *testing.T, data []byte) (docs []any) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		d.UseNumber()
		var doc any
		if err := d.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	return docs
}

// written is the opposite of readable. The lines of a journal or a ledger are chained again.
func written(t *testing.T, name string, docs []any) (data []byte) {
	t.Helper()
	head := strings.Repeat("0", 2*sha256.Size)
	for i, doc := range docs {
		line, err := matrix.Canonical(doc)
		if err != nil { // a summary has fractions, and no digest
			line, err = json.Marshal(doc)
		}
		if link, _ := doc.(map[string]any); err == nil && link["rec"] != nil {
			var rec []byte
			rec, err = json.Marshal(link["rec"])
			sum := sha256.Sum256(fmt.Appendf(nil, "%d|%s|%s", i+1, head, rec))
			line = fmt.Appendf(nil, `{"seq":%d,"prev":%q,"rec":%s,"sum":"%x"}`, i+1, head, rec, sum)
			head = hex.EncodeToString(sum[:])
		}
		if err != nil {
			t.Fatal(err)
		}
		if data = append(data, line...); strings.HasSuffix(name, "l") {
			data = append(data, '\n')
		}
	}
	return data
}

// places calls visit for the first text of each path of fields in a value, and for the first name of each object; what it
// returns takes the text's place.
func places(v any, path string, seen map[string]bool, visit func(path, text string) string) any {
	at := func(path, text string) string {
		if seen[path] {
			return text
		}
		seen[path] = true
		return visit(path, text)
	}
	switch v := v.(type) {
	case string:
		return at(path, v)
	case []any:
		for i := range v {
			v[i] = places(v[i], path+"[]", seen, visit)
		}
	case map[string]any:
		for i, name := range slices.Sorted(maps.Keys(v)) {
			field := places(v[name], path+"."+name, seen, visit)
			delete(v, name)
			if i == 0 {
				name = at(path+".{}", name)
			}
			v[name] = field
		}
	}
	return v
}

// forgeries returns, for each place of a text in the files, what the files are when it is forged.
func forgeries(t *testing.T, files map[string][]byte, seen map[string]bool) map[string]map[string][]byte {
	t.Helper()
	out := map[string]map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".jsonl") {
			continue
		}
		var all []string
		places(readable(t, files[name]), name, seen, func(path, text string) string {
			all = append(all, path)
			return text
		})
		for _, path := range all {
			changed := maps.Clone(files)
			docs := places(readable(t, files[name]), name, map[string]bool{}, func(at, text string) string {
				if at == path {
					text = order + text + forgery
				}
				return text
			})
			changed[name] = written(t, name, docs.([]any))
			out[path] = changed
		}
	}
	return out
}

// forgedBlobs returns, for each text that stands in a file of its own, what the files are when it is forged, with all that names it.
func forgedBlobs(t *testing.T, files map[string][]byte) map[string]map[string][]byte {
	t.Helper()
	out := map[string]map[string][]byte{}
	for name, data := range files {
		if !isBlob(name) {
			continue
		}
		changed := maps.Clone(files)
		delete(changed, name)
		text := append(bytes.Clone(data), order+forgery+"\xff\xc2\xed\xa0\x80"...)
		old, sum := filepath.Base(name), fmt.Sprintf("%x", sha256.Sum256(text))
		folder := filepath.Dir(name)
		if prefix := filepath.Base(folder); strings.HasPrefix(old, prefix) {
			folder = filepath.Join(filepath.Dir(folder), sum[:len(prefix)])
		}
		changed[filepath.Join(folder, sum)] = text
		for other, data := range changed {
			if !isBlob(other) {
				changed[other] = bytes.ReplaceAll(data, []byte(old), []byte(sum))
			}
		}
		out[name] = changed
	}
	return out
}

// sealing makes forged bundles of one, one after the other, in the results folder out.
type sealing struct {
	own   map[string][]byte
	there map[string][]byte // as it stands in the folder now
	out   string
	id    string // of the execution of the one
	name  string // of the folder of the bundle
	test  string // of the case
}

func newSealing(t *testing.T, bundle string) *sealing {
	t.Helper()
	s := &sealing{own: members(t, bundle), out: filepath.Join(t.TempDir(), "results"), there: map[string][]byte{}}
	m := openBundle(t, bundle).Manifest
	s.id, s.test, s.name = m.ExecID.String(), m.CaseID, m.CaseID+".bundle"
	s.seal(t, s.own)
	return s
}

func (s *sealing) path() string { return filepath.Join(s.out, s.id, s.name) }

// seal puts a forged bundle in the place of the one before, with a journal, digests, a manifest and sums that fit it.
func (s *sealing) seal(t *testing.T, forged map[string][]byte) {
	t.Helper()
	files := maps.Clone(forged)
	replace := func(was, is string) {
		for name, data := range files {
			if !isBlob(name) {
				files[name] = bytes.ReplaceAll(data, []byte(was), []byte(is))
			}
		}
	}
	for _, name := range []string{"case/resolved.json", "pins.json", "plan.json"} {
		if !bytes.Equal(files[name], s.own[name]) {
			replace(matrix.DigestBytes(s.own[name]), matrix.DigestBytes(files[name]))
		}
	}
	s.write(t, files)
	if b, err := results.Open(s.path()); err == nil {
		if digest, err := b.Observations.Digest(); err == nil && digest != b.Manifest.Digests.Observation {
			replace(b.Manifest.Digests.Observation, digest)
		}
	}
	if was, is := matrix.DigestBytes(s.own["evaluation.json"]), matrix.DigestBytes(files["evaluation.json"]); was != is {
		replace(was, is)
		s.write(t, files)
	}
}

func (s *sealing) write(t *testing.T, files map[string][]byte) {
	t.Helper()
	files["journal.jsonl"] = written(t, "journal.jsonl", readable(t, files["journal.jsonl"]))
	m, _ := readable(t, files["manifest.json"])[0].(map[string]any)
	listed, _ := m["files"].([]any)
	sums := map[string]string{}
	for _, entry := range listed {
		f, _ := entry.(map[string]any)
		path, _ := f["path"].(string)
		data, there := files[path]
		if sum, _ := f["sha256"].(string); there && len(sum) == 2*sha256.Size {
			f["sha256"], f["size"] = fmt.Sprintf("%x", sha256.Sum256(data)), len(data)
			if f["restricted"] == true {
				f["size"] = (len(data) + 255) / 256 * 256
			}
		}
		sums[path], _ = f["sha256"].(string)
	}
	name := func(entry any) string {
		f, _ := entry.(map[string]any)
		path, _ := f["path"].(string)
		return path
	}
	slices.SortStableFunc(listed, func(a, b any) int { return strings.Compare(name(a), name(b)) })
	if head := readable(t, files["journal.jsonl"]); m["journal"] != nil {
		last, _ := head[len(head)-1].(map[string]any)
		if own, ok := m["journal"].(map[string]any); ok && own["head"] != nil && len(fmt.Sprint(own["head"])) == 2*sha256.Size {
			own["head"] = last["sum"]
		}
	}
	files["manifest.json"] = written(t, "manifest.json", []any{m})
	var lines strings.Builder
	for _, path := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&lines, "%s  %s\n", sums[path], path)
	}
	fmt.Fprintf(&lines, "%x  manifest.json\n", sha256.Sum256(files["manifest.json"]))
	files["SHA256SUMS"] = []byte(lines.String())
	for name, data := range files {
		if is, ok := s.there[name]; ok && bytes.Equal(is, data) {
			continue
		}
		to := filepath.Join(s.path(), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name := range s.there {
		if _, ok := files[name]; !ok {
			if err := os.Remove(filepath.Join(s.path(), name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.there = files
}

func isBlob(name string) bool { return strings.Contains(name, "/sha256/") }

// shows runs a command and holds what it shows to what may be shown.
func shows(t *testing.T, what string, args ...string) (text string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stdout, stderr, code := invoke(ctx, func(string) string { return "" }, args...)
	name := fmt.Sprintf("%s with %s forged (%.300q)", args[0], what, args)
	if ctx.Err() != nil {
		t.Errorf("%s hangs", name)
	}
	if strings.Contains(stderr, "(a panic)") {
		t.Errorf("%s: %.600s", name, stderr)
	}
	checkShown(t, name, stderr)
	switch {
	case slices.Contains(args, "--markdown") && stdout != "":
		lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
		fence := strings.TrimRight(lines[0], "abcdefghijklmnopqrstuvwxyz")
		if strings.Trim(fence, "`") != "" || len(fence) < 3 || lines[len(lines)-1] != fence || slices.ContainsFunc(lines[1:len(lines)-1], func(line string) bool {
			return strings.HasPrefix(strings.TrimSpace(line), fence)
		}) {
			t.Errorf("%s breaks out of its fence: %.300q … %q", name, lines[0], lines[len(lines)-1])
		}
	case slices.Contains(args, "--json"):
		for line := range strings.Lines(stderr) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: standard error is no JSON: %.200q", name, line)
			}
		}
		if stdout != "" && !json.Valid([]byte(stdout)) {
			t.Errorf("%s is no JSON: %.200q", name, stdout)
		}
	}
	checkShown(t, name, stdout)
	return stdout + stderr, code
}
