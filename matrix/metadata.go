package matrix

import "maps"

// Names in [Trial.Metadata].
const (
	MetadataResponseID = "response_id" // the provider's own name of the answer, the same for an answer that is served again
	MetadataCreated    = "created"     // when the provider says that it made the answer
	MetadataCache      = "cache"       // what says that a cache before the model served the answer: "cf-aig-cache-status: HIT"
)

// ResponseID returns the provider's own name of the answer, "" where it gave none.
func (t *Trial) ResponseID() string { return t.Metadata[MetadataResponseID] }

// stableMetadata is the metadata without what differs from one execution to the next. That two trials of a cell carry one response
// id does not differ, and the verdict rests on it: the later one then names the first, in place of the id. seen holds the call key
// of the first trial, by cell and id.
func (t *Trial) stableMetadata(seen map[string]string) map[string]string {
	stable := maps.Clone(t.Metadata)
	delete(stable, MetadataResponseID)
	delete(stable, MetadataCreated)
	if id := t.ResponseID(); id != "" {
		key := string(t.Cell) + "\n" + id
		if first, known := seen[key]; known {
			stable[MetadataResponseID] = "as " + first
		} else {
			seen[key] = t.CallKey
		}
	}
	if len(stable) == 0 {
		return nil
	}
	return stable
}
