package experiments

import "github.com/culprit-rag/culprit/matrix"

// lintFloor reports a floor that the search has no use for.
func (l *loader) lintFloor(root *node, e *matrix.Experiment) {
	floor, mode := e.Checks.Floor, e.Pipeline.Search.Mode
	if floor == nil || root.lost("pipeline", "search", "mode") {
		return
	}
	at := func(key ...string) position { return root.place(append([]string{"checks", "floor"}, key...)...) }
	switch {
	case mode == matrix.ModeKeyword:
		l.fail(at(), "keyword search needs no floor, since an item that shares no term with the query has no score: take floor away")
	case mode == matrix.ModeDense && floor.Keyword != nil:
		l.fail(at("keyword"), "dense search has no keyword arm: take keyword away")
	case floor.Dense == nil && !root.lost("checks", "floor", "dense"):
		l.fail(at(), "floor names no score of dense search: write what culprit calibrate floor prints, such as floor: {dense: 0.31, error: 0.05, n: 59}")
	case e.Pipeline.Rewrite.Many():
		l.warn(at(), "pipeline.rewrite makes several searches of a query, and a merged rank is no score: this floor is not used")
	}
}
