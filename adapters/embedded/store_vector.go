package embedded

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/culprit-rag/culprit/adapters"
)

// blob is the vector as sqlite-vec reads it: float32, little-endian.
func blob(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func fromBlob(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

func norm(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// Lengths outside of these overflow or vanish when sqlite-vec squares them as float32.
const minNorm, maxNorm = 1e-15, 1e15

// checkVector refuses what cannot be scored. A zero vector can: its score is 0.
func checkVector(v []float32) (norm64 float64, err error) {
	if len(v) == 0 {
		return 0, fmt.Errorf("the vector is empty")
	}
	n := norm(v)
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("the vector holds a number that is not finite")
	}
	if n != 0 && (n < minNorm || n > maxNorm) {
		return 0, fmt.Errorf("the vector's length is %g, outside of %g to %g", n, minNorm, maxNorm)
	}
	return n, nil
}

// cut keeps the first n numbers of the vector, at unit length.
func cut(v []float32, n int) []float32 {
	wide := make([]float64, n)
	for i := range wide {
		wide[i] = float64(v[i])
	}
	return unit(wide)
}

// vectors returns the vector of each entry, nil for none.
func (b *builder) vectors(ctx context.Context, batch []entry) ([][]float32, error) {
	out := make([][]float32, len(batch))
	type way struct{ model, prefix string }
	asked := map[way][]int{}
	for i := range batch {
		e := &batch[i]
		changed := e.vector.Model != "" || e.vector.Prefix != nil
		switch {
		case e.vector.None:
		case e.Vector != nil && !changed:
			out[i] = e.Vector
		case b.recipe.Embedder != nil:
			w := way{model: b.recipe.Index.Model, prefix: *b.recipe.Index.PassagePrefix}
			if e.vector.Model != "" {
				w.model = e.vector.Model
			}
			if e.vector.Prefix != nil {
				w.prefix = *e.vector.Prefix
			}
			asked[w] = append(asked[w], i)
		case changed:
			return nil, invalid("open", "fault \"vectors\" of %q needs an embedder, and backends.embedder names none", e.ID)
		}
	}
	for w, which := range asked {
		if err := b.embed(ctx, batch, which, w.model, w.prefix, out); err != nil {
			return nil, err
		}
	}
	for i, v := range out {
		if !batch[i].vector.Zero {
			continue
		}
		if v == nil {
			return nil, invalid("open", "fault \"vectors\" makes the vector of %q zero, and it has none", batch[i].ID)
		}
		out[i] = make([]float32, len(v))
	}
	return out, nil
}

// embed makes the vectors of the entries which.
func (b *builder) embed(ctx context.Context, batch []entry, which []int, model, prefix string, out [][]float32) error {
	texts := make([]string, len(which))
	for k, i := range which {
		texts[k] = batch[i].indexed
	}
	if model == b.recipe.Embedder.Model {
		model = "" // an embedder with one model need not know how to be asked for it
	}
	response, err := b.embedder.Embed(ctx, adapters.EmbedRequest{Texts: texts, Purpose: adapters.ForPassage, Prefix: &prefix, Model: model})
	if err != nil {
		return fmt.Errorf("embedding %q and the %d documents after it: %w", batch[which[0]].ID, len(which)-1, err)
	}
	if len(response.Vectors) != len(texts) {
		return fmt.Errorf("the embedder returned %d vectors for %d texts", len(response.Vectors), len(texts))
	}
	for k, i := range which {
		v := response.Vectors[k]
		if want := b.recipe.Index.Dimensions; want != 0 && want != len(v) {
			if want > len(v) {
				return invalid("open", "setting \"index.dimensions\" is %d, and the embedder's vectors have %d", want, len(v))
			}
			v = cut(v, want)
		}
		out[i] = v
	}
	return nil
}
