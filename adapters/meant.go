package adapters

import "jjm/internal/formats/nearest"

// Meant returns a suggestion that follows an error about an unknown word, such as " (did
// you mean queue?)"; "" if no known word is near.
func Meant(word string, known []string) string {
	if near := nearest.Of(word, known); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}
