package remote

import (
	"context"
	"errors"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// A mapping without an end, or without a bound, is an error of its own: it is not tried again, and the process lives.
func TestMappingBounds(t *testing.T) {
	for _, tt := range []struct {
		name, expression string
		time             time.Duration
		want             error
	}{
		{"a text that doubles", `reduce range(40) as $i ("aaaaaaaaaaaaaaaa"; . + .)`, time.Minute, errMappingHeap},
		{"a recursion", `def f: [f]; f`, time.Minute, errMappingHeap},
		{"no end", `def f: f; f`, 50 * time.Millisecond, errMappingTime},
		{"a list that is short in memory", `reduce range(60) as $i ([1]; [., .])`, time.Minute, errMappingSize},
		{"an object that is", `reduce range(60) as $i ({a: 1}; {a: ., b: .})`, time.Minute, errMappingSize},
		{"a list too deep to be read", `reduce range(20000) as $i ([]; [.])`, time.Minute, errMappingSize},
		{"garbage, and little alive", `reduce range(300) as $i (""; ("a" * 1000000)) | {answer: .[:1]}`, time.Minute, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := compile("response", tt.expression)
			if err != nil {
				t.Fatal(err)
			}
			p.time, p.heap, p.size = tt.time, 32<<20, 1<<20
			expired, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
			defer cancel() // what was bought is mapped all the same
			before := taken()
			for range 3 { // what one leaves is no room for the next
				if _, err := p.run(expired, []byte(`{}`)); !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), "map.response") {
					t.Errorf("got %v, want %v", err, tt.want)
				}
			}
			if grown := taken() - before; grown > 512<<20 {
				t.Errorf("the process grew by %d MB", grown>>20)
			}
			p.time = time.Minute
			if errors.Is(tt.want, errMappingHeap) || errors.Is(tt.want, errMappingTime) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := p.run(ctx, []byte(`{}`)); !errors.Is(err, context.Canceled) {
					t.Errorf("given up, and got %v", err)
				}
			}
		})
	}
}

// taken returns how much memory the process ever took of the system.
func taken() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func TestMappingFaultIsNotRetried(t *testing.T) {
	t.Parallel()
	p := open(t, says(200, `{"answer":"x"}`), `, "map": {"response": "def f: f; f"}`).(*pipeline)
	p.response.time = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
	defer cancel()
	if _, err := p.Ask(ctx, question); adapters.KindOf(err) != adapters.KindInvalid || !strings.Contains(err.Error(), "map.response: it does not end in 50ms") {
		t.Errorf("got %v", err)
	}
}
