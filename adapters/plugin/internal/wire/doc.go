// Package wire turns the types of package adapters into those of the plugin protocol and back, for both ends: the host and the
// kit for authors. What is absent stays absent, and an error keeps its kind.
package wire

import (
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Cookie is what the host sets in the environment of a plugin, so that one that is started by hand can say what it is.
const (
	CookieKey   = "CULPRIT_PLUGIN"
	CookieValue = "started-by-culprit"
)

// Version is the version of the protocol that this package speaks.
const Version = 1

// MaxMessage is the size of the largest message that either end takes, in bytes.
const MaxMessage = 256 << 20

// Text returns s as the wire can carry it: what is no UTF-8 is replaced by U+FFFD.
func Text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func duration(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// int32Of keeps a number that the wire cannot carry at the end of what it can.
func int32Of(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

func int64Of(n *int) *int64 {
	if n == nil {
		return nil
	}
	v := int64(*n)
	return &v
}

func intOf(n *int64) *int {
	if n == nil {
		return nil
	}
	v := int(*n)
	return &v
}
