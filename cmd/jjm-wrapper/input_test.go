package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func TestInput_TheApplicationFindsWhatItIsToRead(t *testing.T) {
	s := newSite(t, `echo "$JJM_FIRST_EVENT $JJM_EVENTS $JJM_LUMIS"; cat "$JJM_INPUT_FILES"`)
	in := &jjm.PartInput{Files: []string{"/data/a b", "root://x//c"},
		Mask: jjm.Mask{Events: jjm.Span{First: 51, Count: 20}},
		Lumis: []jjm.FileLumis{{LumiRange: jjm.LumiRange{Run: 1, First: 2, Last: 3}},
			{File: 1, LumiRange: jjm.LumiRange{Run: 1, First: 4, Last: 4}}},
		Place: &jjm.Place{Storages: []string{"here"}}}
	s.as[0].Part = jjm.Part{Unit: jjm.UnitLumi, Count: 3, Serial: 8, Input: in}
	s.run(exitOK)
	if got, want := s.file("stdout"), "51 20 1:2-4\n/data/a b\nroot://x//c\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var read struct {
		Unit   string `json:"unit"`
		Serial int64  `json:"serial"`
		jjm.PartInput
	}
	if err := json.Unmarshal([]byte(s.file("input.json")), &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*in, read.PartInput); diff != "" || read.Unit != jjm.UnitLumi || read.Serial != 8 {
		t.Errorf("%s %d\n%s", read.Unit, read.Serial, diff)
	}
}

func TestInput_WholeFilesHaveNoEnd(t *testing.T) {
	s := newSite(t, `echo "$JJM_FIRST_EVENT $JJM_EVENTS ${JJM_LUMIS-none}"; wc -l <"$JJM_INPUT_FILES"`)
	s.as[0].Part = jjm.Part{Unit: jjm.UnitFile, Count: 2, Serial: 1, Input: &jjm.PartInput{Files: []string{"a", "b"}}}
	s.run(exitOK)
	if got := s.file("stdout"); got != "0 -1 none\n2\n" {
		t.Errorf("%q", got)
	}
}

// The names of parent files are in a separate list, if there are any.
func TestInput_ParentsAreListed(t *testing.T) {
	s := newSite(t, `cat "$JJM_INPUT_FILES" "$JJM_PARENT_FILES"`)
	s.as[0].Part = jjm.Part{Unit: jjm.UnitFile, Count: 1, Serial: 1,
		Input: &jjm.PartInput{Files: []string{"a"}, More: &jjm.PartMore{Parents: []string{"p", "/data/q r"}}}}
	s.run(exitOK)
	if got := s.file("stdout"); got != "a\np\n/data/q r\n" {
		t.Errorf("%q", got)
	}
	s = newSite(t, `echo "${JJM_PARENT_FILES-none}"`)
	s.as[0].Part = jjm.Part{Unit: jjm.UnitFile, Count: 1, Serial: 1, Input: &jjm.PartInput{Files: []string{"a"}}}
	s.run(exitOK)
	if got := s.file("stdout"); got != "none\n" {
		t.Errorf("%q", got)
	}
}

// A list of sections that is longer than an environment variable may be does not prevent the start of the job.
func TestInput_ManySectionsDoNotStopTheJob(t *testing.T) {
	s := newSite(t, `echo "${JJM_LUMIS-none}"`)
	in := &jjm.PartInput{Files: []string{"a"}}
	for n := range uint32(30_000) {
		in.Lumis = append(in.Lumis, jjm.FileLumis{LumiRange: jjm.LumiRange{Run: 1, First: 2 * n, Last: 2 * n}})
	}
	s.as[0].Part = jjm.Part{Unit: jjm.UnitLumi, Count: 30_000, Serial: 1, Input: in}
	s.run(exitOK)
	if got := s.file("stdout"); got != "none\n" {
		t.Errorf("%.60q", got)
	}
	if !strings.Contains(s.file("input.json"), `"first":59998`) {
		t.Error("input.json lacks sections")
	}
}

func TestProcessed_WhatTheApplicationSaysIsInTheResult(t *testing.T) {
	s := newSite(t, `$GBS_LOG INFO processed=100 events; $GBS_LOG INFO processed=250 events`)
	s.run(exitOK)
	if diff := cmp.Diff(&jjm.Processed{Count: 250, Unit: "events"}, s.result().Processed); diff != "" {
		t.Error(diff)
	}
	s = newSite(t, `$GBS_LOG INFO processed it all`)
	s.run(exitOK)
	if p := s.result().Processed; p != nil {
		t.Errorf("%+v", p)
	}
}
