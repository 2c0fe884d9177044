package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
)

// doneFolder returns the folder with the results of a local job's bulk.
func (w *world) doneFolder(l jjm.LocalJob) string {
	return filepath.Join(w.area(owner(alice)).Root(), sandbox.BulkDir(l.Tag), "done")
}

// forged returns a result file for a local job's current attempt, after change has changed it.
func forged(l jjm.LocalJob, change func(*jjm.Result)) []byte {
	r := jjm.Result{Version: 1, Tag: l.Tag, Pos: l.Pos, Grid: l.ID.Grid, Local: l.ID.N, Attempt: l.Attempt,
		Started: l.Started, Ended: l.Started + 1000, Claim: jjm.Claim{Holder: jjm.HolderWrapper, Host: "h", Nonce: "n"}}
	change(&r)
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return b
}

// plant writes a file into a folder of results, and sets the folder's time stamp by the bubble's clock.
func (w *world) plant(dir, name string, content []byte) {
	w.t.Helper()
	w.must(os.WriteFile(filepath.Join(dir, name), content, 0o600))
	w.must(os.Chtimes(dir, time.Now(), time.Now()))
}

func TestBadResult_IsIgnoredAndTheBatchSystemDecides(t *testing.T) {
	t.Parallel()
	text := func(s string) func(*world, jjm.LocalJob) {
		return func(w *world, l jjm.LocalJob) { w.plant(w.doneFolder(l), fmt.Sprintf("%d.json", l.Pos), []byte(s)) }
	}
	changed := func(change func(*jjm.Result)) func(*world, jjm.LocalJob) {
		return func(w *world, l jjm.LocalJob) {
			w.plant(w.doneFolder(l), fmt.Sprintf("%d.json", l.Pos), forged(l, change))
		}
	}
	for name, plant := range map[string]func(*world, jjm.LocalJob){
		"garbage":           text("{{{{ not JSON"),
		"empty":             text(""),
		"NUL":               text("\x00\x00\x00\x00"),
		"an array":          text("[1,2,3]"),
		"huge":              text(`{"v":1,"glf":"` + strings.Repeat("x", 2<<20) + `"}`),
		"a bomb":            text(strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000)),
		"a bomb in outputs": text(`{"v":1,"outputs":` + strings.Repeat(`[`, 100_000)),
		"unknown version":   changed(func(r *jjm.Result) { r.Version = 2 }),
		"foreign tag":       changed(func(r *jjm.Result) { r.Tag = "jabcdabcdefghij" }),
		"other position":    changed(func(r *jjm.Result) { r.Pos++ }),
		"negative position": changed(func(r *jjm.Result) { r.Pos = -1 }),
		"other attempt":     changed(func(r *jjm.Result) { r.Attempt++ }),
		"other local job":   changed(func(r *jjm.Result) { r.Local++ }),
		"other grid job":    changed(func(r *jjm.Result) { r.Grid = 99 }),
		"position too large": func(w *world, l jjm.LocalJob) {
			w.plant(w.doneFolder(l), "77.json", forged(l, func(r *jjm.Result) { r.Pos = 77 }))
		},
		"odd names": func(w *world, l jjm.LocalJob) { w.plant(w.doneFolder(l), "00.json", []byte("{}")) },
		"a folder": func(w *world, l jjm.LocalJob) {
			w.must(os.Mkdir(filepath.Join(w.doneFolder(l), fmt.Sprintf("%d.json", l.Pos)), 0o700))
		},
		"a fifo": func(w *world, l jjm.LocalJob) {
			w.must(syscall.Mkfifo(filepath.Join(w.doneFolder(l), fmt.Sprintf("%d.json", l.Pos)), 0o600))
		},
		"a link to elsewhere": func(w *world, l jjm.LocalJob) {
			elsewhere := filepath.Join(w.dir, "result.json")
			w.must(os.WriteFile(elsewhere, forged(l, func(*jjm.Result) {}), 0o600))
			w.must(os.Symlink(elsewhere, filepath.Join(w.doneFolder(l), fmt.Sprintf("%d.json", l.Pos))))
			w.must(os.Chtimes(w.doneFolder(l), time.Now(), time.Now()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play := always(adaptertest.Play{NoResult: true, Exit: 9, Life: 10 * time.Minute})
			inWorld(t, options{play: play}, func(t *testing.T, w *world) {
				id := w.submit(alice, plain(2))
				w.running(id, 2)
				plant(w, w.locals(id)[1])
				w.pass(5 * time.Minute)
				if l := w.locals(id)[1]; l.State != jjm.Running {
					t.Errorf("after the bad result: %s/%s %q", l.State, l.Phase, l.Message)
				}
				w.final(time.Hour, id)
				for _, l := range w.locals(id) {
					if l.State != jjm.Failed || l.Phase != jjm.ByLoss || l.Exit != 9 {
						t.Errorf("%s: %s/%s, exit %d, %q", l.ID, l.State, l.Phase, l.Exit, l.Message)
					}
				}
				if !w.logs.has("a wrapper's result is not usable") {
					t.Error("no line in the log")
				}
				w.verifyQuiet()
			})
		})
	}
}

func TestBadResult_ASoundOneBesideItCounts(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Minute}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(5))
		w.running(id, 5)
		dir := w.doneFolder(w.locals(id)[0])
		for i := range 200 {
			w.plant(dir, fmt.Sprintf("%d.json", 1000+i), []byte("junk"))
		}
		w.final(time.Hour, id)
		w.verify(id, done(5))
		w.verifyQuiet()
	})
}

func TestBadResult_OutputsOutsideTheAttemptStayOutOfTheTar(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour}}, func(t *testing.T, w *world) {
		secret := filepath.Join(w.dir, "secret")
		w.must(os.WriteFile(secret, []byte("TOP SECRET"), 0o600))
		id := w.submit(alice, plain(2))
		w.running(id, 2)
		l := w.locals(id)[0]
		dir := filepath.Join(w.area(owner(alice)).Root(), sandbox.AttemptDir(l.AttemptID()), sandbox.WorkName)
		w.must(os.MkdirAll(dir, 0o700))
		w.must(os.Symlink(secret, filepath.Join(dir, "link")))
		w.plant(w.doneFolder(l), fmt.Sprintf("%d.json", l.Pos), forged(l, func(r *jjm.Result) {
			for _, name := range []string{"../../../../../../secret", secret, "work/link", "work/\x00", ""} {
				r.Outputs = append(r.Outputs, jjm.Output{Name: name, Bytes: 10})
			}
		}))
		w.until(time.Minute, "completed", func() bool { return w.lookup(id).Counts.Completed == 1 })
		w.kill(id.String())
		w.final(time.Hour, id)
		if strings.Contains(string(w.tarBytes(id)), "TOP SECRET") {
			t.Error("the tar holds a file from outside")
		}
	})
}

// An attempt was given up, and its result arrives late, while its bulk is still open. The result must not count.
func TestSuperseded_ResultNeverCounts(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Life: 5 * time.Hour, Exit: int(id.Attempt) * 3,
			Keyword: map[int32]string{0: "SUCCEEDED", 1: "FAILED"}[id.Attempt], Data: "out.dat"}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.running(id, 3)
		old := w.locals(id)[0]
		w.sim.Vanish(w.refs(id, 0)...)
		w.until(2*time.Hour, "the second attempt runs", func() bool {
			l := w.locals(id)[0]
			return l.Attempt == 1 && l.State == jjm.Running
		})
		w.plant(w.doneFolder(old), fmt.Sprintf("%d.json", old.Pos), forged(old, func(r *jjm.Result) {
			r.GLF = "irrelevant"
		}))
		w.pass(10 * time.Minute)
		if l := w.locals(id)[0]; l.State != jjm.Running || l.Attempt != 1 {
			t.Errorf("%s, attempt %d", l.State, l.Attempt)
		}
		w.final(12*time.Hour, id)
		w.verify(id, ends(jjm.Finished, 3, map[int32]jjm.State{0: jjm.Failed, 1: jjm.Completed, 2: jjm.Completed}))
		w.verifyQuiet()
	})
}

func TestRemovedBulkFolder_ItsJobsEndAllTheSame(t *testing.T) {
	t.Parallel()
	noResult := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{NoResult: id.Attempt == 0}
	}
	running := func(w *world, id jjm.GridID) { w.running(id, 2) }
	queued := func(w *world, id jjm.GridID) {
		w.count(id, "submitted", func() int { return w.lookup(id).Counts.Submitted }, 2)
	}
	for name, test := range map[string]struct {
		sim  adaptertest.SimConfig
		when func(w *world, id jjm.GridID)
		kill bool
		want jjm.GridStatus
	}{
		"running":        {sim: adaptertest.SimConfig{Life: time.Hour}, when: running, want: jjm.Done},
		"queued, killed": {sim: adaptertest.SimConfig{Wait: 10 * time.Hour}, when: queued, kill: true, want: jjm.Aborted},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, options{sim: test.sim, play: noResult}, func(t *testing.T, w *world) {
				id := w.submit(alice, mc(2))
				test.when(w, id)
				w.must(os.RemoveAll(filepath.Dir(w.doneFolder(w.locals(id)[0]))))
				if test.kill {
					w.kill(id.String())
				}
				w.final(12*time.Hour, id)
				if got := w.lookup(id).Status; got != test.want.String() {
					t.Errorf("status %s, want %s", got, test.want)
				}
				if test.kill {
					return
				}
				attempts, err := w.store.Attempts(t.Context(), w.locals(id)[0].ID)
				w.must(err)
				if c := attempts[0].Evidence.Claim; c == nil || c.Holder != jjm.HolderWrapper {
					t.Errorf("the first attempt had started, and is judged with the claim %+v", c)
				}
			})
		})
	}
}
