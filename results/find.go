package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNotFound means that a results folder holds no such execution or case.
var ErrNotFound = errors.New("not found")

// Executions lists the executions of a results folder, newest first. A folder that does not exist has none.
func Executions(out string) ([]ExecutionID, error) {
	entries, err := os.ReadDir(out)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("results folder: %w", err)
	}
	var ids []ExecutionID
	for _, entry := range entries {
		if id, err := ParseExecutionID(entry.Name()); err == nil && entry.IsDir() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b ExecutionID) int { return cmp.Compare(b, a) })
	return ids, nil
}

// Bundles lists the bundles of one execution by path, in the order of the names of their cases.
func Bundles(out string, id ExecutionID) ([]string, error) {
	if _, err := ParseExecutionID(string(id)); err != nil {
		return nil, err
	}
	bundles, err := bundlesIn(filepath.Join(out, string(id)))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("execution %q in %q: %w", id, out, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("execution %q: %w", id, err)
	}
	return bundles, nil
}

// bundlesIn lists the bundles of a folder, in the order of the names of their cases.
func bundlesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	at := map[string]string{} // by the name of the case
	for _, entry := range entries {
		name := bundleOf(entry)
		// Where one was unpacked beside its file, the file is what was sealed.
		if _, both := at[name]; name != "" && !(both && entry.IsDir()) {
			at[name] = filepath.Join(dir, entry.Name())
		}
	}
	var bundles []string
	for _, name := range slices.Sorted(maps.Keys(at)) {
		bundles = append(bundles, at[name])
	}
	return bundles, nil
}

// FindBundles lists the bundles that a name means: a bundle itself, the bundles of a folder or of the executions in it, or, for the id
// of an execution, its bundles in the results folder out. The error wraps [ErrNotFound] where there is none.
func FindBundles(out, name string) ([]string, error) {
	info, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		if id, noID := ParseExecutionID(name); noID == nil {
			return Bundles(out, id)
		}
		return nil, fmt.Errorf("bundle %q: %w", name, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() || strings.HasSuffix(filepath.Clean(name), folderSuffix) {
		return []string{name}, nil
	}
	if _, err := os.Lstat(filepath.Join(name, manifestFile)); err == nil {
		return []string{name}, nil
	}
	bundles, err := bundlesIn(name)
	if err != nil || len(bundles) > 0 {
		return bundles, err
	}
	ids, err := Executions(name)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		more, err := Bundles(name, id)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, more...)
	}
	if len(bundles) == 0 {
		return nil, fmt.Errorf("bundles in folder %q: %w", name, ErrNotFound)
	}
	return bundles, nil
}

// FindCase returns the bundle of a case in one execution, or, for the id "", in the newest execution that has it. A bundle that
// stands under the name of another one is an error.
func FindCase(out, caseID string, id ExecutionID) (string, error) {
	ids := []ExecutionID{id}
	if id == "" {
		var err error
		if ids, err = Executions(out); err != nil {
			return "", err
		}
		if len(ids) == 0 {
			return "", fmt.Errorf("no execution in %q: %w: run the experiment first", out, ErrNotFound)
		}
	}
	for _, id := range ids {
		if _, err := ParseExecutionID(string(id)); err != nil {
			return "", err
		}
		for _, suffix := range []string{archiveSuffix, folderSuffix} {
			path := filepath.Join(out, string(id), caseName(caseID)+suffix)
			if info, err := os.Lstat(path); err != nil || bundleOf(fs.FileInfoToDirEntry(info)) == "" {
				continue
			}
			if err := readPlaced(path, id); err != nil {
				return "", err
			}
			return path, nil
		}
	}
	return "", fmt.Errorf("case %q: %w in %q: %s", caseID, ErrNotFound, out, otherCases(out, ids[0]))
}

// readPlaced looks at the manifest of a bundle, whether it belongs where it stands.
func readPlaced(path string, id ExecutionID) error {
	r, err := openReader(path)
	if err != nil {
		return fmt.Errorf("bundle %q: %w", path, err)
	}
	return errors.Join(checkPlace(path, id, r.manifest), r.close())
}

// checkPlace refuses a bundle of another case or another execution than its place says.
func checkPlace(path string, id ExecutionID, m *Manifest) error {
	name := caseName(m.CaseID)
	switch base := filepath.Base(path); {
	case base != name+archiveSuffix && base != name+folderSuffix:
		return fmt.Errorf("bundle %q is of case %q, which is kept as %q: it was copied or renamed", path, m.CaseID, name+archiveSuffix)
	case m.ExecID != id:
		return fmt.Errorf("bundle %q is of execution %q: it was copied or moved", path, m.ExecID)
	}
	return nil
}

// otherCases names what an execution holds instead, for an error.
func otherCases(out string, id ExecutionID) string {
	const shown = 10
	bundles, err := Bundles(out, id)
	if err != nil {
		return err.Error()
	}
	if len(bundles) == 0 {
		return fmt.Sprintf("execution %q holds no bundle", id)
	}
	var names []string
	for _, path := range bundles[:min(shown, len(bundles))] {
		names = append(names, strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".zip"), folderSuffix))
	}
	if more := len(bundles) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("execution %q has %s", id, strings.Join(names, ", "))
}

// ReadSummary reads the summary of an execution. One that was killed wrote none; it is then made of its bundles.
func ReadSummary(out string, id ExecutionID) (*Summary, error) {
	if _, err := ParseExecutionID(string(id)); err != nil {
		return nil, err
	}
	dir := filepath.Join(out, string(id))
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("execution %q in %q: %w", id, out, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("execution %q: %w", id, err)
	}
	data, err := readFile(root, summaryFile, maxSummary)
	if closeErr := root.Close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, os.ErrNotExist) {
		return rebuildSummary(out, id)
	}
	var s Summary
	if err == nil {
		if err = checkSchema(data, SummarySchema); err == nil {
			err = json.Unmarshal(data, &s)
		}
	}
	if err == nil && s.Execution != id {
		err = fmt.Errorf("it is of execution %q", s.Execution)
	}
	if err != nil {
		return nil, fmt.Errorf("summary %q: %w", filepath.Join(dir, summaryFile), err)
	}
	return &s, nil
}

func rebuildSummary(out string, id ExecutionID) (*Summary, error) {
	bundles, err := Bundles(out, id)
	if err != nil {
		return nil, err
	}
	if len(bundles) == 0 {
		return nil, fmt.Errorf("execution %q in %q left no summary and no bundle: %w", id, out, ErrNotFound)
	}
	var s Summary
	for i, path := range bundles {
		b, err := Open(path)
		if err != nil {
			return nil, err
		}
		if err := checkPlace(path, id, &b.Manifest); err != nil {
			return nil, err
		}
		if i == 0 {
			s = NewSummary(id, &b.Experiment)
			s.ReenactedOf, s.Setup.Local = b.Environment.ReenactedOf, b.Pins.Generator.Local
			s.Setup.JudgeLocal = b.Pins.Judge != nil && b.Pins.Judge.Local
		}
		j, err := ReadJournal(path)
		if err != nil {
			return nil, err
		}
		c := Summarise(b.Evaluation, &b.Experiment, &b.Observations, path)
		c.Settle(&b.Experiment, j.Bill())
		s.Cases = append(s.Cases, c)
	}
	s.Bundles, s.Rebuilt = filepath.Join(out, string(id)), true
	s.Total()
	return &s, nil
}
