package adapters_test

import (
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 9, 11, 59, 0, 0, time.UTC)
	skewed := now.Add(-10 * time.Minute) // the server's clock is ten minutes late
	for _, tt := range []struct {
		value string
		date  time.Time
		want  time.Duration
	}{
		{"7", time.Time{}, 7 * time.Second},
		{" 7\t", time.Time{}, 7 * time.Second},
		{"0", time.Time{}, 0},
		{"007", time.Time{}, 7 * time.Second},
		{"Wed, 09 Sep 2026 12:00:00 GMT", time.Time{}, time.Minute},
		{"Wednesday, 09-Sep-26 12:00:00 GMT", time.Time{}, time.Minute},
		{"Wed Sep  9 12:00:00 2026", time.Time{}, time.Minute},
		{"Wed, 09 Sep 2026 11:50:00 GMT", skewed, time.Minute},
		{"Wed, 09 Sep 2026 11:50:00 GMT", time.Time{}, 0},
		{"Wed, 09 Sep 2026 11:48:00 GMT", skewed, 0},
		{"Wed, 09 Sep 9999 12:00:00 GMT", time.Time{}, adapters.MaxRetryAfter},
		{"-1", time.Time{}, 0},
		{"+7", time.Time{}, 0},
		{"1e9", time.Time{}, 0},
		{"1.5", time.Time{}, 0},
		{"3601", time.Time{}, adapters.NoWait + time.Second},
		{"86401", time.Time{}, adapters.MaxRetryAfter},
		{"9223372036", time.Time{}, adapters.MaxRetryAfter},
		{"9223372036854775807", time.Time{}, adapters.MaxRetryAfter},
		{"99999999999999999999999999", time.Time{}, adapters.MaxRetryAfter},
		{"", time.Time{}, 0},
		{"soon", time.Time{}, 0},
		{"Wed, 09 Sep 2026 12:00:00 CEST", time.Time{}, 0},
		{"٧", time.Time{}, 0},
	} {
		if got := adapters.ParseRetryAfter(tt.value, now, tt.date); got != tt.want {
			t.Errorf("ParseRetryAfter(%q, date %v) = %v, want %v", tt.value, tt.date, got, tt.want)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, seed := range []string{"7", "-1", "9223372036854775807", "Wed, 09 Sep 2026 12:00:00 GMT", "Wed Sep  9 12:00:00 2026", "\x00"} {
		f.Add(seed, int64(0), int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, value string, now, date int64) {
		if got := adapters.ParseRetryAfter(value, time.Unix(now, 0), time.Unix(date, 0)); got < 0 || got > adapters.MaxRetryAfter {
			t.Errorf("ParseRetryAfter(%q) = %v", value, got)
		}
	})
}
