package runner

import (
	"cmp"
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/culprit-rag/culprit/crash"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// flow lets cases begin as the generator takes their calls, and no faster: a case in hand keeps its texts and trials in memory.
// What it counts are generations, since cases differ in how many they need. It is safe for concurrent use.
type flow struct {
	most int           // generations at once
	turn chan struct{} // held by each generation until its answer comes
	next chan struct{} // held by the case whose generations get the next turns

	mu        sync.Mutex
	entered   map[*matrix.Plan]int // generations of the cases that are still at their searches
	searching int                  // all of these
	asking    int                  // generations that wait for their turn or are under way
	writing   int                  // cases that are judged and written
	room      chan struct{}        // holds a token where one of these has gone down
}

// newFlow gives half as many turns again as may be under way at once: while a call has its slot, another waits for the disk to have its
// intent, which may take as long as half an answer. More would be asked of a backend that has just refused one.
func newFlow(most int) *flow {
	return &flow{most: most, turn: make(chan struct{}, most+most/2), next: make(chan struct{}, 1), room: make(chan struct{}, 1), entered: map[*matrix.Plan]int{}}
}

// The generator must not wait for a case: some are at their searches, which may take longer than its answers, while it works on
// others. A disk writes for a few as fast as for one.
const (
	ahead   = 3
	writers = 16
)

// enter waits until the case of a plan may begin, or drain is closed. It is for one goroutine, which begins them all.
func (f *flow) enter(ctx context.Context, drain <-chan struct{}, plan *matrix.Plan) error {
	for {
		f.mu.Lock()
		if f.searching+f.asking < ahead*f.most && f.writing < writers {
			f.entered[plan] = firstRound(plan)
			f.searching += f.entered[plan]
			f.mu.Unlock()
			return nil
		}
		f.mu.Unlock()
		select {
		case <-f.room:
		case <-drain:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ask ends the searches of a case and makes its generations side by side, in turn with those of other cases. Each calls came when it has its answer, which is then still to be saved. The error is the first one, which ends the others.
func (f *flow) ask(ctx context.Context, plan *matrix.Plan, generations int, generate func(ctx context.Context, n int, came func()) error) error {
	f.change(func() {
		f.searching, f.asking = f.searching-f.entered[plan], f.asking+generations
		delete(f.entered, plan)
	})
	if err := take(ctx, f.next); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	var err error
	for i := range generations {
		if err = take(ctx, f.turn); err != nil {
			break
		}
		group.Go(crash.Guard(func() error {
			came := sync.OnceFunc(func() {
				<-f.turn
				f.change(func() { f.asking-- })
			})
			defer came()
			return generate(ctx, i, came)
		}))
	}
	<-f.next
	return cmp.Or(group.Wait(), err)
}

// firstRound is how many generations a case asks for before anything is known.
func firstRound(plan *matrix.Plan) int {
	n := 0
	for _, want := range verdict.First(plan) {
		n += want.Reps
	}
	return n
}

func take(ctx context.Context, turn chan<- struct{}) error {
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *flow) write() { f.change(func() { f.writing++ }) }

func (f *flow) written() { f.change(func() { f.writing-- }) }

func (f *flow) change(by func()) {
	f.mu.Lock()
	by()
	f.mu.Unlock()
	select {
	case f.room <- struct{}{}:
	default:
	}
}
