package experiments

import (
	"github.com/culprit-rag/culprit/matrix"
)

// lintBudget reports a budget of money that could not be kept: one in another currency than the prices, or without a price of
// each backend that asks for money.
func (l *loader) lintBudget(root *node, e *matrix.Experiment) {
	cost := root.place("limits", "budget", "cost")
	budget, prices := e.Limits.Budget.Cost.Currency, e.Prices.Currency
	if root.lost("prices") || root.lost("limits", "budget") {
		return
	}
	if e.Prices != (matrix.Prices{}) && e.Currency() == "" {
		l.fail(root.place("prices"), "the prices have no currency: add prices.currency, such as USD")
	}
	if budget == "" {
		return
	}
	if amount := e.Limits.Budget.Cost; amount.Micro == 0 {
		l.fail(cost, "cost is %s: it must be more than 0; leave it out for no limit", amount)
	}
	if prices != "" && prices != budget {
		l.fail(cost, "limits.budget.cost is in %s, and the prices are in %s: write both in one currency", budget, prices)
	}
	for _, role := range e.Paid() {
		if lacks := e.Prices.Of(role).Lacks(role); lacks != "" && !root.lost("prices", role) {
			l.fail(cost, "a budget of money needs the price of the %s, which leaves this process: add prices.%s with %s, or take limits.budget.cost away", role, role, lacks)
		}
	}
}
