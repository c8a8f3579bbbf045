package runner

import (
	"context"
	"errors"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// noStore stands for the store of an experiment that declares none, which only one of the user's own service may: it tells nothing
// of itself, can do nothing, and says so.
type noStore struct{}

func (noStore) Describe(context.Context) (adapters.StoreInfo, error) {
	return adapters.StoreInfo{}, nil
}

func (noStore) Capabilities() adapters.StoreCapabilities { return adapters.StoreCapabilities{} }

func (noStore) Search(context.Context, adapters.SearchRequest) (adapters.SearchResponse, error) {
	return adapters.SearchResponse{}, undeclared("search")
}

func (noStore) Scan(context.Context, adapters.ScanRequest, func(adapters.Item) error) (adapters.ScanReport, error) {
	return adapters.ScanReport{}, undeclared("scan")
}

func (noStore) Fetch(context.Context, adapters.FetchRequest) ([]adapters.Item, error) {
	return nil, undeclared("fetch")
}

func (noStore) Close() error { return nil }

func undeclared(op string) error {
	return adapters.NewError(matrix.RoleStore, op, adapters.KindUnsupported, errors.New(verdict.NoStore))
}

// goldOfTrace takes the text of gold, where neither a store nor the case tells it, from the service's own item that holds it.
func (r *caseRun) goldOfTrace(production []matrix.Packed) {
	if r.experiment.Backends.Store != nil {
		return
	}
	r.obs.Store.Gold = slices.Clone(r.obs.Store.Gold) // those of the session are every plan's
	for i := range r.obs.Store.Gold {
		facts := &r.obs.Store.Gold[i]
		gold := r.c.Evidence.Required[facts.Requirement].AnyOf[facts.Alternative]
		span := verdict.NewSpan(gold.Span)
		take := func(id, source, revision string, text matrix.Text, level matrix.Level) {
			if facts.TextOrigin != "span" || id != gold.Source && source != gold.Source || verdict.Stale(gold, revision) {
				return
			}
			if m := span.Match(text.Value); m.Exact || m.Folded {
				facts.Text, facts.TextID, facts.TextOrigin, facts.Sensitivity = text, id, "service", level
			}
		}
		for _, h := range r.obs.Retrievals[0].Candidates { // whole, where a packed text may be cut
			take(h.ID, h.Source, h.Revision, h.Text, h.Sensitivity)
		}
		for _, p := range production {
			take(p.ID, p.Source, p.Revision, p.Text, p.Sensitivity)
		}
	}
}
