package jjm_test

import (
	"testing"

	"jjm"
)

func TestLumiText_JoinsWhatFollows(t *testing.T) {
	lumi := func(file int32, run, first, last uint32) jjm.FileLumis {
		return jjm.FileLumis{File: file, LumiRange: jjm.LumiRange{Run: run, First: first, Last: last}}
	}
	in := jjm.PartInput{Lumis: []jjm.FileLumis{lumi(0, 1, 1, 3), lumi(1, 1, 4, 5), lumi(1, 1, 7, 7), lumi(1, 2, 8, 8), lumi(2, 2, 1<<32-1, 1<<32-1), lumi(2, 2, 0, 0)}}
	if got, want := in.LumiText(), "1:1-5,1:7-7,2:8-8,2:4294967295-4294967295,2:0-0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := (&jjm.PartInput{}).LumiText(); got != "" {
		t.Errorf("%q", got)
	}
}
