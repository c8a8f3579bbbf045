package verdict

import (
	"regexp"
	"strings"
)

// Signs in a model's name that it stands for one model and not for whatever its maker calls so next.
var (
	// A date: 2025-04-14, 20250414, 2025-04, or the month and day of a snapshot at the end, as in gpt-4-0613.
	dateInName = regexp.MustCompile(`(?:^|[^0-9])20[0-9]{2}(-?)(?:0[1-9]|1[0-2])(?:$|[^0-9]|-?(?:0[1-9]|[12][0-9]|3[01])(?:$|[^0-9]))`)
	monthDay   = regexp.MustCompile(`[-_@](?:0[1-9]|1[0-2])-?(?:0[1-9]|[12][0-9]|3[01])(?:$|[-_.:@])`)
	yearMonth  = regexp.MustCompile(`[-_@]2[0-9](?:0[1-9]|1[0-2])(?:$|[-_.:@])`) // 2407, as Mistral writes it
	monthOf    = regexp.MustCompile(`[-_@](?:0[1-9]|1[0-2])-20[0-9]{2}(?:$|[-_.:@])`)
	// A revision or a digest behind the name: model@5c38ec7, model-002, model:sha256-…, model@sha256:…
	revisionOf = regexp.MustCompile(`(?i)@[0-9a-z][\w.-]*$|-00[0-9]$|[:@](?:sha256[:-])?[0-9a-f]{12,64}$`)
	// A quantised file: Q4_K_M, IQ2_XS, Q8_0, F16 in its name, which is a file that somebody has.
	quantised = regexp.MustCompile(`(?i)(?:^|[-_.:/])(?:i?q[1-8](?:_[0-9a-z]+)+|b?f16|f32)(?:$|[-_.:/])|\.gguf$`)
)

// Dated reports whether the name of a model holds a date, a revision, a digest or a quantisation, so that it names one model. The
// bare name of a family, and one that ends in "latest", is an alias, under which another model may answer tomorrow.
func Dated(name string) bool {
	name = strings.TrimSpace(name)
	if lower := strings.ToLower(name); strings.HasSuffix(lower, "latest") {
		return false
	}
	for _, sign := range []*regexp.Regexp{dateInName, monthDay, monthOf, yearMonth, revisionOf, quantised} {
		if sign.MatchString(name) {
			return true
		}
	}
	return false
}
