package verdict

import (
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// BenchmarkExtractClaims reads answers of growing length for three claims: the time must grow with the length alone.
func BenchmarkExtractClaims(b *testing.B) {
	const paragraph = "The **notice period** is 30 days, not 45 days, and the fee is up to 60 crowns a night (about €2.40). It applies from 1 September 2026; " +
		"two hundred and fifty guests <b>may</b> stay for 2 hours, 30 minutes.\n\n- 10 to 12 GB\n- 5 km/h, or 10 m²\n\n"
	c := &matrix.Case{Expect: matrix.ExpectAnswer, Claims: []matrix.Claim{
		{ID: "days", Any: []string{"31 days"}}, {ID: "fee", Any: []string{"fee is 61 crowns", "€3.50"}}, {ID: "date", Any: []string{"1 July 2024"}},
	}}
	k, err := NewChecker(c, []string{"I don't know"})
	if err != nil {
		b.Fatal(err)
	}
	for name, n := range map[string]int{"1": 1, "16": 16, "256": 256} {
		answer := strings.Repeat(paragraph, n)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(answer)))
			for b.Loop() {
				if k.Check(answer, nil).Meets {
					b.Fatal("met")
				}
			}
		})
	}
}
