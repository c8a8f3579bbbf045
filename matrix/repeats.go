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
