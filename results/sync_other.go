//go:build !linux

package results

import (
	"errors"
	"os"
)

// syncAll is not known of this system.
func syncAll(*os.File) error { return errors.ErrUnsupported }
