package matrix

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Repeats is how often a cell is generated: a number that is fixed in advance, or [Auto].
type Repeats int

// Auto repeats each cell until what it shows has the stated error rate, and at the most Runs.MaxRepeats times.
const Auto Repeats = 0

const autoText = "auto"

// FewestRepeats is how often a cell with [Auto] is generated before anything is decided.
const FewestRepeats = 3

// A cell is reliable where its rate of passes is shown to be above FailingRate, and failing where it is shown to be below ReliableRate.
const (
	ReliableRate = 0.8
	FailingRate  = 0.5
)

// RepeatsToPass is how many repetitions show that a cell is reliable where all of them pass; fewer cannot, whatever they give.
func (r Runs) RepeatsToPass() int {
	const slack = 1e-9 // no last bit of a float decides
	each := 1 / FailingRate
	if r.Repeats == Auto { // looked at again and again: held against a rate, and not against the worst case
		each = ReliableRate / FailingRate
	}
	n := 1
	for odds := each; odds < (1-slack)/r.ErrorRate(); odds *= each {
		n++
	}
	return n
}

// Usual is how often a cell is expected to be generated: with [Auto] as often as a reliable one takes, and a repair, which only a
// failure asks for, not at all.
func (r Runs) Usual(c PlannedCell) int {
	switch {
	case c.Condition == IfDecides:
		return 0
	case r.Repeats == Auto:
		return min(c.Repeats, r.RepeatsToPass())
	}
	return c.Repeats
}

func (r Repeats) String() string {
	if r == Auto {
		return autoText
	}
	return strconv.Itoa(int(r))
}

// MarshalJSON writes the number, or "auto".
func (r Repeats) MarshalJSON() ([]byte, error) {
	if r == Auto {
		return json.Marshal(autoText)
	}
	return json.Marshal(int(r))
}

// UnmarshalJSON reads a positive number, or "auto".
func (r *Repeats) UnmarshalJSON(data []byte) error {
	if string(data) == `"`+autoText+`"` {
		*r = Auto
		return nil
	}
	n, err := strconv.Atoi(string(data))
	if err != nil || n < 1 {
		return fmt.Errorf("repeats %s is neither a positive number nor %q", data, autoText)
	}
	*r = Repeats(n)
	return nil
}
