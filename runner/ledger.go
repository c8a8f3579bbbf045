package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// ErrBudget is returned when limits.budget does not allow the next call.
var ErrBudget = adapters.ErrBudget

// ledger holds all calls of an execution to its budget, and keeps what was asked for all cases together.
type ledger struct {
	experiment *matrix.Experiment
	budget     *adapters.Budget // nil: no limit
	count      counter          // of tokens; nil: no limit needs them

	doubts int // calls of earlier work that are in doubt, and count towards the budget with the most that they may have taken

	offs offs // filled while the backends are opened

	shared *shared // by calls that belong to no case

	mu   sync.Mutex
	open map[string][]matrix.Asked // by the calls of each case that is not finished
}

// newLedger refuses a budget of money that cannot be kept. Before is what was asked for all cases by earlier processes, to which is added;
// nil: nothing is kept.
func newLedger(e *matrix.Experiment, before *shared) (*ledger, error) {
	if before == nil {
		before = &shared{}
	}
	g := &ledger{experiment: e, offs: offs{}, shared: before, open: map[string][]matrix.Asked{}}
	budget := e.Limits.Budget
	if lacks := e.Unpriced(); budget.Cost.Currency != "" && len(lacks) > 0 {
		return nil, fmt.Errorf("limits.budget.cost is %s, and what a call costs is not known: set %s, or take limits.budget.cost away", budget.Cost, strings.Join(lacks, " and "))
	}
	if budget != (matrix.Spending{}) {
		g.budget = adapters.NewBudget(adapters.Amount{Calls: budget.Calls, Tokens: budget.Tokens, Micro: int64(budget.Cost.Micro)})
		g.spentBefore(before.now().Spent)
	}
	if budget.Tokens > 0 || budget.Cost.Micro > 0 || e.Limits.TokensPerMinute > 0 {
		var err error
		if g.count, err = newCounter(tokenizerOf(e)); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// tokenizerOf is what counts tokens here: that of the context where it counts tokens, or else a common one.
func tokenizerOf(e *matrix.Experiment) string {
	if name := e.Pipeline.Assemble.Tokenizer; name != "" && name != "words" {
		return name
	}
	return "o200k_base"
}

// meter says what the calls to the backend in a role take.
func (g *ledger) meter(role string, backend *matrix.Backend) *adapters.Meter {
	m := &adapters.Meter{Budget: g.budget, Count: g.count}
	if price := g.experiment.Prices.Of(role); g.experiment.Limits.Budget.Cost.Currency != "" && !backend.Free() {
		m.Cost = func(u adapters.Usage) int64 {
			cost, _ := price.Cost(counts(u)) // known: a budget of money without a complete price was refused
			return int64(cost)
		}
	}
	return m
}

// policy turns the experiment's limits into the policy of one backend, which has a pace and slots of its own.
func (g *ledger) policy(role string, backend *matrix.Backend, redact *adapters.Redactor) adapters.Policy {
	l := g.experiment.Limits
	off := &off{who: role}
	switch backend {
	case g.experiment.Backends.Store:
		off = nil
	case g.experiment.Backends.Pipeline:
		off.who, off.service = "service", true
	}
	g.offs[backend] = off
	return adapters.Policy{
		Name: backend.Adapter, Redact: redact, Retries: l.Retries, Timeout: time.Duration(l.Timeout), Slots: make(chan struct{}, l.Concurrency),
		Meter: g.meter(role, backend), Pace: adapters.NewPace(l.RequestsPerMinute, l.TokensPerMinute),
		OnAttempt: func(ctx context.Context, a adapters.Attempt) error {
			return g.attempt(ctx, role, off, !backend.Free(), a)
		},
		TellEarly: role == matrix.RoleGenerator, // the turns of flow bound their calls
		Gate:      off,
	}
}

func counts(u adapters.Usage) matrix.Counts {
	asked := matrix.Asked{Input: u.Input, CachedInput: u.CachedInput, Output: u.Output, Searches: u.Searches}
	return asked.Counts()
}

// isCall reports whether an operation is a call in the sense of a budget. Reading a store is none.
func isCall(op string) bool {
	switch op {
	case "search", "embed", "rerank", "generate", "ask":
		return true
	}
	return false
}

// attempt counts the tries of a call, and journals them: the intent before each, and the outcome of each that is followed by another, or
// that nobody was sent.
// A call to a backend that is off fails like the one that showed it.
func (g *ledger) attempt(ctx context.Context, role string, off *off, far bool, a adapters.Attempt) error {
	switch {
	case off == nil || !isCall(a.Op):
	case a.Done && !a.Unmade:
		off.saw(a)
	case !a.Done && a.Number == 1:
		if err := off.Refuse(a.Op); err != nil {
			return err
		}
	}
	b, ofCase := ctx.Value(begunKey{}).(*begun)
	if a.Done && !a.Unmade && isCall(a.Op) && ofCase {
		asked := askedBy(role, a)
		b.asked = matrix.AddAsked(b.asked, asked)
		g.spend(b.run.c.ID, asked)
	}
	switch {
	case !ofCase && isCall(a.Op):
		return g.shared.attempt(role, far, a)
	case !ofCase:
		return nil
	case !a.Done:
		if err := b.parent.Err(); err != nil {
			return errors.Join(err, b.part())
		}
		if b.now && a.Number == 1 && (!b.durable || !isCall(a.Op)) {
			break // a further step of the same call
		}
		if err := b.part(); err != nil {
			return err
		}
		b.announce(role)
		intent := results.Intent{CallKey: b.key, Call: b.call, Role: role, Attempt: b.tries, Durable: b.durable, Spent: results.Spent(a.Spent)}
		if err := b.run.recorder.Intent(intent); err != nil {
			return err
		}
	default:
		b.fly(false)
		b.spent.Add(results.Spent(a.Spent))
		b.unmade = a.Unmade
		unsent := a.Err != nil && !a.Billed && b.parent.Err() != nil && a.Kind == adapters.KindCanceled
		if !a.Again && !unsent {
			b.came = b.came || isCall(a.Op) && a.Err == nil
			return nil
		}
		spent := b.spent
		b.spent, b.came = results.Spent{}, false
		return b.run.recorder.Outcome(results.Outcome{
			CallKey: b.key, Attempt: b.tries, Status: matrix.StatusError, Error: b.conceal(callError(a.Err)), LatencyMS: a.Took.Milliseconds(), Durable: b.durable && a.Again, Unmade: a.Unmade, Spent: spent,
		})
	}
	b.fly(b.durable)
	return nil
}

// spentBefore counts what earlier work of the same execution took of the budget.
func (g *ledger) spentBefore(s results.Spent) {
	if g.budget != nil {
		g.budget.Settle(adapters.Amount{}, adapters.Amount(s))
	}
}

func askedBy(role string, a adapters.Attempt) matrix.Asked {
	asked := matrix.Asked{Role: role, Calls: 1, Input: a.Used.Input, CachedInput: a.Used.CachedInput, Output: a.Used.Output}
	if !a.Billed {
		asked.Unpaid = 1
		return asked
	}
	asked.Searches = a.Used.Searches
	if role != matrix.RoleStore && !a.Used.Reported() {
		asked.Untold = 1
	}
	return asked
}

func (g *ledger) spend(id string, asked ...matrix.Asked) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open[id] = matrix.AddAsked(g.open[id], asked...)
}

// finished leaves the calls of a case to its own observations.
func (g *ledger) finished(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, id)
}

// unfinished is what the cases that were not finished have asked for.
func (g *ledger) unfinished() (asked []matrix.Asked) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(g.open)) {
		asked = matrix.AddAsked(asked, g.open[id]...)
	}
	return asked
}

// sparing says why nothing is bought that the matrix can do without, "" where it may be.
func (g *ledger) sparing() string {
	if g.budget.Left() < sparedPart {
		return matrix.NotRunSparing
	}
	return ""
}

const sparedPart = 0.25

// overBudget is the error of the run where a call was not made because of the budget, nil where that is not so. It names the
// setting and what was spent.
func (g *ledger) overBudget(err error) error {
	var over *adapters.BudgetError
	if !errors.As(err, &over) {
		return nil
	}
	budget := g.experiment.Limits.Budget
	switch over.Limit {
	case "calls":
		doubts := ""
		if g.doubts > 0 {
			doubts = fmt.Sprintf(", %d of them in doubt", g.doubts)
		}
		return fmt.Errorf("limits.budget.calls is %d, and %d were made%s: %w", over.Most, over.Spent, doubts, ErrBudget)
	case "tokens":
		return fmt.Errorf("limits.budget.tokens is %d: %d are spent%s, and the next call may take %d: %w", over.Most, over.Spent, g.doubtful(), over.Asked, ErrBudget)
	}
	amount := func(n int64) matrix.Money {
		return matrix.Money{Micro: matrix.Micro(n), Currency: budget.Cost.Currency}
	}
	return fmt.Errorf("limits.budget.cost is %s: %s are spent%s, and the next call may cost %s: %w", budget.Cost, amount(over.Spent), g.doubtful(), amount(over.Asked), ErrBudget)
}

// doubtful says of what is spent how many calls in doubt it counts.
func (g *ledger) doubtful() string {
	if g.doubts == 0 {
		return ""
	}
	return fmt.Sprintf(" with the most that %d in doubt may have taken", g.doubts)
}
