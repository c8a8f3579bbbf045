package matrix

// Reasons why a trial or a retrieval was not run. Whoever has the observations can hold each to its condition.
const (
	NotRunNoGoldText   = "there is no gold text to substitute"
	NotRunNoGold       = "no gold is in A's context"
	NotRunFewItems     = "A's context holds fewer than two items"
	NotRunNoMiddle     = "A's context holds fewer than two items beside the gold, so that it has no middle"
	NotRunUntoldItems  = "the service does not tell what it packs, so that nothing of it can be moved: add packed to its trace"
	NotRunNoDistractor = "the distractor is not in the store and the case gives no text for it"
	NotRunNoUnrelated  = "the store has no unrelated item"
	NotRunNoItem       = " to take an unrelated item from" // behind that no store is declared
	NotRunFewSeeded    = "%d items are needed beside the gold, and only %d that are neither evidence nor a declared distractor could be drawn"

	NotRunUnwritten  = "the query could not be rewritten: " // and why
	NotRunNoSearch   = "the search of C failed"
	NotRunUntold     = "the service tells nothing of its retrieval, and " // the experiment declares no store
	NotRunUntoldYet  = "the service does not stop before the answer, which a probe does not ask for"
	NotRunSparing    = "less than a quarter of limits.budget is left, and is kept for the matrix of the cases"
	NotRunSearch     = "the search of %s was not made"
	NotRunTooDeep    = "the gold is not in the ranking, as deep as it was read"
	NotRunNoTexts    = "the texts of the items could not be fetched: " // and why
	NotRunNotRanked  = "reranking failed"
	NotRunKeyRefused = "the key was refused" // and what follows: a backend that can answer no call of the run, and what it said
	NotRunNotThere   = "what was asked for is not there"
	NotRunUnreached  = "no call ever reached it"
	NotRunUsedUp     = "it asks to wait for longer than an hour"
)
