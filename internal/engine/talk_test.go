package engine_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing/synctest"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// mc returns the job file of a Monte-Carlo grid job of n local jobs of ten events each, with more lines of TOML at its
// top. The application reports its end in a log file (GLF).
func mc(n int, more ...string) string {
	return fmt.Sprintf(
		"type = \"montecarlo\"\nname = \"mc\"\n%s\n[params]\ncommand = [\"run\", \"{first_event}\", \"{events}\"]\nevents = %d\nevents_per_job = 10\n",
		strings.Join(more, "\n"), 10*n)
}

// plain returns the job file of a script grid job of n local jobs. The script reports its end by its exit code.
func plain(n int, more ...string) string {
	return fmt.Sprintf(
		"type = \"script\"\nname = \"plain\"\n%s\n[params]\ncommand = [\"run\", \"{serial}\"]\ncount = %d\n",
		strings.Join(more, "\n"), n)
}

// submit submits a job file that must be accepted.
func (w *world) submit(c wire.Caller, text string) jjm.GridID {
	w.t.Helper()
	s, err := w.engine.Submit(context.Background(), c, wire.Submit{Name: "job.toml", Text: text, BaseDir: w.dir})
	w.must(err)
	return s.ID
}

// lookup returns the status that a gatekeeper sees of a grid job.
func (w *world) lookup(id jjm.GridID) wire.Lookup {
	w.t.Helper()
	l := w.engine.Lookup(context.Background(), admin, []jjm.GridID{id})[0]
	if l.Error != nil && l.Error.Kind == jjm.Denied {
		l = w.engine.Lookup(context.Background(), bob, []jjm.GridID{id})[0]
	}
	if l.Error != nil {
		w.t.Fatalf("lookup %s: %s", id, l.Error.Text)
	}
	return l
}

// kill kills jobs as alice: "12", "12.3" or "12.3-7".
func (w *world) kill(ref string) wire.Killed {
	w.t.Helper()
	r, err := jjm.ParseRef(ref)
	w.must(err)
	return w.engine.Kill(context.Background(), alice, []jjm.Ref{r}, wire.KillHow{})[0]
}

// locals returns the local jobs of a grid job, live or archived.
func (w *world) locals(id jjm.GridID) []jjm.LocalJob {
	w.t.Helper()
	s, err := w.engine.Status(context.Background(), wire.Caller{Admin: true},
		[]jjm.Ref{{Grid: id, Locals: true, Last: -1}})
	w.must(err)
	w.must(s[0].Lookup.Error.Err())
	w.why(id) // fails the test unless each unfinished local job has exactly one cause
	return s[0].Locals
}

// until lets time pass until cond returns true, in steps of a second at first and longer steps later.
func (w *world) until(limit time.Duration, what string, cond func() bool) {
	w.t.Helper()
	for start := time.Now(); ; {
		synctest.Wait()
		if cond() {
			return
		}
		gone := time.Since(start)
		if gone >= limit {
			w.t.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(max(time.Second, gone/20))
	}
}

// pass lets a time pass on the bubble's clock.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// final lets time pass until the grid jobs are over and archived.
func (w *world) final(limit time.Duration, ids ...jjm.GridID) {
	w.t.Helper()
	over := false
	for start := time.Now(); ; {
		synctest.Wait()
		over = over || w.allFinal(ids)
		if over && w.archived(ids...) {
			return
		}
		gone := time.Since(start)
		if gone >= limit {
			for _, id := range ids {
				w.t.Log(w.describe(id))
			}
			w.t.Fatalf("not over within %v", limit)
		}
		time.Sleep(max(time.Second, gone/20))
	}
}

func (w *world) allFinal(ids []jjm.GridID) bool {
	for _, id := range ids {
		var s jjm.GridStatus
		if s.UnmarshalText([]byte(w.lookup(id).Status)) != nil || !s.Final() {
			return false
		}
	}
	return true
}

// archived reports whether none of the grid jobs is live any longer.
func (w *world) archived(ids ...jjm.GridID) bool {
	w.t.Helper()
	live, err := w.store.Live(context.Background())
	w.must(err)
	for _, g := range live.Grids {
		for _, id := range ids {
			if g.ID == id {
				return false
			}
		}
	}
	return true
}

// describe returns the status and the end of the log of a grid job, for the message of a failed test.
func (w *world) describe(id jjm.GridID) string {
	l := w.lookup(id)
	s := fmt.Sprintf("grid job %s: %s, GRAM %d, %+v %s", id, l.Status, l.GRAM, l.Counts, l.Message)
	lines, err := w.engine.Log(context.Background(), wire.Caller{Admin: true}, id)
	if err != nil {
		return s + ": " + err.Error()
	}
	return s + "\n" + strings.Join(lines[max(0, len(lines)-60):], "\n")
}

// tarBytes reads the output tar of a grid job.
func (w *world) tarBytes(id jjm.GridID) []byte {
	w.t.Helper()
	r, n, _, err := w.engine.Output(context.Background(), wire.Caller{Admin: true}, all(id), wire.Wanted{})
	w.must(err)
	defer r.Close()
	b, err := io.ReadAll(r)
	w.must(err)
	if int64(len(b)) != n {
		w.t.Errorf("tar of %d bytes was announced with %d", len(b), n)
	}
	return b
}

// engineConfig and callerOf are short names for often used types.
type (
	engineConfig = engine.Config
	callerOf     = wire.Caller
)

// beat makes the wrappers of a grid job's current attempts send heartbeats until stop is
// called.
func (w *world) beat(id jjm.GridID) (stop func()) {
	w.t.Helper()
	var files []string
	for _, l := range w.locals(id) {
		file := filepath.Join(w.area(owner(alice)).Root(), sandbox.AttemptDir(l.AttemptID()), sandbox.HeartbeatName)
		w.must(os.WriteFile(file, nil, 0o600))
		files = append(files, file)
	}
	ctx, stop := context.WithCancel(w.t.Context())
	go func() {
		for ctx.Err() == nil {
			for _, file := range files {
				os.Chtimes(file, time.Now(), time.Now())
			}
			wait(ctx, 30*time.Second)
		}
	}()
	return stop
}
