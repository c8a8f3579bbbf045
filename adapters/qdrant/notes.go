package qdrant

import (
	"fmt"

	"github.com/qdrant/go-client/qdrant"
)

// The release whose API the client speaks.
const (
	clientMajor = 1
	clientMinor = 17
)

// undersampled is from where on a search of several shards that is not exact asks each of them for less.
const undersampled = 128

// notes are what else bears on what is read.
func (s *store) notes(info *qdrant.CollectionInfo, count int) []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if v := s.version; v.major != clientMajor || max(v.minor-clientMinor, clientMinor-v.minor) > 1 {
		note("The server is %s; the client is made for %d.%d and promises to fit one release before and after it.", v, clientMajor, clientMinor)
	}
	if s.plain {
		note("The key goes to the server without TLS, where others can read it.")
	}
	switch info.GetStatus() {
	case qdrant.CollectionStatus_Yellow:
		note("The collection is being optimised (status yellow), so that searches are slower and may use no index.")
	case qdrant.CollectionStatus_Grey:
		note("Optimisations of the collection wait for a write (status grey), as after a restart of the server.")
	case qdrant.CollectionStatus_Red:
		note("The server could not do what it was asked to do with the collection (status red), so that items may be missing.")
	}
	if failed := info.GetOptimizerStatus().GetError(); failed != "" {
		note("The optimiser of the collection has failed: %s.", failed)
	}
	if hidden := int(info.GetPointsCount()) - count; hidden > 0 && info.GetStatus() == qdrant.CollectionStatus_Yellow && s.set.ShardKey.key == nil {
		note("The collection holds %d items more than can be counted, searched or scanned; they are hidden until they are optimised, or counted twice while they are.", hidden)
	}
	for _, warning := range info.GetWarnings() {
		note("The server warns: %s.", warning.GetMessage())
	}
	return append(notes, s.configNotes(info)...)
}

// configNotes are about the collection's configuration.
func (s *store) configNotes(info *qdrant.CollectionInfo) []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	config := info.GetConfig()
	dense := denseVectors(config)[s.set.Vector]
	if dense.GetDistance() == qdrant.Distance_Cosine && dense.GetDatatype() == qdrant.Datatype_Uint8 {
		note("The vectors are kept as whole numbers from 0 to 255, so that a stored vector says little about the model that made it.")
	}
	shards := config.GetParams().GetShardNumber()
	idf := s.set.Keyword != nil && config.GetParams().GetSparseVectorsConfig().GetMap()[s.set.Keyword.Vector].GetModifier() == qdrant.Modifier_Idf
	if idf && shards > 1 {
		note("The collection has %d shards, each of which counts for itself how rare a word is, so that equal texts may have different scores in keyword search.", shards)
	}
	if k := s.set.Keyword; k != nil && !idf {
		note("The sparse vector %q has no modifier \"idf\", so that in keyword search a rare word counts no more than a frequent one.", k.Vector)
	}
	if shards > 1 {
		note("The collection has %d shards, so that a dense search that is not exact may return too few items from a limit of %d on.", shards, undersampled)
	}
	if s.set.IndexedOnly && info.GetIndexedVectorsCount() < info.GetPointsCount() {
		note("Only %d of about %d vectors are indexed, and backends.store.indexed_only leaves out the others.", info.GetIndexedVectorsCount(), info.GetPointsCount())
	}
	if s.shape.noExact {
		note("The strict mode of the collection allows neither exact searches nor exact counts, so that items are counted by reading their ids.")
	}
	if most := s.shape.maxLimit; most > 0 {
		note("The strict mode of the collection allows no search for more than %d items.", most)
	}
	return notes
}
