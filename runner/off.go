package runner

import (
	"errors"
	"sync/atomic"

	"github.com/culprit-rag/culprit/adapters"
)

// keyRefused begins the reason of generations that were not made because the generator did not take the key of one before.
const keyRefused = "the key was refused"

// keyOff remembers that the generator refused the key: every further generation of the run would be refused like it, and some
// providers close an account that goes on asking.
type keyOff struct{ says atomic.Pointer[string] }

// reason says why a generation is not made, "" where it may be.
func (k *keyOff) reason() string {
	if says := k.says.Load(); says != nil {
		return keyRefused + ": " + *says
	}
	return ""
}

// refusedKey looks at a failed generation, and says once that no other follows.
func (s *session) refusedKey(failure error) {
	if !errors.Is(failure, adapters.ErrUnauthorised) {
		return
	}
	if says := failure.Error(); s.keyOff.says.CompareAndSwap(nil, &says) {
		s.warn("the generator refused the key, and no further generation is made: " + says)
	}
}
