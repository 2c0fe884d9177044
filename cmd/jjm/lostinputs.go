package main

import (
	"fmt"
	"slices"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// lostRows returns a row for each entry of the lost inputs of a grid job, and rows about how people bring the files
// back and how the work on them is done then. If the grid job is not over, or if another grid job does the work, there
// are only rows about the files.
func lostRows(st *wire.Status) (rows [][2]string) {
	for i := range st.LostInputs {
		rows = append(rows, [2]string{"lost inputs", lostText(&st.LostInputs[i])})
	}
	if len(rows) == 0 || !plain.Final(st.Lookup.Status) || len(st.RecoveredBy) > 0 {
		return rows
	}
	for i := range st.LostInputs {
		rows = append(rows, [2]string{"bring back", backText(&st.LostInputs[i])})
	}
	if slices.ContainsFunc(st.LostInputs, func(l wire.LostInputs) bool { return l.Owned < l.Count }) {
		rows = append(rows, [2]string{"then", fmt.Sprintf("jjm verify %s --recovery missing.json, and jjm submit missing.json",
			st.Lookup.ID)})
	}
	return rows
}

// lostText returns how many files are lost, where they come from, and the names of the first of them.
func lostText(l *wire.LostInputs) string {
	names := make([]string, len(l.First))
	for i, f := range l.First {
		names[i] = f.LFN
	}
	text := fmt.Sprintf("%s of dataset %s", jjm.Count(l.Count, "file"), l.Dataset)
	if l.Maker != 0 {
		text += fmt.Sprintf(", made by grid job %s", l.Maker)
	}
	if text += ": " + strings.Join(names, " "); l.Count > len(names) {
		text += fmt.Sprintf(" and %d more (jjm verify names them)", l.Count-len(names))
	}
	return text
}

// backText returns how people give lost files back: with the command that fetches the first file from the tar of its
// maker, or with the place where it belongs.
func backText(l *wire.LostInputs) string {
	first := l.First[0]
	text := "put " + first.Lies + " back"
	if l.Maker != 0 {
		text = fmt.Sprintf("jjm output %s -o - | tar -xO --wildcards '*/%s' > %s", l.Maker, first.LFN, first.Lies)
	}
	if l.Count > 1 {
		text += ", and so for each of them"
	}
	if l.Owned > 0 && l.Marked {
		text += fmt.Sprintf("; then jjm dataset mark %s %s ready --reason WHY", l.Dataset, first.LFN)
	}
	return text
}

// ownLost reports whether some of the lost files belong to local jobs that can run again.
func ownLost(all []wire.LostInputs) bool {
	return slices.ContainsFunc(all, func(l wire.LostInputs) bool { return l.Owned > 0 })
}
