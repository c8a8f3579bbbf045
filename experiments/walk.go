package experiments

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// walk calls visit for every file below base, in a fixed order, with its path relative to the experiment's folder. Hidden
// files and folders are left out, and links to folders are not followed, so it always ends.
func (d *folder) walk(base string, visit func(name string)) error {
	info, err := d.stat(base)
	if err != nil {
		return explainPath(err)
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "read", Path: base, Err: fs.ErrInvalid}
	}
	fsys, start := os.DirFS(d.shown(base)), "."
	if _, out := d.outside(base); !out {
		root, err := os.OpenRoot(d.dir)
		if err != nil {
			return explainPath(err)
		}
		defer root.Close()
		fsys, start = root.FS(), base
	}
	return fs.WalkDir(fsys, start, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return explainPath(err)
		}
		if name != start && strings.HasPrefix(entry.Name(), ".") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return nil
		}
		if start == "." && base != "." {
			name = path.Join(base, name)
		}
		visit(name)
		return nil
	})
}

// glob returns the files that the pattern matches, in a fixed order. A pattern without *, ? or [ is a file's name, or a
// folder's, which stands for the YAML files in it.
func (d *folder) glob(pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, "*?[") {
		info, err := d.stat(pattern)
		if err != nil {
			return nil, explainPath(err)
		}
		if !info.IsDir() {
			return []string{pattern}, nil
		}
		var names []string
		err = d.walk(pattern, func(name string) {
			if path.Dir(name) == path.Clean(pattern) && isYAML(name) {
				names = append(names, name)
			}
		})
		return names, err
	}
	steps := strings.Split(pattern, "/")
	base := 0
	for base < len(steps)-1 && !strings.ContainsAny(steps[base], "*?[") {
		base++
	}
	for _, step := range steps {
		if _, err := path.Match(step, ""); err != nil {
			return nil, err
		}
	}
	start := path.Join(steps[:base]...)
	if path.IsAbs(pattern) {
		start = "/" + start
	}
	if start == "" {
		start = "."
	}
	var names []string
	err := d.walk(start, func(name string) {
		if matchSteps(steps, strings.Split(name, "/")) {
			names = append(names, name)
		}
	})
	return names, err
}

// matchSteps matches step by step; ** stands for any number of folders.
func matchSteps(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "**" {
		for i := range len(name) + 1 {
			if matchSteps(pattern[1:], name[i:]) {
				return true
			}
		}
		return false
	}
	if len(name) == 0 {
		return false
	}
	ok, err := path.Match(pattern[0], name[0])
	return err == nil && ok && matchSteps(pattern[1:], name[1:])
}

func isYAML(name string) bool {
	extension := strings.ToLower(filepath.Ext(name))
	return extension == ".yaml" || extension == ".yml"
}
