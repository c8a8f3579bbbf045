package qdrant

import (
	"strconv"
	"strings"

	"github.com/qdrant/go-client/qdrant"
)

// idText is a point's id as text.
func idText(id *qdrant.PointId) string {
	if number, ok := id.GetPointIdOptions().(*qdrant.PointId_Num); ok {
		return strconv.FormatUint(number.Num, 10)
	}
	return id.GetUuid()
}

// parseID reads an id: a number from 0, or a UUID with or without its hyphens. Whatever else it is, no point has it.
func parseID(text string) (id *qdrant.PointId, ok bool) {
	if number, err := strconv.ParseUint(text, 10, 64); err == nil && strconv.FormatUint(number, 10) == text {
		return qdrant.NewIDNum(number), true
	}
	digits := strings.ToLower(text)
	if len(digits) == 36 && digits[8] == '-' && digits[13] == '-' && digits[18] == '-' && digits[23] == '-' {
		digits = digits[:8] + digits[9:13] + digits[14:18] + digits[19:23] + digits[24:]
	}
	if len(digits) != 32 || strings.Trim(digits, "0123456789abcdef") != "" {
		return nil, false
	}
	return qdrant.NewID(digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]), true
}

// parseIDs leaves out what no point can be called.
func parseIDs(texts []string) []*qdrant.PointId {
	ids := make([]*qdrant.PointId, 0, len(texts))
	for _, text := range texts {
		if id, ok := parseID(text); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// after reports whether a comes after b in the order of a scroll: numbers before UUIDs.
func after(a, b *qdrant.PointId) bool {
	x, xNumber := a.GetPointIdOptions().(*qdrant.PointId_Num)
	y, yNumber := b.GetPointIdOptions().(*qdrant.PointId_Num)
	switch {
	case xNumber && yNumber:
		return x.Num > y.Num
	case xNumber != yNumber:
		return yNumber
	}
	return a.GetUuid() > b.GetUuid()
}

// denseVector returns the dense vector of this name; nil where the point has none. Sparse is asked first: servers up to 1.16
// answer with one flat form in which the values of a sparse vector look like a dense one.
func denseVector(vectors *qdrant.VectorsOutput, name string) []float32 {
	vector := vectors.GetVector()
	if vector == nil {
		vector = vectors.GetVectors().GetVectors()[name]
	} else if name != "" {
		return nil
	}
	if vector == nil || vector.GetSparseVector() != nil || vector.GetMultiVector() != nil {
		return nil
	}
	if data := vector.GetDenseVector().GetData(); len(data) > 0 {
		return data
	}
	return nil
}

// withVectors asks for the one vector that is used, or for none.
func (s *store) withVectors(wanted bool) *qdrant.WithVectorsSelector {
	switch {
	case !wanted || s.shape.dense == nil:
		return qdrant.NewWithVectors(false)
	case s.set.Vector == "":
		return qdrant.NewWithVectors(true) // the unnamed one cannot be named; sparse ones come along
	}
	return qdrant.NewWithVectorsInclude(s.set.Vector)
}
