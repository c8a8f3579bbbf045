package adaptertest_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/culprit-rag/culprit/adapters"
)

// broken is a good store but for one thing.
type broken struct {
	adapters.VectorStore

	opening int // from 1

	search func(ctx context.Context, req adapters.SearchRequest, next searchFunc) (adapters.SearchResponse, error)
	scan   func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error)
	fetch  func(ctx context.Context, req adapters.FetchRequest, next fetchFunc) ([]adapters.Item, error)
	tells  func(*adapters.StoreInfo)
	sees   func(adapters.Item) any // all that the fingerprint is made of
	can    func(*adapters.StoreCapabilities)
	close  func() error
	own    func(opening int, i *adapters.StoreInfo) // tells otherwise at each opening
	writes []string                                 // what it asks its server to change, when it is opened
}

type (
	searchFunc func(context.Context, adapters.SearchRequest) (adapters.SearchResponse, error)
	scanFunc   func(context.Context, adapters.ScanRequest, func(adapters.Item) error) (adapters.ScanReport, error)
	fetchFunc  func(context.Context, adapters.FetchRequest) ([]adapters.Item, error)
)

func (b *broken) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	if b.search == nil {
		return b.VectorStore.Search(ctx, req)
	}
	return b.search(ctx, req, b.VectorStore.Search)
}

func (b *broken) Scan(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	if b.scan == nil {
		return b.VectorStore.Scan(ctx, req, visit)
	}
	return b.scan(ctx, req, visit, b.VectorStore.Scan)
}

func (b *broken) Fetch(ctx context.Context, req adapters.FetchRequest) ([]adapters.Item, error) {
	if b.fetch == nil {
		return b.VectorStore.Fetch(ctx, req)
	}
	return b.fetch(ctx, req, b.VectorStore.Fetch)
}

func (b *broken) Describe(ctx context.Context) (adapters.StoreInfo, error) {
	info, err := b.VectorStore.Describe(ctx)
	if err != nil {
		return info, err
	}
	if b.own != nil {
		b.own(b.opening, &info)
	}
	if b.tells != nil {
		b.tells(&info)
	}
	if b.sees != nil {
		info.Fingerprint, err = fingerprint(ctx, b.VectorStore, b.sees)
	}
	return info, err
}

func fingerprint(ctx context.Context, store adapters.VectorStore, sees func(adapters.Item) any) (string, error) {
	sum := sha256.New()
	_, err := store.Scan(ctx, adapters.ScanRequest{Vectors: true}, func(item adapters.Item) error {
		return json.NewEncoder(sum).Encode(sees(item))
	})
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}

func (b *broken) Capabilities() adapters.StoreCapabilities {
	c := b.VectorStore.Capabilities()
	if b.can != nil {
		b.can(&c)
	}
	return c
}

func (b *broken) Close() error {
	if b.close == nil {
		return b.VectorStore.Close()
	}
	return b.close()
}

// afterwards breaks a store by what it does with the hits.
func afterwards(change func([]adapters.Hit) []adapters.Hit) broken {
	return broken{search: func(ctx context.Context, req adapters.SearchRequest, next searchFunc) (adapters.SearchResponse, error) {
		response, err := next(ctx, req)
		response.Hits = change(response.Hits)
		return response, err
	}}
}

// before breaks a store by what it does with the request.
func before(change func(*adapters.SearchRequest)) broken {
	return broken{search: func(ctx context.Context, req adapters.SearchRequest, next searchFunc) (adapters.SearchResponse, error) {
		change(&req)
		return next(ctx, req)
	}}
}

// always breaks a store by what it does with every response.
func always(change func(adapters.SearchRequest, *adapters.SearchResponse)) broken {
	return broken{search: func(ctx context.Context, req adapters.SearchRequest, next searchFunc) (adapters.SearchResponse, error) {
		response, err := next(ctx, req)
		change(req, &response)
		return response, err
	}}
}

// reports breaks a scan by what it says of itself.
func reports(change func(*adapters.ScanReport)) broken {
	return broken{scan: func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error) {
		report, err := next(ctx, req, visit)
		change(&report)
		return report, err
	}}
}

// each breaks a scan by what it does with the items.
func each(change func(adapters.Item, func(adapters.Item) error) error) broken {
	return broken{scan: func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error) {
		return next(ctx, req, func(item adapters.Item) error { return change(item, visit) })
	}}
}
