package embedded

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	ids := [][2]string{{"a", "a"}, {"fee-2026", "fees"}, {"hr/leave.md#1", "hr/leave.md"}, {"hr/leave.md#2", "hr/leave.md"}, {"Über", "Über"}}
	for wrong, want := range map[string]string{
		"A":             ": did you mean \"a\"?",
		"b":             "",
		"fee-2025":      ": did you mean \"fee-2026\"?",
		"fees":          ": did you mean \"fee-2026\"?", // its source
		"hr/leave.md":   ": did you mean \"hr/leave.md#1\"?",
		"leave.md#2":    ": did you mean \"hr/leave.md#2\"?",
		"hr/leave.md#3": ": did you mean \"hr/leave.md#1\"?",
		"uber":          ": did you mean \"Über\"?",
		"ubr":           "",
		"harbour":       "",
	} {
		guess := meant(wrong)
		for _, id := range ids {
			guess.see(id[0], id[1])
		}
		if got := guess.String(); got != want {
			t.Errorf("%q: want %q, got %q", wrong, want, got)
		}
	}
}
