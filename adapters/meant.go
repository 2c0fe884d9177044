package adapters

import "jjm/internal/nearest"

// Meant says which known word somebody probably meant, to follow an error about one
// that is not known; "" if none is near.
func Meant(word string, known []string) string {
	if near := nearest.Of(word, known); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}
