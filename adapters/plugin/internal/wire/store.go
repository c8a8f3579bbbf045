package wire

import (
	"github.com/culprit-rag/culprit/adapters"
	pluginv1 "github.com/culprit-rag/culprit/adapters/plugin/proto/v1"
)

// Capabilities puts the capabilities of a store on the wire. Whether it is local is not told: a plugin is another process.
// Nor can it count words over what a filter admits: version 1 of the protocol has no such search, which is then never asked for.
func Capabilities(c adapters.StoreCapabilities) *pluginv1.StoreCapabilities {
	return &pluginv1.StoreCapabilities{
		Modes: c.Modes, Exact: c.Exact, Threshold: c.Threshold, Filter: c.Filter, Vectors: c.Vectors, Collections: c.Collections, Only: c.Only,
	}
}

// CapabilitiesOf is the way back of [Capabilities].
func CapabilitiesOf(c *pluginv1.StoreCapabilities) adapters.StoreCapabilities {
	return adapters.StoreCapabilities{
		Modes: c.GetModes(), Exact: c.GetExact(), Threshold: c.GetThreshold(), Filter: c.GetFilter(), Vectors: c.GetVectors(),
		Collections: c.GetCollections(), Only: c.GetOnly(),
	}
}

// StoreInfo puts what a store says of itself on the wire.
func StoreInfo(i adapters.StoreInfo) *pluginv1.StoreInfo {
	info := &pluginv1.StoreInfo{
		Engine: i.Engine, Version: i.Version, Collection: i.Collection, Collections: i.Collections, Count: int64(i.Count),
		Dimensions: int32Of(i.Dimensions), Distance: i.Distance, EmbedModel: i.EmbedModel, QueryPrefix: i.QueryPrefix, PassagePrefix: i.PassagePrefix,
		Revision: i.Revision, Fingerprint: i.Fingerprint, FingerprintMisses: i.FingerprintMisses, VectorType: i.VectorType, EmbedInput: i.EmbedInput,
		Notes: i.Notes,
	}
	if len(i.DeclaredPerItem) > 0 {
		info.DeclaredPerItem = map[string]int64{}
		for model, n := range i.DeclaredPerItem {
			info.DeclaredPerItem[model] = int64(n)
		}
	}
	return info
}

// StoreInfoOf is the way back of [StoreInfo].
func StoreInfoOf(i *pluginv1.StoreInfo) adapters.StoreInfo {
	info := adapters.StoreInfo{
		Engine: i.GetEngine(), Version: i.GetVersion(), Collection: i.GetCollection(), Collections: i.GetCollections(), Count: int(i.GetCount()),
		Dimensions: int(i.GetDimensions()), Distance: i.GetDistance(), EmbedModel: i.GetEmbedModel(), QueryPrefix: i.QueryPrefix,
		PassagePrefix: i.PassagePrefix, Revision: i.GetRevision(), Fingerprint: i.GetFingerprint(), FingerprintMisses: i.GetFingerprintMisses(),
		VectorType: i.GetVectorType(), EmbedInput: i.GetEmbedInput(), Notes: i.GetNotes(),
	}
	if len(i.GetDeclaredPerItem()) > 0 {
		info.DeclaredPerItem = map[string]int{}
		for model, n := range i.GetDeclaredPerItem() {
			info.DeclaredPerItem[model] = int(n)
		}
	}
	return info
}

// Item puts an item on the wire.
func Item(i adapters.Item) *pluginv1.Item {
	item := &pluginv1.Item{
		Id: i.ID, Source: i.Source, Revision: i.Revision, Text: i.Text, Access: i.Access, EmbedModel: i.EmbedModel, Collection: i.Collection,
		IndexedAt: timestamp(i.IndexedAt), UpdatedAt: timestamp(i.UpdatedAt), Vector: i.Vector,
	}
	if len(i.Metadata) > 0 {
		item.Metadata = make(map[string]*pluginv1.Values, len(i.Metadata))
		for field, values := range i.Metadata {
			item.Metadata[field] = &pluginv1.Values{Values: values}
		}
	}
	return item
}

// ItemOf is the way back of [Item].
func ItemOf(i *pluginv1.Item) adapters.Item {
	item := adapters.Item{
		ID: i.GetId(), Source: i.GetSource(), Revision: i.GetRevision(), Text: i.GetText(), Access: i.GetAccess(), EmbedModel: i.GetEmbedModel(),
		Collection: i.GetCollection(), IndexedAt: timeOf(i.GetIndexedAt()), UpdatedAt: timeOf(i.GetUpdatedAt()), Vector: i.GetVector(),
	}
	if len(i.GetMetadata()) > 0 {
		item.Metadata = make(map[string][]string, len(i.GetMetadata()))
		for field, values := range i.GetMetadata() {
			item.Metadata[field] = values.GetValues()
		}
	}
	return item
}

// Items puts items on the wire.
func Items(items []adapters.Item) []*pluginv1.Item {
	list := make([]*pluginv1.Item, len(items))
	for i, item := range items {
		list[i] = Item(item)
	}
	return list
}

// ItemsOf is the way back of [Items].
func ItemsOf(items []*pluginv1.Item) []adapters.Item {
	list := make([]adapters.Item, len(items))
	for i, item := range items {
		list[i] = ItemOf(item)
	}
	return list
}

// SearchRequest puts a search on the wire.
func SearchRequest(r adapters.SearchRequest) *pluginv1.SearchRequest {
	req := &pluginv1.SearchRequest{
		Mode: r.Mode, Query: Text(r.Query), Vector: r.Vector, Limit: int32Of(r.Limit), Threshold: r.Threshold, Exact: r.Exact, IdsOnly: r.IDsOnly,
	}
	for _, id := range r.Only {
		req.Only = append(req.Only, Text(id))
	}
	for _, c := range r.Filter {
		values := make([]string, len(c.AnyOf))
		for i, value := range c.AnyOf {
			values[i] = Text(value)
		}
		req.Filter = append(req.Filter, &pluginv1.Condition{Field: Text(c.Field), AnyOf: values, Not: c.Not, Typed: c.Typed})
	}
	return req
}

// SearchRequestOf is the way back of [SearchRequest].
func SearchRequestOf(r *pluginv1.SearchRequest) adapters.SearchRequest {
	req := adapters.SearchRequest{
		Mode: r.GetMode(), Query: r.GetQuery(), Vector: r.GetVector(), Limit: int(r.GetLimit()), Threshold: r.Threshold, Exact: r.GetExact(),
		Only: r.GetOnly(), IDsOnly: r.GetIdsOnly(),
	}
	for _, c := range r.GetFilter() {
		req.Filter = append(req.Filter, adapters.Condition{Field: c.GetField(), AnyOf: c.GetAnyOf(), Not: c.GetNot(), Typed: c.GetTyped()})
	}
	return req
}

// SearchResponse puts a ranking on the wire.
func SearchResponse(r adapters.SearchResponse) *pluginv1.SearchResponse {
	response := &pluginv1.SearchResponse{LowerIsBetter: r.LowerIsBetter, Exact: r.Exact, Received: Text(r.Received), Cap: int32Of(r.Cap)}
	for _, hit := range r.Hits {
		response.Hits = append(response.Hits, &pluginv1.Hit{Item: Item(hit.Item), Rank: int32Of(hit.Rank), Score: hit.Score})
	}
	return response
}

// SearchResponseOf is the way back of [SearchResponse].
func SearchResponseOf(r *pluginv1.SearchResponse) adapters.SearchResponse {
	response := adapters.SearchResponse{LowerIsBetter: r.GetLowerIsBetter(), Exact: r.GetExact(), Received: r.GetReceived(), Cap: int(r.GetCap())}
	for _, hit := range r.GetHits() {
		response.Hits = append(response.Hits, adapters.Hit{Item: ItemOf(hit.GetItem()), Rank: int(hit.GetRank()), Score: hit.Score})
	}
	return response
}

// ScanReport puts the report of a scan on the wire.
func ScanReport(r adapters.ScanReport) *pluginv1.ScanReport {
	return &pluginv1.ScanReport{Scanned: int64(r.Scanned), Counted: int64(r.Counted), Unread: Text(r.Unread), LeftOut: Text(r.LeftOut)}
}

// ScanReportOf is the way back of [ScanReport].
func ScanReportOf(r *pluginv1.ScanReport) adapters.ScanReport {
	return adapters.ScanReport{Scanned: int(r.GetScanned()), Counted: int(r.GetCounted()), Unread: r.GetUnread(), LeftOut: r.GetLeftOut()}
}
