package measure

import "sync"

// mostKept is how many results of one function are kept; a case asks for some dozens.
const mostKept = 1 << 14

// kept holds results that take longer to make than to find, each made of its key alone. One that is full begins anew. It may be used from
// several goroutines at once; its zero value is empty. Results are shared: nobody changes them.
type kept[K comparable, V any] struct {
	mu   sync.RWMutex
	made map[K]V
}

// of returns what is kept for a key, or makes it. Two who ask at the same time may both make it.
func (k *kept[K, V]) of(key K, makes func(K) V) V {
	k.mu.RLock()
	v, ok := k.made[key]
	k.mu.RUnlock()
	if ok {
		return v
	}
	v = makes(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made == nil || len(k.made) >= mostKept {
		k.made = map[K]V{}
	}
	k.made[key] = v
	return v
}
