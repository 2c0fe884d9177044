package store

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// list returns the numbers below n for which in returns true, as a list in SQL.
func list(n int, in func(int) bool) string {
	var words []string
	for i := range n {
		if in(i) {
			words = append(words, fmt.Sprint(i))
		}
	}
	return "(" + strings.Join(words, ", ") + ")"
}

func TestNumbers_AreThoseOfTheWords(t *testing.T) {
	grids := list(jjm.NumGridStatuses, func(i int) bool { return jjm.GridStatus(i).Final() })
	locals := list(jjm.NumStates, func(i int) bool { return jjm.State(i).Final() })
	if overGrids != grids || overLocals != locals {
		t.Errorf("over are grid jobs %s and local jobs %s here, %s and %s in package jjm", overGrids, overLocals, grids,
			locals)
	}
	words := []jjm.FileState{jjm.FileReady, jjm.FilePicked, jjm.FileFinished, jjm.FileFailed, jjm.FileMissing,
		jjm.FileLost, jjm.FileBroken}
	for i, w := range words {
		if int(w) != i {
			t.Errorf("file state %v is %d, and %d in statements", w, int(w), i)
		}
	}
}

// lists matches a list of status numbers in SQL.
var lists = regexp.MustCompile(`status (?:NOT )?IN (\([0-9, ]+\))`)

func TestNumbers_OfTheSchemaAreKnownOnes(t *testing.T) {
	success := list(jjm.NumGridStatuses, func(i int) bool {
		s := jjm.GridStatus(i)
		return s == jjm.Done || s == jjm.Finished
	})
	seen := 0
	for i, text := range (Options{}).schema() {
		for _, m := range lists.FindAllStringSubmatch(text, -1) {
			if seen++; m[1] != overGrids && m[1] != success {
				t.Errorf("step %d: statuses %s: want %s, those that are over, or %s, those with a tar of success", i+1, m[1],
					overGrids, success)
			}
		}
	}
	if seen < 8 {
		t.Errorf("%d lists in the schema", seen)
	}
}
