package verdict

// Rules returns the ordered table. The first rule that fires for a required item explains its loss; rules of the
// generation are asked once, when the evidence was in the prompt or when gold alone does not help either.
// A rule that cannot be answered stops the walk for its item: a later stage is never blamed on a guess.
func Rules() []Rule {
	var all []Rule
	for _, part := range [][]Rule{fixtureRules(), accessRules(), cacheRules(), indexRules(), embedRules(), retrieveRules(), rerankRules(), assembleRules(), promptRules(), bodyRules(), generateRules(), abstainRules(), seamRules()} {
		all = append(all, part...)
	}
	for i := range all {
		all[i].Page = pages()[all[i].ID()]
	}
	return all
}
