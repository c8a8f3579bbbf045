package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// line is one line of the file.
type line struct {
	ID         string           `json:"id"`
	Source     string           `json:"source"`
	Revision   string           `json:"revision"`
	Text       string           `json:"text"`
	Access     []string         `json:"access"`
	Metadata   map[string][]any `json:"metadata"`
	EmbedModel string           `json:"embed_model"`
	Collection string           `json:"collection"`
	IndexedAt  time.Time        `json:"indexed_at"`
	UpdatedAt  time.Time        `json:"updated_at"`
	Vector     []float32        `json:"vector"`
}

// store holds the file in memory. It is not changed after it was read, so that any number of calls may use it at once.
type store struct {
	path       string
	sum        string
	items      []adapters.Item
	words      [][]string // of each item
	dimensions int
	closed     atomic.Bool
}

// fail gives an error its kind, which decides whether the host tries again.
func fail(op string, kind adapters.Kind, format string, args ...any) error {
	return adapters.NewError(name, op, kind, fmt.Errorf(format, args...))
}

func open(ctx context.Context, cfg adapters.Config) (*store, error) {
	var set struct {
		Path string `json:"path"`
	}
	if err := json.Unmarshal(cfg.Settings, &set); err != nil {
		return nil, fail("open", adapters.KindInvalid, "reading the settings: %w", err)
	}
	if !filepath.IsAbs(set.Path) {
		set.Path = filepath.Join(cfg.Dir, set.Path)
	}
	data, err := os.ReadFile(set.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail("open", adapters.KindNotFound, "path: %w", err)
	} else if err != nil {
		return nil, fail("open", adapters.KindPermanent, "path: %w", err)
	}
	s := &store{path: set.Path, sum: fmt.Sprintf("%x", sha256.Sum256(data))}
	for i, row := range bytes.Split(data, []byte{'\n'}) {
		if err := ctx.Err(); err != nil {
			return nil, fail("open", adapters.KindCanceled, "reading: %w", err)
		}
		if len(bytes.TrimSpace(row)) == 0 {
			continue
		}
		if err := s.read(row); err != nil {
			return nil, fail("open", adapters.KindInvalid, "%s:%d: %w", set.Path, i+1, err)
		}
	}
	return s, nil
}

// read takes in one line.
func (s *store) read(row []byte) error {
	var l line
	decoder := json.NewDecoder(bytes.NewReader(row))
	decoder.UseNumber() // so that a number comes back as it is written
	if err := decoder.Decode(&l); err != nil {
		return err
	}
	if l.ID == "" {
		return errors.New("an item has no id")
	}
	if l.Collection != "" { // this store has one collection
		return nil
	}
	if len(l.Vector) > 0 {
		if s.dimensions != 0 && s.dimensions != len(l.Vector) {
			return fmt.Errorf("the vector of %q has %d dimensions, others have %d", l.ID, len(l.Vector), s.dimensions)
		}
		s.dimensions = len(l.Vector)
	}
	item := adapters.Item{
		ID: l.ID, Source: l.Source, Revision: l.Revision, Text: l.Text, Access: l.Access, EmbedModel: l.EmbedModel,
		IndexedAt: l.IndexedAt, UpdatedAt: l.UpdatedAt, Vector: l.Vector,
	}
	for field, values := range l.Metadata {
		if item.Metadata == nil {
			item.Metadata = map[string][]string{}
		}
		for _, value := range values {
			item.Metadata[field] = append(item.Metadata[field], fmt.Sprint(value))
		}
	}
	s.items = append(s.items, item)
	s.words = append(s.words, strings.FieldsFunc(strings.ToLower(l.Text), noLetter))
	return nil
}
