package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/culprit-rag/culprit/adapters"
)

// store reads a file that build has made. The file never changes while it is open, so nothing here takes a lock but for what is kept of it.
type store struct {
	db       *sql.DB
	file     storeFile
	held     *os.File // of a file of the cache, which is in use by it
	discard  func() bool
	settings storeSettings
	about    about
	here     collection
	closed   atomic.Bool
	searches atomic.Int64 // that were made, for the fault "late"
	words    wordScores
}

// storeFile is where a store's file is, and where it comes from.
type storeFile struct {
	path   string
	filled bool // from documents, so that it can be built again
	cached bool // in the cache folder, under a name that nobody has chosen
}

// openStore opens the store's file. It is built first where it is missing or was built from something else.
func openStore(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
	settings, err := readStoreSettings(cfg.Settings)
	if err != nil {
		return nil, fail("open", adapters.KindInvalid, err)
	}
	var s *store
	if cfg.Documents == nil {
		if settings.File == "" {
			return nil, invalid("open", "the store has neither documents nor a file; name one of them")
		}
		s, err = openFile(ctx, storeFile{path: settings.File}, settings)
	} else {
		s, err = openFilled(ctx, cfg, settings)
	}
	if err != nil {
		return nil, storeError(ctx, "open", err)
	}
	if err := s.declare(ctx, cfg.IndexEmbedder); err != nil {
		return nil, errors.Join(s.wrap(ctx, "open", err), s.Close())
	}
	return s, nil
}

// openFilled opens the file that holds the documents as the settings want them, and builds it first where it must.
func openFilled(ctx context.Context, cfg adapters.Config, settings storeSettings) (*store, error) {
	recipe, err := newRecipe(ctx, cfg, settings)
	if err != nil {
		return nil, err
	}
	file := storeFile{path: settings.File, filled: true}
	if file.path == "" {
		if cfg.CacheDir == "" {
			return nil, invalid("open", "there is no cache folder to build the store in; name one, or set \"file\"")
		}
		file.path, file.cached = cachePath(cfg.CacheDir, recipe), true
	} else if err := refuseForeign(file.path); err != nil {
		return nil, err
	}
	s, err := openFile(ctx, file, settings)
	if err == nil && s.about.Digest == recipe.digest() {
		return s, nil
	}
	if err == nil {
		err = s.Close()
	}
	// Whatever is wrong with a file of ours is mended by building it again.
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	if err := build(ctx, file.path, recipe, cfg); err != nil {
		return nil, err
	}
	s, err = openFile(ctx, file, settings)
	if err == nil && file.cached {
		evict(cfg.CacheDir) // now that the new one is held
	}
	return s, err
}

// openFile opens a finished file to read it.
func openFile(ctx context.Context, file storeFile, settings storeSettings) (_ *store, err error) {
	if _, err := os.Stat(file.path); err != nil {
		return nil, invalid("open", "opening the store's file: %w", err)
	}
	if err := refuseForeign(file.path); err != nil {
		return nil, err
	}
	s := &store{file: file, settings: settings}
	if file.cached {
		if s.held, err = hold(file.path); err != nil {
			return nil, err
		}
		s.discard = sync.OnceValue(func() bool { return discard(s.held, file.path) })
	}
	if err := s.verify(ctx); err != nil {
		return nil, errors.Join(s.explainOpening(err), s.letGo())
	}
	if s.db, err = openReader(file.path); err != nil {
		return nil, errors.Join(err, s.letGo())
	}
	if s.about, err = readAbout(ctx, s.db); err != nil {
		return nil, errors.Join(s.explainOpening(err), s.db.Close(), s.letGo())
	}
	// How texts were split is fixed in the file, and queries must be split alike.
	s.settings.Keyword.Stem = s.about.Keyword.Stem
	s.settings.Keyword.FoldAccents = s.about.Keyword.FoldAccents
	s.settings.Keyword.TokenChars = s.about.Keyword.TokenChars
	return s, nil
}

// verify compares the file with what was built, before anything in it is believed.
func (s *store) verify(ctx context.Context) (err error) {
	file := s.held
	if file == nil {
		if file, err = openRegular(s.file.path); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
	}
	return checkSeal(ctx, file)
}

// explainOpening is explain for errors that may come from something else than damage.
func (s *store) explainOpening(err error) error {
	if isDamage(err) {
		return s.explain(err)
	}
	return fmt.Errorf("reading the store's file %q: %w", s.file.path, err)
}

// declare settles what depends on the settings and the embedder of this opening.
func (s *store) declare(ctx context.Context, embedder adapters.Embedder) error {
	var ok bool
	if s.here, ok = s.collection(s.settings.Collection); !ok {
		return fail("open", adapters.KindNotFound, fmt.Errorf("collection %q is not in the store, which has %q", s.settings.Collection, s.names()))
	}
	index := s.settings.Index
	if index.QueryPrefix == nil && embedder != nil {
		info, err := embedder.Describe(ctx)
		if err != nil {
			return fmt.Errorf("asking the embedder what it is: %w", err)
		}
		s.settings.Index.QueryPrefix = &info.QueryPrefix
	}
	faults := s.settings.Faults
	return errors.Join(s.known(ctx, "approximate", faults.Approximate), s.known(ctx, "late", slices.Sorted(maps.Keys(faults.Late))))
}

// known checks that the collection holds the items that a fault names, but for those that another fault keeps out of it.
func (s *store) known(ctx context.Context, fault string, ids []string) error {
	var found string
	for _, id := range ids {
		if s.settings.Faults.keepsOut(id, s.here.Name) {
			continue
		}
		err := s.db.QueryRowContext(ctx, `SELECT id FROM item WHERE collection = ? AND id = ?`, s.here.Number, id).Scan(&found)
		if errors.Is(err, sql.ErrNoRows) {
			return s.notHere(ctx, fault, id)
		}
		if err != nil {
			return fmt.Errorf("looking up %q: %w", id, err)
		}
	}
	return nil
}

// hide leaves out of a condition what the fault "late" still hides.
func (s *store) hide(c *clause) {
	if ids := s.hidden(); len(ids) > 0 {
		c.and("i.id NOT "+inList, list(ids))
	}
}

func (s *store) hidden() []string {
	made := int(s.searches.Load())
	var out []string
	for _, id := range slices.Sorted(maps.Keys(s.settings.Faults.Late)) {
		if s.settings.Faults.Late[id] > made {
			out = append(out, id)
		}
	}
	return out
}

// notHere says that a fault names an item that the collection does not hold, and which was most likely meant.
func (s *store) notHere(ctx context.Context, fault, wrong string) (err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT id, source FROM item WHERE collection = ?`, s.here.Number)
	if err != nil {
		return fmt.Errorf("looking for %q: %w", wrong, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	guess := meant(wrong)
	for rows.Next() {
		var id, source string
		if err := rows.Scan(&id, &source); err != nil {
			return fmt.Errorf("looking for %q: %w", wrong, err)
		}
		guess.see(id, source)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("looking for %q: %w", wrong, err)
	}
	return invalid("open", "backends.store.faults.%s names %q, which is not in collection %q%s", fault, wrong, s.here.Name, guess)
}

func (s *store) collection(name string) (collection, bool) {
	i := slices.IndexFunc(s.about.Collections, func(c collection) bool { return c.Name == name })
	if i < 0 {
		return collection{}, false
	}
	return s.about.Collections[i], true
}

func (s *store) names() []string {
	var names []string
	for _, c := range s.about.Collections {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// Close ends the store; calls that are under way fail.
func (s *store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if err := errors.Join(s.db.Close(), s.letGo()); err != nil {
		return fail("close", adapters.KindPermanent, err)
	}
	return nil
}

// letGo says that the file is no longer in use.
func (s *store) letGo() error {
	if s.held == nil {
		return nil
	}
	return s.held.Close()
}

// enter is the first thing that a method does.
func (s *store) enter(ctx context.Context, op string) error {
	if s.closed.Load() {
		return fail(op, adapters.KindPermanent, adapters.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return fail(op, adapters.KindCanceled, err)
	}
	return nil
}

// wrap gives an error of a method its kind.
func (s *store) wrap(ctx context.Context, op string, err error) error {
	if err != nil && s.closed.Load() && ctx.Err() == nil {
		return fail(op, adapters.KindPermanent, adapters.ErrClosed)
	}
	return storeError(ctx, op, s.explain(err))
}

// storeError wraps err. SQLite reports a cancelled statement as "interrupted", so the context is asked for the reason.
func storeError(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	if reason := ctx.Err(); reason != nil && !errors.Is(err, reason) {
		err = fmt.Errorf("%w (%w)", reason, err)
	}
	return fail(op, adapters.KindPermanent, err)
}

// Capabilities tells the modes by whether the index has vectors; the rest always holds.
func (s *store) Capabilities() adapters.StoreCapabilities {
	modes := []string{modeKeyword}
	if s.about.Vectors {
		modes = append(modes, modeDense, modeHybrid)
	}
	return adapters.StoreCapabilities{
		Modes: modes, Exact: true, Threshold: true, Filter: true, Vectors: s.about.Vectors, Collections: true, Only: true, FilterStatistics: true, Local: true,
	}
}

// Describe tells how the index was built, as far as settings.Index does not claim something else.
func (s *store) Describe(ctx context.Context) (adapters.StoreInfo, error) {
	if err := s.enter(ctx, "describe"); err != nil {
		return adapters.StoreInfo{}, err
	}
	var version string
	if err := s.db.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&version); err != nil {
		return adapters.StoreInfo{}, s.wrap(ctx, "describe", err)
	}
	count, err := s.count(ctx, s.here)
	if err != nil {
		return adapters.StoreInfo{}, s.wrap(ctx, "describe", err)
	}
	info := adapters.StoreInfo{
		Engine:            fmt.Sprintf("embedded (SQLite %s)", version),
		Version:           version,
		Collection:        s.here.Name,
		Collections:       s.names(),
		Count:             count,
		Dimensions:        s.about.Dimensions,
		EmbedModel:        s.about.Model,
		QueryPrefix:       s.settings.Index.QueryPrefix,
		PassagePrefix:     s.about.PassagePrefix,
		DeclaredPerItem:   s.here.declaredOf(count),
		Revision:          s.about.Fingerprint[:12],
		Fingerprint:       s.about.Fingerprint,
		FingerprintMisses: "It was taken when the file was built. The file is compared with that at every opening, so it misses what another program does to the file after that.",
	}
	if s.about.Vectors {
		info.Distance = s.settings.Distance
	}
	for _, id := range s.hidden() {
		info.Fingerprint += "-" + id
	}
	if s.settings.Index.Revision != "" {
		info.Revision = s.settings.Index.Revision
	}
	return info, nil
}

func (s *store) count(ctx context.Context, c collection) (int, error) {
	var n int
	var seen clause
	s.hide(&seen)
	err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM item i WHERE i.collection = ?`+seen.String(), slices.Concat([]any{c.Number}, seen.args)...).Scan(&n)
	return n, err
}
