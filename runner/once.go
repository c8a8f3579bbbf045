package runner

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
)

// once makes identical calls of an execution once, also those that are asked for at the same time. It keeps the answers that were
// made last, up to a size: a call is made again only where more than that came between. It is safe for concurrent use.
type once[V any] struct {
	most int         // bytes kept
	size func(V) int // of one answer

	mu     sync.Mutex // orders who makes a call and who waits for it
	flying map[onceKey]*flight[V]
	kept   map[onceKey]V
	order  []onceKey // of kept, the oldest first
	bytes  int
}

type onceKey [sha256.Size]byte

func keyOf(parts ...any) onceKey { return sha256.Sum256(fmt.Appendf(nil, "%#v", parts)) }

// flight is a call that is under way. Its answer may be read when done is closed.
type flight[V any] struct {
	done  chan struct{}
	value V
	ok    bool
}

func newOnce[V any](most int, size func(V) int) *once[V] {
	return &once[V]{most: most, size: size, flying: map[onceKey]*flight[V]{}, kept: map[onceKey]V{}}
}

// get returns the answer to each key, and which of them were not made for it. It calls ask for those that nobody has asked for
// or is asking for, by their places; an error of ask is the caller's own and nobody else's: who waited for the answer then asks.
func (o *once[V]) get(ctx context.Context, keys []onceKey, ask func(places []int) ([]V, error)) (values []V, reused []bool, err error) {
	values, reused = make([]V, len(keys)), make([]bool, len(keys))
	open := make([]int, len(keys))
	for i := range open {
		open[i] = i
	}
	for len(open) > 0 {
		mine, others := o.claim(keys, open, values, reused)
		if len(mine) > 0 {
			made, err := ask(mine)
			o.land(keys, mine, made, err)
			if err != nil {
				return nil, nil, err
			}
			for i, place := range mine {
				values[place] = made[i]
			}
		}
		open = open[:0]
		for place, f := range others {
			select {
			case <-f.done:
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
			if values[place], reused[place] = f.value, f.ok; !f.ok {
				open = append(open, place)
			}
		}
		slices.Sort(open)
	}
	return values, reused, nil
}

// claim sorts the open places: what is kept is filled in, what is under way is waited for, and the others are the caller's to make.
func (o *once[V]) claim(keys []onceKey, open []int, values []V, reused []bool) (mine []int, others map[int]*flight[V]) {
	o.mu.Lock()
	defer o.mu.Unlock()
	others = map[int]*flight[V]{}
	for _, place := range open {
		key := keys[place]
		if v, ok := o.kept[key]; ok {
			values[place], reused[place] = v, true
		} else if f, ok := o.flying[key]; ok {
			others[place] = f
		} else {
			o.flying[key] = &flight[V]{done: make(chan struct{})}
			mine = append(mine, place)
		}
	}
	return mine, others
}

// land ends the flights of the places, and keeps the answers.
func (o *once[V]) land(keys []onceKey, mine []int, made []V, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, place := range mine {
		f := o.flying[keys[place]]
		delete(o.flying, keys[place])
		if err == nil {
			f.value, f.ok = made[i], true
			o.keep(keys[place], made[i])
		}
		close(f.done)
	}
}

// put keeps an answer that is known from elsewhere.
func (o *once[V]) put(key onceKey, v V) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.kept[key]; !ok {
		o.keep(key, v)
	}
}

func (o *once[V]) keep(key onceKey, v V) {
	o.kept[key] = v
	o.order = append(o.order, key)
	for o.bytes += o.size(v); o.bytes > o.most && len(o.order) > 0; o.order = o.order[1:] {
		o.bytes -= o.size(o.kept[o.order[0]])
		delete(o.kept, o.order[0])
	}
}
