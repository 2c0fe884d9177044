package jjm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// LeftOut counts, by reason, the outputs that an attempt left out. It replaces control characters in texts from the
// job, so that each text fits on a line.
func TestResult_CountsWhatWasLeftOut(t *testing.T) {
	r := jjm.Result{Grid: 17, Local: 2, Outputs: []jjm.Output{
		{Name: "work/a", Bytes: 1},
		{Name: "work/b", Absent: "size cap", Left: jjm.LeftSize},
		{Name: "work/c", Absent: "size cap", Left: jjm.LeftSize},
		{Name: "work/d", Absent: "is a directory"},
		{Name: "work/e", Absent: "no", Left: jjm.LeftLink, Optional: true},
		{Name: "...", Absent: "7 more", Left: jjm.LeftTooMany, Files: 7},
		{Name: "work/f\n\x1b", Absent: "forged\n", Left: "evil\n"},
	}, Unmet: []jjm.Unmet{{Pattern: "x*", Why: "none"}, {Pattern: "y", Why: "missing", Required: true},
		{Pattern: "b", Why: "size cap", Left: jjm.LeftSize}, {Pattern: "z and 4 more", Why: "missing", Patterns: 5}}}
	want := jjm.LeftList{
		{What: "output", N: 2, Reason: jjm.LeftSize, Why: "size cap", Such: "17.2 work/b"},
		{What: "output", N: 1, Reason: jjm.LeftLink, Why: "no", Such: "17.2 work/e", Asked: true},
		{What: "output", N: 7, Reason: jjm.LeftTooMany, Why: "7 more", Such: "17.2 ..."},
		{What: "output", N: 1, Reason: jjm.LeftUnreadable, Why: "forged?", Such: "17.2 work/f??"},
		{What: "output", N: 6, Reason: jjm.LeftNotMade, Why: "none", Such: "17.2 x*", Asked: true},
	}
	if diff := cmp.Diff(want, r.LeftOut()); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}
