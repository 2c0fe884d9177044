package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/work/stream"
	"jjm/sandbox"
)

// newAttempt returns an attempt in whose folder work/ contains files with these names.
func newAttempt(t *testing.T, names ...string) *attempt {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, sandbox.WorkName), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, sandbox.WorkName, name), []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return &attempt{dir: dir, root: root, log: &logFile{root: root}}
}

// Opening a file hangs until the time for outputs is over. This file and all later files are left out. The earlier
// files are collected.
func TestGather_DoesNotWaitForAFileSystemThatHangs(t *testing.T) {
	a := newAttempt(t, "a", "b", "c")
	a.job.Required = []string{"c"}
	a.job.Outputs = []string{"*"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	names, asked := a.findOutputs(ctx, glf.Log{})
	c := a.newCollector()
	hangs := make(chan struct{})
	ended := make(chan struct{})
	c.open = func(w wanted) (*os.File, error) {
		if w.name == "work/b" {
			cancel()
			<-hangs
			close(ended)
		}
		return a.openWanted(w)
	}
	inOrder := []wanted{names[1], names[2], names[0]} // a, b, c: the required file comes first
	files, outputs := a.gather(ctx, c, 0, inOrder)
	defer func() {
		close(hangs)
		await.Closed(t, "the end of the open", ended)
	}()
	want := []string{"work/a 5", "work/b: " + overdue, "work/c: " + overdue}
	if diff := cmp.Diff(want, summary(outputs)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	r := jjm.Result{Outputs: outputs, Unmet: unmet(asked, files, outputs)}
	if left := r.LeftOut(); len(left) != 1 || left[0].N != 2 || left[0].Reason != jjm.LeftTime || left[0].Asked {
		t.Errorf("left out: %s", left)
	}
	wantUnmet := []jjm.Unmet{{Pattern: "c", Why: overdue, Required: true, Left: jjm.LeftTime}}
	if diff := cmp.Diff(wantUnmet, r.Unmet); diff != "" {
		t.Errorf("patterns without outputs (-want +got):\n%s", diff)
	}
}

// If the log cannot be packed in time, it is left out in the same way as other outputs.
func TestGather_TellsOfTheLog(t *testing.T) {
	a := newAttempt(t)
	a.assign.Log = true
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	names, outputs := a.gather(ctx, a.newCollector(), await.Guard(time.Minute), nil)
	if len(names) != 1 || len(outputs) != 1 || names[0].name != stream.LogName || outputs[0].Name != stream.LogName {
		t.Errorf("names %+v, outputs %+v", names, outputs)
	}
}

// If the search for outputs hangs, each pattern and each name in the log is reported as left out.
func TestOutputs_NoneIsLookedForWhereTheSearchHangs(t *testing.T) {
	a := newAttempt(t, "a", "b", "c")
	a.job.Required, a.job.Outputs, a.job.Optional = []string{"a"}, []string{"*.root"}, []string{"b*"}
	l := &lister{a: a, blind: true, seen: map[string]bool{}}
	names, asked := l.outputNames(glf.Log{Returns: []string{"/far/x"}})
	names, outputs := a.gather(t.Context(), a.newCollector(), 0, names)
	want := []string{"work/a: " + overdue, "work/*.root: " + overdue, "/far/x: " + overdue, "work/b*: " + overdue}
	if diff := cmp.Diff(want, summary(outputs)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	for i, o := range outputs {
		if o.Left != jjm.LeftTime || o.Optional != (i == 3) {
			t.Errorf("output %+v", o)
		}
	}
	if got := unmet(asked, names, outputs); len(got) != 3 || !got[0].Required || got[0].Left != jjm.LeftTime {
		t.Errorf("patterns without outputs: %+v", got)
	}
}
