package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// checksums say what files must be. The file "" is the program itself.
type checksums map[string]string

// UnmarshalJSON reads one sum, or files with their sums.
func (c *checksums) UnmarshalJSON(data []byte) error {
	if strings.HasPrefix(string(data), `"`) {
		var sum string
		if err := json.Unmarshal(data, &sum); err != nil {
			return err
		}
		*c = checksums{"": sum}
		return nil
	}
	return json.Unmarshal(data, (*map[string]string)(c))
}

// verify holds the files to their sums. Between this and the start lies a moment in which the file can be changed: keep plugins where
// nobody else may write.
func (s *settings) verify(program, dir string) error {
	if len(s.Checksum) == 0 {
		return nil
	}
	if _, whole := s.Checksum[""]; whole {
		for _, arg := range s.Args {
			if info, err := os.Stat(within(dir, arg)); err == nil && info.Mode().IsRegular() {
				return fmt.Errorf("%s is the sum of %q alone, and args name the file %q, which may be code: name the files with their sums, checksum: {%q: %q}",
					s.setting("checksum"), s.Path, arg, arg, orUnknown(Sum(within(dir, arg))))
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(s.Checksum)) {
		want, path, setting := s.Checksum[file], within(dir, file), fmt.Sprintf("%s of %q", s.at("checksum"), file)
		if file == "" {
			path, setting = program, s.at("checksum")
		}
		got, err := Sum(path)
		if err != nil {
			return fmt.Errorf("%s: %w", setting, err)
		}
		if got != want {
			return fmt.Errorf("the file %q is not what the experiment pins: its sum is %s, and %s says %s. If the change is meant, write the new sum there", path, got, setting, want)
		}
	}
	return nil
}

func orUnknown(sum string, err error) string {
	if err != nil {
		return "sha256:…"
	}
	return sum
}

// Sum returns the checksum of a file as the setting checksum has it.
func Sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}
