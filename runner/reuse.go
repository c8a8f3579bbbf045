package runner

import (
	"context"
	"errors"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
)

// reuse is what the cases of an execution share: the embedding of equal texts and the retrievals of equal requests.
type reuse struct {
	embeddings *once[embedded]
	retrievals *once[*matrix.Retrieval]
	ids        *responseIDs
	models     *answeredAs

	twins map[string]bool // questions that several cases ask; no other retrieval is kept for anybody
}

// expect learns which cases may make the same retrievals.
func (r *reuse) expect(cases []*matrix.Case) {
	asked := map[string]bool{}
	for _, c := range cases {
		question := c.Question()
		if asked[question] {
			r.twins[question] = true
		}
		asked[question] = true
	}
}

// mostKept are the bytes of embeddings, and of retrievals, that are kept for further cases.
const mostKept = 4 << 20

func newReuse() *reuse {
	return &reuse{
		embeddings: newOnce(mostKept, func(e embedded) int { return 4*len(e.vector) + 128 }),
		retrievals: newOnce(mostKept, sizeOf),
		ids:        newResponseIDs(),
		models:     &answeredAs{another: map[[2]string]int{}},
		twins:      map[string]bool{},
	}
}

// embedded is one text's vector.
type embedded struct {
	vector    []float32
	model     string // as reported
	truncated *int   // tokens that were read, where not all were
}

// embed embeds texts, each once in an execution for the same model, purpose and prefix. It returns how many were not asked for.
func (s *session) embed(ctx context.Context, req adapters.EmbedRequest) (out []embedded, reused int, err error) {
	prefix := "none"
	if req.Prefix != nil {
		prefix = "is " + *req.Prefix
	}
	keys := make([]onceKey, len(req.Texts))
	for i, text := range req.Texts {
		keys[i] = keyOf(req.Model, string(req.Purpose), prefix, text)
	}
	b, ofCase := ctx.Value(begunKey{}).(*begun)
	out, known, err := s.reuse.embeddings.get(ctx, keys, func(places []int) ([]embedded, error) {
		made := make([]embedded, 0, len(places))
		for places := range slices.Chunk(places, TextsPerCall(s.experiment.Backends.Embedder)) {
			some := req
			some.Texts = make([]string, len(places))
			for i, place := range places {
				some.Texts[i] = req.Texts[place]
			}
			response, err := s.embedder.Embed(ctx, some)
			if err != nil {
				return nil, err
			}
			for i, place := range places {
				e := embedded{vector: response.Vectors[i], model: response.ModelReported}
				if read, ok := response.Truncated[i]; ok {
					e.truncated = &read
				}
				if made = append(made, e); ofCase {
					b.vectors = append(b.vectors, embeddedText{keys[place], e.vector, e.model, e.truncated})
				}
			}
		}
		return made, nil
	})
	for _, k := range known {
		if k {
			reused++
		}
	}
	return out, reused, err
}

// noteReused records that texts were not embedded again for the call that the context carries.
func noteReused(ctx context.Context, texts int) {
	if b, ok := ctx.Value(begunKey{}).(*begun); ok && texts > 0 {
		b.asked = matrix.AddAsked(b.asked, matrix.Asked{Role: matrix.RoleEmbedder, Reused: texts})
	}
}

// errUnshared ends a retrieval that no other case may take over: a failure is an observation of its own case alone.
var errUnshared = errors.New("this retrieval is not shared")

// retrieveOnce makes a retrieval, or takes over what an identical request of this execution got. It then keeps its own call key
// and cell, and names the call that was made.
func (r *caseRun) retrieveOnce(ctx context.Context, s search, call matrix.Call, out matrix.Retrieval) (matrix.Retrieval, error) {
	if !r.reuse.twins[out.Query] {
		return r.retrieveNow(ctx, s, call, out)
	}
	reranks := "none"
	if p := r.experiment.Pipeline.Rerank; p != nil && s.cell == matrix.CellC && !r.probing {
		var err error
		if reranks, err = matrix.Digest(p); err != nil {
			return out, err
		}
	}
	key := keyOf(call.Input, out.Query, out.K, reranks, s.reach)
	own := out
	found, reused, err := r.reuse.retrievals.get(ctx, []onceKey{key}, func([]int) ([]*matrix.Retrieval, error) {
		var err error
		if own, err = r.retrieveNow(ctx, s, call, out); err != nil {
			return nil, err
		}
		if own.Status != matrix.StatusOK {
			return nil, errUnshared
		}
		shared := own
		return []*matrix.Retrieval{&shared}, nil
	})
	switch {
	case errors.Is(err, errUnshared):
		return own, nil
	case err != nil || !reused[0]:
		return own, err
	}
	taken := *found[0]
	taken.CallKey, taken.Cell, taken.SameAs = out.CallKey, out.Cell, taken.CallKey
	taken.At, taken.LatencyMS, taken.Named = "", 0, nil
	taken.Asked = []matrix.Asked{{Role: matrix.RoleStore, Reused: 1}}
	return taken, nil
}

// sizeOf reckons what a retrieval holds.
func sizeOf(r *matrix.Retrieval) int {
	n := 1 << 10
	for _, hits := range [][]matrix.Hit{r.Candidates, r.Reranked} {
		for i := range hits {
			h := &hits[i]
			n += 256 + len(h.ID) + len(h.Source) + len(h.Revision) + len(h.Text.Value)
			for field, values := range h.Metadata {
				n += len(field)
				for _, v := range values {
					n += 16 + len(v)
				}
			}
		}
	}
	return n
}
