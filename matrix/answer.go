package matrix

// Answer is what a check found. Unknown is a value: never a guess.
type Answer string

// The answers.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)
