package demand

import (
	"strings"

	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
)

// Word is one word of a gatekeeper's language: an attribute, an option or a variable. The
// documentation shows the list of each language, and tests check every word in it.
type Word struct {
	// Name is the word as users or the gatekeeper write it.
	Name string
	// Sets names the settings that the word changes, separated by ", ": keys of a job file (docs/JOB-FILES.md), and the
	// constants below. It is Refused if jjm cannot honour the word, and Own if the gatekeeper itself acts on the word.
	Sets string
}

// The settings that a word may change in addition to the keys of a job file.
const (
	// File is the job file itself: the word names a job file.
	File = "the job file"
	// Brought is the list of files that are brought back, with their places.
	Brought = "files brought back"
	// Key is the request key. Equal keys mean the same grid job.
	Key = "key"
	// Credential is the file from which the jobs get a proxy or a token.
	Credential = "the credential"
	// Subject is the identity that the accounting records as the origin of the job.
	Subject = "the subject"
	// Refused marks words that request something jjm cannot do.
	Refused = "refused"
	// Own marks words on which the gatekeeper itself acts.
	Own = ""
)

// Unknown returns the problem of a word that has jjm's prefix but does not exist. It names
// the nearest known word.
func Unknown(field, name, prefix string, words []Word) jjm.Problem {
	var known []string
	for _, w := range words {
		if strings.HasPrefix(w.Name, prefix) {
			known = append(known, w.Name)
		}
	}
	text := name + ": unknown"
	if field == name {
		text = "unknown"
	}
	if near := nearest.Of(name, known); near != "" {
		text += ": did you mean " + near + "?"
	} else {
		text += ": known are " + strings.Join(known, ", ")
	}
	return jjm.Problem{Field: field, Text: text}
}

// Known reports whether a language has the word.
func Known(words []Word, name string) bool {
	for _, w := range words {
		if w.Name == name {
			return true
		}
	}
	return false
}
