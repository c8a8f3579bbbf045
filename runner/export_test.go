package runner

import (
	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/experiments"
)

// Corpus hands an experiment's documents to a store, as a run does.
func Corpus(set *experiments.DocumentSet) adapters.Documents { return corpus{set} }

// Counter counts tokens as a plan does.
func Counter() (func(string) int, error) { return newCounter("o200k_base") }
