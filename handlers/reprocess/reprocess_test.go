package reprocess

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/testkit/handlertest"
	"jjm/internal/work/split"
)

// spec returns a job over n files of 100 events and 5 sections, cut by a splitter.
func spec(n int, by string, settings map[string]any, words ...string) *jjm.Spec {
	d := jjm.DatasetInput{Name: "raw"}
	for i := range n {
		d.Files = append(d.Files, jjm.Listed{File: jjm.File{LFN: fmt.Sprintf("/data/%d", i), Size: 1000, Events: 100,
			FirstEvent: int64(100*i) + 1, Locations: []string{"here"},
			Lumis: []jjm.LumiRange{{Run: uint32(1 + i/2), First: uint32(5 * (i % 2)), Last: uint32(5*(i%2) + 4)}}}})
	}
	s := &jjm.Spec{Type: "reprocess", Datasets: []jjm.DatasetInput{d},
		Params: map[string]any{"command": append([]string{"reco"}, words...)}}
	if by != "" {
		s.Split = &jjm.Splitting{By: by, Params: settings}
	}
	return s
}

func TestConformance(t *testing.T) {
	handlertest.Run(t, New(), handlers.Site{},
		handlertest.Good{Spec: spec(7, "", nil), Parts: 7},
		handlertest.Good{
			Spec:  spec(7, "FileBased", map[string]any{"files_per_job": 3}, "--in", "{files}", "--seed", "{seed}"),
			Parts: 3},
		handlertest.Good{
			Spec: spec(7, "EventBased", map[string]any{"events_per_job": 30}, "{file}", "{first_event}",
				"{events}", "{last_event}"),
			Parts: 28},
		handlertest.Good{Spec: spec(7, "LumiBased", map[string]any{"lumis_per_job": 4}, "{lumis}", "{files}"),
			Parts: 11},
		handlertest.Good{Spec: spec(7, "EventAwareLumiBased", map[string]any{"events_per_job": 50}), Parts: 18},
		handlertest.Good{
			Spec: spec(7, "JEDI", map[string]any{"records": map[string]any{"events_per_job": 70, "real_events": true}},
				"{first_event}", "{events}"), Parts: 10},
	)
}

// commands returns the command lines of all parts.
func commands(t *testing.T, s *jjm.Spec) (lines []string) {
	t.Helper()
	c, err := New().Split(s, handlers.Site{})
	if err != nil {
		t.Fatal(err)
	}
	work, _ := handlers.Inline(s)
	sp, err := split.Get(c.Splitter)
	if err != nil {
		t.Fatal(err)
	}
	parts, _, _, err := sp.Cut(work, split.Limits{}, c.Params, split.Carry{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range parts {
		cmd, err := New().Command(s, &jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: int32(i)}, Part: parts[i]})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Join(cmd.Argv, " "))
	}
	return lines
}

func TestCommand_TellsThePart(t *testing.T) {
	for _, c := range []struct {
		name string
		spec *jjm.Spec
		want []string
	}{
		{"one file each unless told otherwise, and appended", spec(2, "", nil), []string{"reco /data/0", "reco /data/1"}},
		{"several files", spec(3, "FileBased", map[string]any{"files_per_job": 2}, "{serial}", "{files}", "{first_event}",
			"{events}", "{last_event}"),
			[]string{"reco 1 /data/0 /data/1 0 -1 -1", "reco 2 /data/2 0 -1 -1"}},
		{"events", spec(1, "EventBased", map[string]any{"events_per_job": 60}, "{file}", "{first_event}", "{events}",
			"{last_event}"),
			[]string{"reco /data/0 1 60 60", "reco /data/0 61 40 100"}},
		{"sections", spec(3, "LumiBased", map[string]any{"lumis_per_job": 7}, "{lumis}"),
			[]string{"reco 1:0-6", "reco 1:7-9", "reco 2:0-4"}},
	} {
		if diff := cmp.Diff(c.want, commands(t, c.spec)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

func TestCheck_RefusesAbsurdCutsWithTheirNumber(t *testing.T) {
	s := spec(30, "EventBased", map[string]any{"events_per_job": 1})
	problems := New().Check(s, handlers.Site{MaxLocalJobs: 1000})
	if len(problems) != 1 || !strings.Contains(problems[0].Text, "would make 3000 local jobs, and this site allows 1000") {
		t.Error(problems)
	}
	s = spec(30, "FileBased", map[string]any{"files_per_job": -1})
	s.Datasets[0].Open = true // the number of files is not known yet
	if problems := New().Check(s, handlers.Site{}); len(problems) == 0 {
		t.Error("settings that cannot be are accepted of an open dataset")
	}
}
