package runner

import (
	"errors"
	"sync/atomic"

	"github.com/culprit-rag/culprit/adapters"
)

// keyRefused is the reason of generations that were not made because the generator did not take the key of one before.
const keyRefused = "the key was refused"

// keyOff remembers that the generator refused the key: every further generation of the run would be refused like it, and some
// providers close an account that goes on asking.
type keyOff struct{ off atomic.Bool }

func (k *keyOff) seen() bool { return k.off.Load() }

// refusedKey looks at a failed generation, and says once that no other follows.
func (s *session) refusedKey(failure error) {
	if errors.Is(failure, adapters.ErrUnauthorised) && s.keyOff.off.CompareAndSwap(false, true) {
		s.warn("the generator refused the key, and no further generation is made: " + failure.Error())
	}
}
