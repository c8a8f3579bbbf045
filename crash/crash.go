// Package crash makes an error of a panic, so that work that goes on beside it ends in order and nobody is shown what was worked on.
package crash

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Error is a panic: a mistake of this program. It holds no value that the program worked on.
type Error struct {
	Says  string   // by the runtime, or the type of what the panic was given, which may hold a prompt or a key itself
	Stack []string // the functions that were under way where it happened, the innermost first, each with its file and line
}

func (e *Error) Error() string { return "culprit made a mistake and gave up (a panic): " + e.Says }

// most is how many functions are told.
const most = 24

// Catch makes a panic the error of the function that defers it.
func Catch(err *error) {
	if value := recover(); value != nil {
		*err = errors.Join(newError(value), *err)
	}
}

// Guard returns a function that returns the panic of f as an error. What runs on a goroutine of its own is guarded, for its panic would end
// the process.
func Guard(f func() error) func() error {
	return func() (err error) {
		defer Catch(&err)
		return f()
	}
}

func newError(value any) *Error {
	e := &Error{Says: fmt.Sprintf("a value of the type %T", value)}
	var known runtime.Error
	// Of these the runtime makes the text, of numbers and types. A type of elsewhere may call itself a runtime error as well.
	if err, ok := value.(error); ok && errors.As(err, &known) && strings.HasPrefix(strings.TrimPrefix(fmt.Sprintf("%T", value), "*"), "runtime.") {
		e.Says = known.Error()
	}
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)]) // behind newError and Catch
	for more := true; more && len(e.Stack) < most; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			e.Stack = append(e.Stack, fmt.Sprintf("%s (%s:%d)", f.Function, filepath.Base(f.File), f.Line))
		}
	}
	return e
}
