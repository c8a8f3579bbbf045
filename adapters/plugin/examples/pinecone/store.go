package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/culprit-rag/culprit/adapters"
)

const (
	page      = 100 // ids of a list, which is the most, and records of a fetch
	sample    = 256 // records that the fingerprint reads
	longestID = 512
)

// store is one namespace of an index.
type store struct {
	set    settings
	client *pinecone.Client
	index  *pinecone.Index // as it was when the store was opened
	conn   *pinecone.IndexConnection
}

func (s *store) Close() error { return s.conn.Close() }

func (s *store) Capabilities() adapters.StoreCapabilities {
	return adapters.StoreCapabilities{Modes: []string{"dense"}, Threshold: true, Filter: true, Vectors: true, Only: true}
}

// pods holds for an index that cannot list its records.
func (s *store) pods() bool { return s.index.Spec != nil && s.index.Spec.Pod != nil }

func (s *store) Describe(ctx context.Context) (adapters.StoreInfo, error) {
	const op = "describe"
	index, err := s.client.DescribeIndex(ctx, s.set.Index)
	if err != nil {
		return adapters.StoreInfo{}, s.failed(op, err)
	}
	count, err := s.count(ctx)
	if err != nil {
		return adapters.StoreInfo{}, s.failed(op, err)
	}
	info := adapters.StoreInfo{
		Engine: "pinecone", Collection: s.set.Index + "/" + cmp.Or(s.set.Namespace, defaultNamespace), Count: count, Dimensions: int(*s.index.Dimension),
		Distance: distances[s.index.Metric], EmbedModel: declared(index), VectorType: "float32",
		FingerprintMisses: fmt.Sprintf("A record after the first %d by id that is changed in place, or takes the place of another, and what was written seconds ago.", sample),
		Notes:             []string{"Pinecone is eventually consistent: what was written seconds ago may be neither found, listed nor counted, or may be still."},
	}
	if s.index.Metric == pinecone.Euclidean {
		info.Notes = append(info.Notes, "A score is the square of the Euclidean distance.")
	}
	if index.Status != nil && !index.Status.Ready {
		info.Notes = append(info.Notes, fmt.Sprintf("The index is not ready: its state is %s.", index.Status.State))
	}
	sum := sha256.New()
	told, err := json.Marshal([]any{index.Metric, index.Dimension, index.Spec, index.Tags, index.Embed, count})
	if err != nil {
		return info, fail(op, adapters.KindPermanent, err)
	}
	sum.Write(told)
	if s.pods() {
		info.FingerprintMisses = "Everything but the number of records and the configuration: an index of pods does not list its records."
		info.Notes = append(info.Notes, "The index is made of pods, which do not list their records: nothing can be proved to be missing.")
	} else if err := s.eachPage(ctx, func(items []adapters.Item) (bool, error) {
		for _, item := range items {
			text, err := json.Marshal(item)
			if err != nil {
				return false, err
			}
			sum.Write(text)
			count--
		}
		return count > 0 && info.Count-count < sample, nil
	}); err != nil {
		return info, s.failed(op, err)
	}
	info.Fingerprint = fmt.Sprintf("pinecone-%.16x", sum.Sum(nil))
	return info, nil
}

// declared is the model of an index with integrated embedding, or else the one that its tags name.
func declared(index *pinecone.Index) string {
	if index.Embed != nil {
		return index.Embed.Model
	}
	if index.Tags != nil {
		return (*index.Tags)["embedding_model"]
	}
	return ""
}

const defaultNamespace = "__default__"

// count is the number of records of the namespace, as the index last counted them.
func (s *store) count(ctx context.Context) (int, error) {
	stats, err := s.conn.DescribeIndexStats(ctx)
	if err != nil {
		return 0, err
	}
	names := []string{s.set.Namespace}
	if s.set.Namespace == "" || s.set.Namespace == defaultNamespace {
		names = []string{"", defaultNamespace}
	}
	for _, name := range names {
		if summary := stats.Namespaces[name]; summary != nil {
			return int(summary.VectorCount), nil
		}
	}
	return 0, nil
}

func (s *store) Scan(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	const op = "scan"
	var report adapters.ScanReport
	if req.Collection != "" {
		return report, fail(op, adapters.KindUnsupported, errors.New("the plugin reads one namespace alone"))
	}
	var refused error
	if s.pods() {
		report.Unread = "all records: an index of pods does not list them"
	} else if err := s.eachPage(ctx, func(items []adapters.Item) (bool, error) {
		for _, item := range items {
			if !req.Vectors {
				item.Vector = nil
			}
			report.Scanned++
			if refused = visit(item); refused != nil {
				return false, nil
			}
		}
		return true, nil
	}); err != nil {
		return report, s.failed(op, err)
	}
	if refused != nil {
		return report, refused
	}
	count, err := s.count(ctx)
	if err != nil {
		return report, s.failed(op, err)
	}
	report.Counted = count
	return report, nil
}

// eachPage hands the records on in the order in which the index lists them, with their vectors, until use says that it is enough.
func (s *store) eachPage(ctx context.Context, use func([]adapters.Item) (more bool, err error)) error {
	limit := uint32(page)
	var token *string
	for {
		list, err := s.conn.ListVectors(ctx, &pinecone.ListVectorsRequest{Limit: &limit, PaginationToken: token})
		if err != nil {
			return err
		}
		var ids []string
		for _, id := range list.VectorIds {
			ids = append(ids, *id)
		}
		records, err := s.fetch(ctx, ids)
		if err != nil {
			return err
		}
		var items []adapters.Item
		for _, id := range ids {
			if record := records[id]; record != nil { // it may be gone since it was listed
				items = append(items, s.item(record, true))
			}
		}
		more, err := use(items)
		if err != nil || !more || list.NextPaginationToken == nil || *list.NextPaginationToken == "" {
			return err
		}
		if token != nil && *token == *list.NextPaginationToken {
			return errors.New("the list does not go forward: the same page is said to come next again")
		}
		token = list.NextPaginationToken
	}
}

func (s *store) Fetch(ctx context.Context, req adapters.FetchRequest) ([]adapters.Item, error) {
	records, err := s.fetch(ctx, req.IDs)
	if err != nil {
		return nil, s.failed("fetch", err)
	}
	items := []adapters.Item{}
	for _, id := range req.IDs {
		if record := records[id]; record != nil {
			items = append(items, s.item(record, req.Vectors))
		}
	}
	return items, nil
}

// fetch returns the records that exist. What can be no id is not asked for: Pinecone would refuse the call.
func (s *store) fetch(ctx context.Context, ids []string) (map[string]*pinecone.Vector, error) {
	records := map[string]*pinecone.Vector{}
	possible := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return id == "" || len(id) > longestID || slices.ContainsFunc([]byte(id), func(b byte) bool { return b == 0 || b > 127 })
	})
	for chunk := range slices.Chunk(possible, page) {
		answer, err := s.conn.FetchVectors(ctx, chunk)
		if err != nil {
			return nil, err
		}
		for id, record := range answer.Vectors {
			if record != nil {
				records[id] = record
			}
		}
	}
	return records, nil
}
