package measure

import (
	"encoding/json"
	"os"
	"testing"
)

// specification is statistics-vectors.json: the vectors of every section, and two tables of exact probabilities.
type specification struct {
	Vectors map[string]json.RawMessage
}

func readSpecification(t *testing.T) specification {
	t.Helper()
	data, err := os.ReadFile("testdata/statistics-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var s specification
	decode(t, data, &s)
	return s
}

// checks hold, by the fn of a vector, the function that checks it.
var checks = []map[string]func(t *testing.T, v vector){
	intervalChecks, levelChecks, compareChecks, sequentialChecks, contrastChecks,
	retrievalChecks, claimChecks, agreementChecks, gateChecks, flakinessChecks,
}

// tables are the sections that are no list of vectors: each has a test of its own.
var tables = map[string]bool{"1_coverage": true, "4_operating_characteristics": true, "5_operating_characteristics": true}

// TestVectors walks all of the file: a vector that nothing checks is a failure.
func TestVectors(t *testing.T) {
	t.Parallel()
	for section, data := range readSpecification(t).Vectors {
		if tables[section] {
			continue
		}
		var all []vector
		decode(t, data, &all)
		if len(all) == 0 {
			t.Errorf("section %s has no vectors", section)
		}
		for _, v := range all {
			t.Run(section+"/"+v.ID, func(t *testing.T) {
				t.Parallel()
				for _, section := range checks {
					if check := section[v.Fn]; check != nil {
						check(t, v)
						return
					}
				}
				t.Errorf("nothing checks %s", v.Fn)
			})
		}
	}
}
