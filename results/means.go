package results

// meanRecall is over the cases with gold whose retrieval was observed; a case without gold has no recall at all.
func (s *Summary) meanRecall() (map[string]*Number, Share) {
	m := means{}
	share := Share{Total: len(s.Cases)}
	for i := range s.Cases {
		if m.add(s.Cases[i].Retrieval.Recall) {
			share.Used++
		}
	}
	recall := make(map[string]*Number, len(m))
	for k, of := range m {
		recall[k] = of.mean()
	}
	return recall, share
}

// meanMetrics is over the same cases. The mean of the reciprocal ranks has a name of its own, MRR.
func (s *Summary) meanMetrics() map[string]Mean {
	m := means{}
	for i := range s.Cases {
		m.add(s.Cases[i].Retrieval.Metrics)
	}
	out := make(map[string]Mean, len(m))
	for name, of := range m {
		if name == "rr" {
			name = "mrr"
		}
		out[name] = Mean{Mean: of.mean(), Share: Share{Used: of.n, Total: len(s.Cases)}}
	}
	return out
}

// means adds up numbers by name.
type means map[string]sum

type sum struct {
	of float64
	n  int
}

func (s sum) mean() *Number { return newNumber(s.of / float64(s.n)) }

// add adds the numbers that there are, and reports whether there was one.
func (m means) add(numbers map[string]*Number) bool {
	some := false
	for name, v := range numbers {
		if v != nil {
			at := m[name]
			m[name] = sum{at.of + float64(*v), at.n + 1}
			some = true
		}
	}
	return some
}
