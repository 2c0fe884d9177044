package strict

import (
	"sort"
	"strings"

	"jjm/internal/formats/nearest"
)

// Unknown returns the text for an unknown key. The text names the known key that was probably meant.
func Unknown(key string, known []string) string {
	text := "unknown key " + quote(key)
	if near := nearest.Of(key, known); near != "" {
		return text + `: did you mean "` + near + `"?`
	}
	if len(known) == 0 {
		return text + ": nothing can be set here"
	}
	names := append([]string(nil), known...)
	sort.Strings(names)
	return text + ": known are " + strings.Join(names, ", ")
}
