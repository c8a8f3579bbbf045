package adapters

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter is the longest wait that [ParseRetryAfter] returns: longer than [NoWait], so that a limit of the day shows as one. What a
// call really waits is clamped further by [Policy.MaxWait].
const MaxRetryAfter = 24 * time.Hour

// httpDates are the forms that HTTP allows for a date (RFC 9110, section 5.6.7), as net/http reads them; that package is
// not worth its size for three layouts.
var httpDates = []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC}

// ParseRetryAfter returns the wait that a Retry-After header asks for: whole seconds, or an HTTP date. Date is the reply's
// own Date header, zero where it has none; a wait until a date is then counted from it, so that a skewed clock on either
// side does not matter, and from now otherwise. What is past, negative or makes no sense is 0, which means "not told".
func ParseRetryAfter(value string, now, date time.Time) time.Duration {
	value = strings.Trim(value, " \t")
	if digits(value) {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(math.MaxInt64/time.Second) { // digits only: it can only be too large
			return MaxRetryAfter
		}
		return min(time.Duration(seconds)*time.Second, MaxRetryAfter)
	}
	if date.IsZero() {
		date = now
	}
	for _, layout := range httpDates {
		if at, err := time.Parse(layout, value); err == nil {
			return max(0, min(at.Sub(date), MaxRetryAfter))
		}
	}
	return 0
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
