package runner

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/results"
)

// keptVectors are the vectors of documents that were paid for and stand in no index yet. Each process that fills an index writes a file of
// its own into the cache folder, and syncs it after every answer, before that answer counts as made; what earlier processes have left it
// reads. When the index is whole, the files that it is made of go. It is safe for concurrent use.
//
// A file is a row of records: keptMark, the key of the text, how many numbers its vector has, these as float32, and a CRC-32C of all of it
// but the mark. The sum is against accidents: who may write into a file is its owner alone, or it is not read.
type keptVectors struct {
	dir  string // the cache folder
	of   string // what the names of the files of this embedder begin with
	anew bool   // what others have left is not used

	mu       sync.Mutex
	begun    bool
	own      *keptFile // nil: nothing is written yet
	files    []*keptFile
	known    map[onceKey]*keptVector
	widths   map[string]*width  // by the model that a request names
	held     map[onceKey]string // by what a request asks for: a text whose vector an earlier process has paid for; "": it was asked again
	asked    bool               // one of these was
	changed  bool               // the embedder answers otherwise than it answered earlier processes, whose vectors were used
	says     []string
	earlier  int // vectors that earlier processes have paid for, and that were used
	unlocked error
}

// width is how many numbers the vectors of a model have: an index takes those of one width alone.
type width struct {
	numbers  int
	answered bool // this process was answered so
}

// keptFile is one file. It is locked while it is open.
type keptFile struct {
	*os.File
	path   string
	size   int64
	unused int // vectors that no index has yet
}

// keptVector is where a vector stands.
type keptVector struct {
	file *keptFile
	at   int64 // of its record
	used bool
}

const (
	keptMark    = "CLPRvec1"
	keptHead    = len(keptMark) + len(onceKey{}) + 4
	keptNumbers = 1 << 20 // at the most, in one vector

	// What nobody has come back for goes after so long, and before that where there is more.
	keptFor   = 30 * 24 * time.Hour
	keptBytes = 4 << 30
)

var keptName = regexp.MustCompile(`^vectors-[0-9a-f]{32}-[0-9]+\.kept$`)

// newKept names the vectors of one embedder. Two embedders that may make different vectors of a text have different files.
func newKept(dir string, e adapters.EmbedderInfo) *keptVectors {
	of := keyOf(e.Adapter, e.Model, e.Dimensions, e.Revision)
	return &keptVectors{dir: dir, of: fmt.Sprintf("vectors-%x-", of[:16]), known: map[onceKey]*keptVector{}, widths: map[string]*width{}, held: map[onceKey]string{}}
}

// keptKey is the key of one text of a request.
func keptKey(req *adapters.EmbedRequest, text string) onceKey {
	prefix := "none"
	if req.Prefix != nil {
		prefix = "is " + *req.Prefix
	}
	return keyOf(req.Model, string(req.Purpose), prefix, text)
}

// begin reads what earlier processes have left. What cannot be used is left alone, and said.
func (k *keptVectors) begin() {
	if k.begun {
		return
	}
	k.begun = true
	for _, path := range keptFiles(k.dir) {
		if k.anew || filepath.Base(path)[:len(k.of)] != k.of {
			continue
		}
		f, err := openKept(path)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, results.ErrLocked): // another process is at it
			continue
		case err == nil:
			err = k.read(f)
			k.files = append(k.files, f)
		}
		if err != nil {
			k.say("vectors of documents that an earlier run has paid for are not used: %v", err)
		}
	}
}

func (k *keptVectors) say(format string, args ...any) {
	k.says = append(k.says, fmt.Sprintf(format, args...))
}

// keptFiles lists the files of all embedders, the newest first.
func keptFiles(dir string) (paths []string) {
	entries, _ := os.ReadDir(dir) // what was read before an error is true all the same
	when := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && keptName.MatchString(e.Name()) {
			path := filepath.Join(dir, e.Name())
			paths, when[path] = append(paths, path), info.ModTime()
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(when[b].Compare(when[a]), cmp.Compare(a, b)) })
	return paths
}

func openKept(path string) (*keptFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := results.Hold(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, results.Release(f))
	}
	return &keptFile{File: f, path: path, size: info.Size()}, nil
}

// read learns what a file holds. Behind damage it goes on with the next whole record; the end of a file that a killed process has not
// finished is no damage.
func (k *keptVectors) read(f *keptFile) error {
	damaged, gap := 0, false
	for at := int64(0); at < f.size; {
		key, vector, err := f.record(at)
		if errors.Is(err, errKeptDamage) {
			gap = true
			at, err = f.next(at + 1)
		}
		if err != nil {
			return err
		}
		if vector == nil {
			continue
		}
		if gap {
			damaged, gap = damaged+1, false
		}
		if k.known[key] == nil {
			k.known[key] = &keptVector{file: f, at: at}
			f.unused++
		}
		at += int64(keptHead + 4*len(vector) + 4)
	}
	if damaged > 0 {
		k.say("what %q holds is damaged in %d places: the vectors that stood there are asked for again", f.path, damaged)
	}
	return nil
}

var errKeptDamage = errors.New("it is damaged")

// record reads the record at a place.
func (f *keptFile) record(at int64) (key onceKey, vector []float32, err error) {
	head := make([]byte, keptHead)
	if _, err := f.ReadAt(head, at); err != nil {
		return key, nil, ended(err)
	}
	n := binary.LittleEndian.Uint32(head[keptHead-4:])
	if string(head[:len(keptMark)]) != keptMark || n == 0 || n > keptNumbers {
		return key, nil, errKeptDamage
	}
	body := make([]byte, 4*n+4)
	if _, err := f.ReadAt(body, at+int64(keptHead)); err != nil {
		return key, nil, ended(err)
	}
	if keptSum(head, body[:4*n]) != binary.LittleEndian.Uint32(body[4*n:]) {
		return key, nil, errKeptDamage
	}
	vector = make([]float32, n)
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:]))
	}
	return onceKey(head[len(keptMark):]), vector, nil
}

// ended makes damage of a record that is not whole.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return errKeptDamage
	}
	return err
}

func keptSum(head, numbers []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(head[len(keptMark):], table), table, numbers)
}

// next returns where the next record may begin, the end of the file where none does.
func (f *keptFile) next(from int64) (int64, error) {
	window := make([]byte, 64<<10)
	for from < f.size {
		n, err := f.ReadAt(window, from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.Index(window[:n], []byte(keptMark)); i >= 0 {
			return from + int64(i), nil
		}
		if n < len(window) {
			break
		}
		from += int64(n - len(keptMark) + 1)
	}
	return f.size, nil
}

// find returns the vector of a text, nil where nobody has paid for it, or for one of another width than those before it.
func (k *keptVectors) find(req *adapters.EmbedRequest, text string) ([]float32, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin()
	key := keptKey(req, text)
	v := k.known[key]
	if v == nil {
		return nil, nil
	}
	found, vector, err := v.file.record(v.at)
	if err != nil || found != key { // it was whole just now
		return nil, fmt.Errorf("reading %q: %w", v.file.path, cmp.Or(err, errKeptDamage))
	}
	if w := k.widths[req.Model]; w == nil {
		k.widths[req.Model] = &width{numbers: len(vector)}
	} else if w.numbers != len(vector) {
		k.forget(key)
		return nil, nil
	}
	if v.file != k.own {
		k.earlier++
		as := keptKey(req, "")
		if _, there := k.held[as]; !there {
			k.held[as] = text
		}
	}
	if !v.used {
		v.used = true
		v.file.unused--
	}
	return vector, nil
}

// again returns a text whose vector an earlier process has paid for, once, "" where there is none: it is asked again together with what
// nobody has paid for, since another model may answer under the same name by now, and an index must not be of two.
func (k *keptVectors) again(req *adapters.EmbedRequest) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	as := keptKey(req, "")
	text := k.held[as]
	if text != "" {
		k.held[as], k.asked = "", true
	}
	return text
}

// differs reports whether a text that an earlier process has paid for has another vector now.
func (k *keptVectors) differs(v *keptVector, now []float32) bool {
	if v == nil || v.file == k.own {
		return false
	}
	_, was, err := v.file.record(v.at)
	if err != nil {
		return true
	}
	c := cosine(was, now)
	return c != nil && c.Float() < sameVector
}

// disown forgets what earlier processes have left. The index is to be filled from its beginning.
func (k *keptVectors) disown(format string, args ...any) {
	k.say(format+": what that one has paid for is not used", args...)
	for key, v := range k.known {
		if v.file != k.own {
			k.forget(key)
		}
	}
	k.earlier, k.changed = 0, true
}

// forget leaves a vector to be asked for again.
func (k *keptVectors) forget(key onceKey) {
	if v := k.known[key]; !v.used {
		v.file.unused--
	}
	delete(k.known, key)
}

// fits reports whether a vector of a model is as wide as those before it. Where those are of earlier processes, they do not go with what
// the embedder answers now: all of theirs are forgotten, and the index is to be filled from its beginning.
func (k *keptVectors) fits(model string, numbers int) bool {
	w := k.widths[model]
	switch {
	case w == nil:
		k.widths[model] = &width{numbers, true}
	case w.numbers == numbers:
		w.answered = true
	case w.answered:
		return false
	default:
		k.disown("the embedder answers with vectors of %d numbers, and an earlier run was answered with %d", numbers, w.numbers)
		k.widths[model] = &width{numbers, true}
	}
	return true
}

// keep writes what came back for a request, and does not return before that is durable. Where it fails, nothing more may be bought.
func (k *keptVectors) keep(req *adapters.EmbedRequest, vectors [][]float32) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin()
	if k.unlocked != nil {
		return nil
	}
	var data []byte
	added := map[onceKey]*keptVector{}
	for i, v := range vectors {
		if !sound(v) || !k.fits(req.Model, len(v)) { // the store refuses it, and it is not to be refused for ever
			continue
		}
		key := keptKey(req, req.Texts[i])
		if k.differs(k.known[key], v) {
			k.disown("the embedder answers with another vector for a text than an earlier run was answered with, as another model does")
		}
		if k.known[key] != nil || added[key] != nil {
			continue
		}
		added[key] = &keptVector{at: int64(len(data)), used: true}
		data = appendKept(data, key, v)
	}
	if len(data) == 0 {
		return nil
	}
	if k.own == nil {
		if err := k.create(); err != nil || k.own == nil {
			return err
		}
	}
	if _, err := k.own.WriteAt(data, k.own.size); err != nil {
		return fmt.Errorf("keeping vectors that were paid for: %w", err)
	}
	if err := k.own.Sync(); err != nil {
		return fmt.Errorf("keeping vectors that were paid for: %w", err)
	}
	for key, v := range added {
		v.file, v.at = k.own, v.at+k.own.size
		k.known[key] = v
	}
	k.own.size += int64(len(data))
	return nil
}

func appendKept(data []byte, key onceKey, v []float32) []byte {
	at := len(data)
	data = append(append(data, keptMark...), key[:]...)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(v))) //nolint:gosec // sound bounds it
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	head := data[at : at+keptHead]
	return binary.LittleEndian.AppendUint32(data, keptSum(head, data[at+keptHead:]))
}

// sound reports whether an index can be made of a vector.
func sound(v []float32) bool {
	const shortest, longest = 1e-15, 1e15 // as the embedded store has it
	n := norm(v)
	return len(v) > 0 && len(v) <= keptNumbers && (n == 0 || n >= shortest && n <= longest)
}

// create makes the file of this process. On a file system without locks, where nobody could tell whether a process is at it, there is none.
func (k *keptVectors) create() error {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return fmt.Errorf("the cache folder: %w", err)
	}
	k.evict()
	f, err := os.CreateTemp(k.dir, k.of+"*.kept") // of mode 0600
	if err != nil {
		return fmt.Errorf("keeping vectors that are paid for: %w", err)
	}
	if err := results.Hold(f); err != nil {
		k.unlocked = err
		k.say("vectors that are paid for are not kept before the index is whole: %v", err)
		return errors.Join(f.Close(), os.Remove(f.Name()))
	}
	k.own = &keptFile{File: f, path: f.Name()}
	k.files = append(k.files, k.own)
	if dir, err := os.Open(k.dir); err == nil { // where a folder cannot be synced, a crash may lose the name
		_ = dir.Sync()
		_ = dir.Close()
	}
	return nil
}

// evict removes files that nobody is at: old ones, and the oldest where there are too many bytes.
func (k *keptVectors) evict() {
	var sum int64
	for _, path := range keptFiles(k.dir) {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if sum += info.Size(); sum <= keptBytes && time.Since(info.ModTime()) < keptFor {
			continue
		}
		if f, err := openKept(path); err == nil {
			_ = os.Remove(path) // it is only in the way of disk space
			_ = results.Release(f.File)
		}
	}
}

// close ends the use of the files. Where the index is whole, those go of which it holds everything.
func (k *keptVectors) close(whole bool) (err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.files {
		if whole && f.unused == 0 {
			if gone := os.Remove(f.path); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
		err = errors.Join(err, results.Release(f.File))
	}
	k.files, k.own, k.known = nil, nil, map[onceKey]*keptVector{}
	return err
}
