package engine_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
)

// all returns the reference with which the tar of a whole grid job is fetched.
func all(id jjm.GridID) jjm.Ref { return jjm.Ref{Grid: id} }

// fetchFile returns the content of one file of a job, its description, and an error.
func (w *world) fetchFile(caller wire.Caller, ref, file string) (string, wire.Output, error) {
	w.t.Helper()
	parsed, err := jjm.ParseRef(ref)
	w.must(err)
	r, n, out, err := w.engine.Output(context.Background(), caller, parsed, wire.Wanted{File: file})
	if err != nil {
		return "", out, err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if int64(len(text)) != n {
		w.t.Errorf("%s of %s has %d bytes, and %d were told", file, ref, len(text), n)
	}
	return string(text), out, err
}

// A file of a local job that is over can be fetched while other local jobs run, and after the end of the grid job. It
// is named either by its name in the tar, or by the local job and its own name.
func TestCollected_OneFileOfARunningGridJob(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Life: time.Minute + time.Duration(id.N)*time.Hour}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.until(time.Hour, "one completed", func() bool { return w.lookup(id).Counts.Completed == 1 })
		name := func(n int, own string) string { return fmt.Sprintf("mc.%s.%d.%s", id, n, own) }
		first, second := id.String()+".0", id.String()+".1"
		for range 2 {
			for _, c := range []struct{ ref, file string }{{id.String(), name(0, "out.dat")}, {first, "out.dat"},
				{first, "work/out.dat"}, {first, name(0, "out.dat")}} {
				text, out, err := w.fetchFile(alice, c.ref, c.file)
				if err != nil || text != "events of "+first+"\n" || out.Name != name(0, "out.dat") || len(out.SHA256) != 64 {
					t.Errorf("%s of %s: %q as %+v, error %v", c.file, c.ref, text, out, err)
				}
			}
			if text, _, err := w.fetchFile(admin, first, "stdout"); err != nil || !strings.Contains(text, "output of "+first) {
				t.Errorf("stdout: %q, error %v", text, err)
			}
			if _, _, err := w.fetchFile(bob, first, "out.dat"); jjm.KindOf(err) != jjm.Denied {
				t.Errorf("another's: %v", err)
			}
			for file, want := range map[string]string{"none": "left no \"none\": it left stdout, ",
				"../../job.json": "left no"} {
				if _, _, err := w.fetchFile(alice, first, file); jjm.KindOf(err) != jjm.Gone ||
					!strings.Contains(err.Error(), want) {
					t.Errorf("%s: error %v, want %q", file, err, want)
				}
			}
			for _, file := range []string{"out.dat", "x.1.0.out.dat", name(7, "out.dat")} {
				if _, _, err := w.fetchFile(alice, id.String(), file); jjm.KindOf(err) != jjm.Gone {
					t.Errorf("%s of the grid job: error %v", file, err)
				}
			}
			if _, _, err := w.fetchFile(alice, second, "out.dat"); w.lookup(id).Status == "running" &&
				(jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(), "is running: its files can be fetched")) {
				t.Errorf("of the second, which runs: %v", err)
			}
			w.final(3*time.Hour, id)
		}
	})
}

// A fetch of a missing or changed file is an error that says so. Retracted files, and files that were merged, can no
// longer be fetched.
func TestCollected_WhatIsNotAsItWas(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("", "name = \"raw\"\n"+inline(6)))
		w.final(time.Hour, id)
		made := func(n int32) string {
			at := sandbox.AttemptDir(jjm.AttemptID{LocalID: jjm.LocalID{Grid: id, N: n}})
			return filepath.Join(w.dir, "work", "alice", at, "work", "out.dat")
		}
		w.must(os.Remove(made(0)))
		w.must(os.WriteFile(made(1), []byte("longer than it was, by far\n"), 0o600))
		_, err := w.retract(alice, id, false, "", output(id, 2))
		w.must(err)
		for n, want := range []string{"is not there any more: jjm output", "and 14 were collected", "left no"} {
			_, _, err := w.fetchFile(alice, fmt.Sprintf("%s.%d", id, n), "out.dat")
			if jjm.KindOf(err) != jjm.Gone || !strings.Contains(err.Error(), want) {
				t.Errorf("%d: error %v, want %q", n, err, want)
			}
		}
		merged := w.submit(alice, fileJob("", "name = \"more\"\n"+inline(4)+mergeTwo))
		w.final(time.Hour, merged)
		if _, _, err := w.fetchFile(alice, merged.String()+".0", "out.dat"); jjm.KindOf(err) != jjm.Gone {
			t.Errorf("what was merged: %v", err)
		}
		if _, _, err := w.fetchFile(alice, merged.String(), output(merged, 2)); err != nil {
			t.Errorf("the merged file: %v", err)
		}
	})
}
