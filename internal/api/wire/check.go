package wire

import (
	"strings"
	"unicode"

	"jjm/internal/jjm"
)

// The limits of the texts in a request, in bytes.
const (
	maxWord   = 256
	maxPath   = 4096 // PATH_MAX of Linux, limits.h
	maxReason = 1000
)

// oneLine reports whether a text has no control characters.
func oneLine(s string) bool { return !strings.ContainsFunc(s, unicode.IsControl) }

// checkRecovery checks the name that a client wants for the job file of a recovery: it must be the name of a file,
// without folders.
func checkRecovery(field, name string) error {
	if len(name) > maxPath || !oneLine(name) || strings.Contains(name, "/") {
		return jjm.Errorf(jjm.Invalid, "%s %.80q: want the name of a file, without folders", field, name)
	}
	return nil
}
