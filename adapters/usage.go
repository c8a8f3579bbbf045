package adapters

import (
	"errors"
	"math"
	"net"
)

// Usage is what one try took, as its answer told, or the most that it may take. A count that is nil was not told, which is not
// zero. Searches are what a reranker that is paid by the search counts.
type Usage struct {
	Input       *int64
	CachedInput *int64 // of Input, those that the provider had read before
	Output      *int64
	Searches    int64
}

// Reported reports whether the tokens that went in were told.
func (u Usage) Reported() bool { return u.Input != nil }

// Tokens are all tokens, at most [math.MaxInt64].
func (u Usage) Tokens() int64 { return plus(value(u.Input), value(u.Output)) }

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return max(*n, 0)
}

// plus adds two amounts that are not negative; what is more than an int64 holds is the most that it holds.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// wide is a count as adapters report it.
func wide(n *int) *int64 {
	if n == nil {
		return nil
	}
	out := int64(*n)
	return &out
}

// The most tokens that a text may be are its own count by [Meter.Count] and half of that again, since a model's tokenizer may be
// another, and what a chat template or a separator adds to each text.
const (
	marginPart = 2
	marginEach = 16
)

// WorstInput is the most tokens that so many texts may be, of which a local tokenizer counts so many.
func WorstInput(counted, texts int64) int64 {
	return plus(plus(counted, counted/marginPart), texts*marginEach)
}

func worstInput(count func(string) int, texts ...string) *int64 {
	var sum int64
	for _, t := range texts {
		sum = plus(sum, int64(count(t)))
	}
	worst := WorstInput(sum, int64(len(texts)))
	return &worst
}

// worstGeneration leaves Output out where the request bounds it nowhere.
func worstGeneration(count func(string) int, req *GenerateRequest) Usage {
	texts := make([]string, 0, len(req.Messages)+1)
	for _, m := range req.Messages {
		texts = append(texts, m.Text)
	}
	if req.Format != nil {
		texts = append(texts, string(req.Format.Schema))
	}
	u := Usage{Input: worstInput(count, texts...)}
	if req.MaxTokens > 0 {
		u.Output = wide(&req.MaxTokens)
	}
	return u
}

// Searches is how many searches a reranker counts for so many documents: one for each hundred that is begun.
func Searches(documents int) int64 { return (int64(documents) + 99) / 100 }

// mayBeBilled reports whether a try that ended so may have to be paid for. It cannot where no connection was made, or where the
// backend refused the request.
func mayBeBilled(err error) bool {
	if err == nil {
		return true
	}
	var dial *net.OpError
	var known *Error
	if errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &known) && known.Unsent {
		return false
	}
	switch KindOf(err) {
	case KindRateLimited, KindUnauthorised, KindNotFound, KindInvalid, KindTooLong, KindUnsupported:
		return false
	}
	return !errors.Is(err, ErrClosed)
}
