package main

import (
	"fmt"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// gridLines returns the lines about one grid job: the error if there is one, else no-change or what the command did,
// and the lines below.
func gridLines(id jjm.GridID, e *wire.Error, noChange bool, did string, below ...string) string {
	if e != nil {
		return fmt.Sprintf("%s error %s %s\n", id, e.Kind, plain.Printable(e.Text))
	}
	if noChange {
		did = "no-change"
	}
	return fmt.Sprintf("%s %s\n", id, did) + strings.Join(below, "")
}

// noteLines returns a line for each note.
func noteLines(notes []string) (text string) {
	for _, note := range notes {
		text += "  " + plain.Printable(note) + "\n"
	}
	return text
}
