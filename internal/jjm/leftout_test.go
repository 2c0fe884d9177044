package jjm_test

import (
	"testing"

	"jjm/internal/jjm"
)

func TestLeftList_OneEntryForEachReason(t *testing.T) {
	var l jjm.LeftList
	l.Add(jjm.LeftOut{What: "file", N: 1, Reason: jjm.LeftNoSections, Such: "/raw/N", Why: jjm.NoSections})
	l.Add(jjm.LeftOut{What: "file", N: 2, Reason: jjm.LeftNoSections, Such: "/raw/M"})
	l.Add(jjm.LeftOut{What: "section", N: 0, Reason: jjm.LeftMask})
	l.Add(jjm.LeftOut{What: "section", N: 1, Reason: jjm.LeftMask, Asked: true})
	want := "left out: 3 files (no-sections), such as /raw/N: it tells no luminosity sections; left out: 1 section (mask)"
	if l.String() != want {
		t.Errorf("%s\nwant %s", l, want)
	}
	if got := l.Reasons(); got != "mask, no-sections" {
		t.Errorf("reasons %q", got)
	}
	if u := l.Unasked(); len(u) != 1 || u[0].N != 3 {
		t.Errorf("not asked for: %+v", u)
	}
}
