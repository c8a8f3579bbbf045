package runner

import (
	"maps"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
)

// told is what a response says of how and by whom it was made, within limits: it comes from outside like the answer.
func told(response adapters.GenerateResponse) (notes []string, metadata map[string]string) {
	const mostNotes, mostNames, longest = 32, 32, 1 << 10
	for _, note := range response.Notes[:min(mostNotes, len(response.Notes))] {
		notes = append(notes, matrix.Clamp(note, longest))
	}
	names := slices.Sorted(maps.Keys(response.Metadata))
	for _, name := range names[:min(mostNames, len(names))] {
		if metadata == nil {
			metadata = map[string]string{}
		}
		metadata[matrix.Clamp(name, longest)] = matrix.Clamp(response.Metadata[name], longest)
	}
	return notes, metadata
}
