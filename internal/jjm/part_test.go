package jjm_test

import (
	"slices"
	"testing"

	"jjm/internal/jjm"
)

func TestJoinLumis_SameSectionsFewestRanges(t *testing.T) {
	r := func(run, first, last uint32) jjm.LumiRange { return jjm.LumiRange{Run: run, First: first, Last: last} }
	for _, c := range []struct{ in, want []jjm.LumiRange }{
		{nil, nil},
		{[]jjm.LumiRange{r(1, 2, 1)}, nil},
		{[]jjm.LumiRange{r(2, 1, 1), r(1, 4, 6), r(1, 1, 3), r(1, 8, 9)},
			[]jjm.LumiRange{r(1, 1, 6), r(1, 8, 9), r(2, 1, 1)}},
		{[]jjm.LumiRange{r(1, 1, 9), r(1, 2, 3), r(1, 9, 12)}, []jjm.LumiRange{r(1, 1, 12)}},
		{[]jjm.LumiRange{r(1, 1, ^uint32(0)), r(1, 5, 5)}, []jjm.LumiRange{r(1, 1, ^uint32(0))}},
	} {
		if got := jjm.JoinLumis(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%v makes %v, want %v", c.in, got, c.want)
		}
	}
}

func TestUnitsText_OneFormForOneAndForMany(t *testing.T) {
	for want, p := range map[string]jjm.Part{"row 4": {Unit: jjm.UnitRow, First: 4, Count: 1},
		"events 1-250": {Unit: jjm.UnitEvent, First: 1, Count: 250}, "file 0": {Unit: jjm.UnitFile, Count: 1}} {
		if got := p.Units(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWork_NamesFiles(t *testing.T) {
	reads := func(files ...string) *jjm.PartInput { return &jjm.PartInput{Files: files} }
	for want, p := range map[string]jjm.Part{
		"row 4":                     {Unit: jjm.UnitRow, First: 4, Count: 1},
		"file b":                    {Unit: jjm.UnitFile, First: 9, Count: 1, Input: reads("b")},
		"2 files: a b":              {Unit: jjm.UnitFile, First: 9, Count: 2, Input: reads("a", "b")},
		"5 files: a b c and 2 more": {Unit: jjm.UnitFile, Count: 5, Input: reads("a", "b", "c", "d", "e")},
		"ranges 0-249 of a":         {Unit: jjm.UnitRange, Count: 250, Input: reads("a")},
	} {
		if got := p.Work(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLumiText_JoinsAdjacentSections(t *testing.T) {
	lumi := func(file int32, run, first, last uint32) jjm.FileLumis {
		return jjm.FileLumis{File: file, LumiRange: jjm.LumiRange{Run: run, First: first, Last: last}}
	}
	in := jjm.PartInput{Lumis: []jjm.FileLumis{lumi(0, 1, 1, 3), lumi(1, 1, 4, 5), lumi(1, 1, 7, 7), lumi(1, 2, 8, 8),
		lumi(2, 2, 1<<32-1, 1<<32-1), lumi(2, 2, 0, 0)}}
	if got, want := in.LumiText(), "1:1-5,1:7-7,2:8-8,2:4294967295-4294967295,2:0-0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := (&jjm.PartInput{}).LumiText(); got != "" {
		t.Errorf("%q", got)
	}
}
