package verdict

import (
	"slices"
	"sync"
)

// Rules returns the ordered table. The first rule that fires for a required item explains its loss; rules of the
// generation are asked once, when the evidence was in the prompt or when gold alone does not help either.
// A rule that cannot be answered stops the walk for its item: a later stage is never blamed on a guess.
func Rules() []Rule { return slices.Clone(table()) }

var made struct {
	sync.Once
	rules []Rule
}

// table is made once; nobody changes it.
func table() []Rule {
	made.Do(func() { made.rules = makeRules() })
	return made.rules
}

func makeRules() []Rule {
	var all []Rule
	for _, part := range [][]Rule{fixtureRules(), accessRules(), cacheRules(), indexRules(), embedRules(), retrieveRules(), rerankRules(), assembleRules(), promptRules(), bodyRules(), generateRules(), abstainRules(), seamRules()} {
		all = append(all, part...)
	}
	for i := range all {
		all[i].id = all[i].ID()
		all[i].Page = pages()[all[i].id]
	}
	return all
}
