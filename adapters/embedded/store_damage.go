package embedded

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// damage is an error that nothing but changed bytes of the file can bring about.
type damage struct{ error }

func (d damage) Unwrap() error { return d.error }

func isDamage(err error) bool {
	var ours damage
	if errors.As(err, &ours) {
		return true
	}
	var theirs *sqlite.Error
	if !errors.As(err, &theirs) {
		return false
	}
	primary := theirs.Code() & 0xff // the rest of an extended code says where
	return primary == sqlite3.SQLITE_CORRUPT || primary == sqlite3.SQLITE_NOTADB
}

// explain names the file where err comes from damage to it, and says what to do. A store of the cache is removed. It is not
// built again under the calls that are made: what they were told before came from the same file.
func (s *store) explain(err error) error {
	if !isDamage(err) {
		return err
	}
	remedy := "delete it, and it is built again from the documents"
	switch {
	case !s.file.filled:
		remedy = "put a good copy in its place, or name the documents to build it again"
	case s.discard != nil && s.discard():
		remedy = "it was removed, and is built again from the documents when the store is opened next"
	}
	return fmt.Errorf("the store's file %q is damaged: %w; %s", s.file.path, err, remedy)
}
