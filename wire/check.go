package wire

import (
	"strings"
	"unicode"

	"jjm"
)

// Bounds on the texts of a request, in bytes.
const (
	maxWord   = 256
	maxPath   = 4096 // PATH_MAX of Linux, limits.h
	maxReason = 1000
)

// oneLine reports whether a text holds no control characters.
func oneLine(s string) bool { return !strings.ContainsFunc(s, unicode.IsControl) }

// checkRecovery checks the name of a recovery's job file.
func checkRecovery(field, name string) error {
	if len(name) > maxPath || !oneLine(name) || strings.Contains(name, "/") {
		return jjm.Errorf(jjm.Invalid, "%s %.80q: want the name of a file, without folders", field, name)
	}
	return nil
}
