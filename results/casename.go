package results

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"regexp"
	"strings"
)

var (
	plainCaseID = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9_-])?$`)
	notPlain    = regexp.MustCompile(`[^a-z0-9_-]+`)
	// reservedName holds the names that Windows gives to devices, with any extension.
	reservedName = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
)

// caseName returns the name under which a case is stored. An id that is safe on every file system is its own name; any
// other id is never used as a path: it becomes its readable part and a digest, so that "A/b", "a/b" and ".." stay apart.
func caseName(id string) string {
	if plainCaseID.MatchString(id) && !reservedName.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	readable := strings.Trim(notPlain.ReplaceAllString(strings.ToLower(id), "-"), "-")
	return "case-" + strings.TrimLeft(readable[:min(len(readable), 40)]+"-", "-") + hex.EncodeToString(sum[:6])
}

// A bundle is one file, or the folder that its file was unpacked into.
const (
	archiveSuffix = ".bundle.zip"
	folderSuffix  = ".bundle"
)

// bundleOf returns the name of the case whose bundle an entry of an execution's folder is, "" where it is none.
func bundleOf(e fs.DirEntry) string {
	suffix := archiveSuffix
	if e.IsDir() {
		suffix = folderSuffix
	} else if !e.Type().IsRegular() {
		return ""
	}
	name, ok := strings.CutSuffix(e.Name(), suffix)
	if !ok {
		return ""
	}
	return name
}
