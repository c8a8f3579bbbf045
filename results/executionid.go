package results

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"regexp"
	"time"
)

// ExecutionID names one execution: the second in which it began and six characters of a digest, "20261129T200000Z-k3f9qa".
// Ids of one result folder sort by age.
type ExecutionID string

const stampLayout = "20060102T150405Z"

// crockford leaves out the letters that are mistaken for digits.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

var executionPattern = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-[0-9a-hjkmnp-tv-z]{6}$`)

// newExecutionID makes the id of an execution that began at a moment. The nonce keeps two executions of one second apart.
func newExecutionID(name string, at time.Time, nonce []byte) ExecutionID {
	stamp := at.UTC().Format(stampLayout)
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s%x", len(name), name, stamp, nonce))
	return ExecutionID(stamp + "-" + crockford.EncodeToString(sum[:])[:6])
}

// ParseExecutionID reads an id as String writes it.
func ParseExecutionID(s string) (ExecutionID, error) {
	if !executionPattern.MatchString(s) {
		return "", fmt.Errorf("%q is not an execution id, such as %q", s, "20261129T200000Z-k3f9qa")
	}
	if _, err := time.Parse(stampLayout, s[:len(stampLayout)]); err != nil {
		return "", fmt.Errorf("execution id %q does not begin with a time: %w", s, err)
	}
	return ExecutionID(s), nil
}

// String returns the id as it stands in paths.
func (id ExecutionID) String() string { return string(id) }

// Time returns the second in which the execution began.
func (id ExecutionID) Time() time.Time {
	t, err := time.Parse(stampLayout, string(id[:min(len(id), len(stampLayout))]))
	if err != nil {
		return time.Time{}
	}
	return t
}

// MarshalText refuses to write an id that could not be read again.
func (id ExecutionID) MarshalText() ([]byte, error) {
	if _, err := ParseExecutionID(string(id)); err != nil {
		return nil, err
	}
	return []byte(id), nil
}

// UnmarshalText reads an id.
func (id *ExecutionID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseExecutionID(string(text))
	return err
}
