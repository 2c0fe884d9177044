package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
	"jjm/xmldb/head"
)

// progress writes the progress of a local job's application, as its wrapper does, with time stamps of the bubble's
// clock.
func (w *world) progress(l jjm.LocalJob, phase string, done, total int64) {
	w.t.Helper()
	ar := w.area(owner(alice))
	w.must(ar.PutProgress(l.Tag, l.Pos, jjm.Progress{Phase: phase, Done: done, Total: total}, jjm.At(w.now())))
	dir := filepath.Join(ar.Root(), sandbox.BulkDir(l.Tag), "progress")
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	w.must(err)
	for _, file := range append(files, dir) {
		w.must(os.Chtimes(file, time.Now(), time.Now()))
	}
}

// The record keeps every phase with its last values: ended phases while the next phase runs, and all phases after the
// attempt, even if nothing read them meanwhile, and after a restart.
func TestProgress_EveryPhaseStaysInTheRecord(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		p := adaptertest.Play{Life: 10 * time.Minute}
		if id.N == 2 { // the job reports and ends between two looks
			p.Life = time.Second
			p.Phases = []jjm.AppPhase{{Progress: jjm.Progress{Phase: "gen", Done: 5, Total: 5}, Started: 1000, Ended: 2000},
				{Progress: jjm.Progress{Phase: "sim", Done: 2, Total: 5}, Started: 2000, Ended: 3000}}
		}
		return p
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.running(id, 2)
		l := w.locals(id)[0]
		of := func(n int, want ...string) {
			t.Helper()
			w.pass(20 * time.Second)
			got, err := w.engine.Record(context.Background(), alice, id,
				fmt.Sprintf("//localjob[@id='%s.%d']/phase", id, n))
			w.must(err)
			for i := range got {
				got[i] = regexp.MustCompile(` (started|ended)="20[^"]*"`).ReplaceAllString(got[i], "")
			}
			if !slices.Equal(got, want) {
				t.Errorf("local job %d has\n%q, want\n%q", n, got, want)
			}
		}
		w.progress(l, "gen", 100, 250)
		of(0)
		w.progress(l, "gen", 250, 250)
		w.progress(l, "sim", 10, 250)
		gen := `<phase name="gen" done="250" total="250" attempt="0"/>`
		of(0, gen)
		w.reopen()
		w.progress(l, "sim", 20, 250)
		of(0, gen)
		of(2, `<phase name="gen" done="5" total="5" started="1970-01-01T00:00:01.000Z" ended="1970-01-01T00:00:02.000Z" attempt="0"/>`,
			`<phase name="sim" done="2" total="5" started="1970-01-01T00:00:02.000Z" ended="1970-01-01T00:00:03.000Z" attempt="0"/>`)
		w.kill(l.ID.String())
		w.final(time.Hour, id)
		of(0, gen, `<phase name="sim" done="20" total="250" attempt="0"/>`)
	})
}

// A running application writes an XML fragment, which enters the record of its local job. A fragment can also come with
// the result. It cannot concern another job.
func TestFragment_OfAWorkerEntersTheRecordOfItsJob(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N == 2 {
			return adaptertest.Play{Life: time.Second, Fragment: `<fragment job="1.2"><plot name="late"/></fragment>`}
		}
		return adaptertest.Play{Life: 10 * time.Minute}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.running(id, 2)
		locals := w.locals(id)
		say := func(n int, xml string) {
			t.Helper()
			ar := w.area(owner(alice))
			w.must(ar.PutFragment(locals[n].Tag, locals[n].Pos, []byte(xml)))
			dir := filepath.Join(ar.Root(), sandbox.BulkDir(locals[n].Tag), "fragments")
			w.must(os.Chtimes(filepath.Join(dir, strconv.Itoa(int(locals[n].Pos))), time.Now(), time.Now()))
			w.must(os.Chtimes(dir, time.Now(), time.Now()))
			w.pass(20 * time.Second)
		}
		of := func(want ...string) {
			t.Helper()
			got, err := w.engine.Record(context.Background(), alice, id, "//localjob/plot")
			w.must(err)
			if !slices.Equal(got, want) {
				t.Errorf("plots %q, want %q", got, want)
			}
		}
		say(0, `<fragment job="1.0"><plot name="mass" peak="91.1"/></fragment>`)
		of(`<plot name="mass" peak="91.1"/>`, `<plot name="late"/>`)
		say(0, `<fragment job="1.0"><plot name="mass" peak="91.2"/></fragment>`)
		for _, bad := range []string{`<fragment job="1.0"><plot name="other"/></fragment>`, `<fragment job="1"><plot name="x"/></fragment>`,
			`<fragment job="1.1"><plot/></fragment>`, `<fragment job="1.1"><plot`, `<!DOCTYPE x>`} {
			say(1, bad)
		}
		of(`<plot name="mass" peak="91.2"/>`, `<plot name="late"/>`)
		if n := w.logged("a fragment for a local job's record is refused"); n == 0 {
			t.Error("the log says nothing of what was not taken")
		}
		w.reopen()
		say(1, `<fragment job="1.1"><plot name="mass" peak="90"/></fragment>`)
		w.final(time.Hour, id)
		of(`<plot name="mass" peak="91.2"/>`, `<plot name="mass" peak="90"/>`, `<plot name="late"/>`)
	})
}

func TestProgress_IsSummedByPhaseAndShownEverywhere(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.running(id, 3)
		locals := w.locals(id)
		phases := func(want ...jjm.Progress) {
			t.Helper()
			w.pass(10 * time.Second)
			s, err := w.engine.Status(context.Background(), alice, []jjm.Ref{{Grid: id}})
			w.must(err)
			got := s[0].Phases
			slices.SortFunc(got, func(a, b jjm.Progress) int { return strings.Compare(a.Phase, b.Phase) })
			if !slices.Equal(got, want) {
				t.Errorf("phases %v, want %v", got, want)
			}
		}
		phases()
		w.progress(locals[0], "d0gstar", 117, 250)
		phases(jjm.Progress{Phase: "d0gstar", Done: 117, Total: 250})
		w.progress(locals[1], "d0gstar", 3, 250)
		w.progress(locals[2], "pythia", 1, 10)
		phases(jjm.Progress{Phase: "d0gstar", Done: 120, Total: 500}, jjm.Progress{Phase: "pythia", Done: 1, Total: 10})
		w.progress(locals[2], "d0reco", 5, 10)
		phases(jjm.Progress{Phase: "d0gstar", Done: 120, Total: 500}, jjm.Progress{Phase: "d0reco", Done: 5, Total: 10})
		got, err := w.engine.Record(context.Background(), alice, id,
			"//localjob[@id='"+locals[0].ID.String()+"']/progress/@done")
		if err != nil || !slices.Equal(got, []string{"117"}) {
			t.Errorf("record: %v, %v", got, err)
		}
		w.final(3*time.Hour, id)
		w.verify(id, done(3))
		w.verifyQuiet()
	})
}

// The application's last progress report often comes after the daemon last read the file. This report is in the result,
// and the status and record of the ended job show it. The next attempt has reported no progress yet.
func TestProgress_OfAnEndedJobIsTheLastThatItSaid(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Attempt > 0 {
			return adaptertest.Play{Life: time.Hour}
		}
		return adaptertest.Play{Life: 10 * time.Minute, Exit: []int{0, 3, 75}[id.N], Phases: []jjm.AppPhase{
			{Progress: jjm.Progress{Phase: "sim", Done: 100, Total: 100}, Started: 1000, Ended: 2000}}}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(3, "[retry]", "on_exit = [75]"))
		w.running(id, 3)
		for _, l := range w.locals(id) {
			w.progress(l, "sim", 75, 100)
		}
		w.until(time.Minute, "told", func() bool { return w.locals(id)[2].Progress.Done == 75 })
		w.until(time.Hour, "judged", func() bool {
			ls := w.locals(id)
			return ls[0].State == jjm.Completed && ls[1].State == jjm.Failed && ls[2].Attempt == 1
		})
		for n, want := range []string{"100", "100", "0"} {
			if got := w.locals(id)[n].Progress.Done; strconv.FormatInt(got, 10) != want {
				t.Errorf("local job %d: progress %d, want %s", n, got, want)
			}
		}
		w.pass(10 * time.Second)
		got, err := w.engine.Record(context.Background(), alice, id, "//localjob/progress/@done")
		if err != nil || !slices.Equal(got, []string{"100", "100"}) {
			t.Errorf("record: %v, %v", got, err)
		}
	})
}

func TestProgress_OfGarbageIsIgnored(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(1))
		w.running(id, 1)
		l := w.locals(id)[0]
		dir := filepath.Join(w.area(owner(alice)).Root(), sandbox.BulkDir(l.Tag), "progress")
		for i, text := range []string{"", "x", "\x00\x00", "d0gstar -1 5", strings.Repeat("x", 1<<20),
			"a 1 99999999999999999999999"} {
			w.plant(dir, "0", []byte(text))
			w.pass(10 * time.Second)
			if got := w.locals(id)[0]; got.State != jjm.Running {
				t.Errorf("%d: %+v", i, got)
			}
		}
		w.plant(dir, "99", []byte("phase 1 2\n"))
		w.final(3*time.Hour, id)
		w.verify(id, done(1))
	})
}

func TestWatch_ReportsEveryChangeUntilTheEnd(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		a, b := w.submit(alice, mc(4)), w.submit(alice, mc(2))
		var seen []string
		err := w.engine.Watch(context.Background(), alice, []jjm.Ref{{Grid: a}, {Grid: b}}, func(s []wire.Status) error {
			seen = append(seen, s[0].Lookup.Status+" "+s[1].Lookup.Status)
			return nil
		})
		w.must(err)
		if len(seen) < 2 || seen[len(seen)-1] != "done done" || !slices.Contains(seen, "running running") {
			t.Errorf("seen %q", seen)
		}
		w.final(time.Minute, a, b)
		calls := 0
		w.must(w.engine.Watch(context.Background(), alice, []jjm.Ref{{Grid: a}}, func([]wire.Status) error {
			calls++
			return nil
		}))
		if calls != 1 {
			t.Errorf("a finished grid job is told %d times", calls)
		}
		if err := w.engine.Watch(context.Background(), bob, []jjm.Ref{{Grid: a}}, nil); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("another's: %v", err)
		}
	})
}

func TestWatch_EndsWithItsListenerOrItsContext(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(1))
		gone := errors.New("gone")
		err := w.engine.Watch(context.Background(), alice, []jjm.Ref{{Grid: id}}, func([]wire.Status) error { return gone })
		if !errors.Is(err, gone) {
			t.Errorf("error %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = w.engine.Watch(ctx, alice, []jjm.Ref{{Grid: id}}, func([]wire.Status) error { return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestCat_ShowsTheFilesOfTheCurrentOrLastAttempt(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Attempt == 0 && id.N == 1 {
			return adaptertest.Play{Keyword: "-", Exit: 1}
		}
		return adaptertest.Play{Life: time.Hour}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.until(time.Hour, "one waits for its next attempt", func() bool { return w.phase(id, jjm.RetryWait) == 1 })
		cat := func(ref, file, want string, wantLive bool) {
			t.Helper()
			r, err := jjm.ParseRef(ref)
			w.must(err)
			f, live, err := w.engine.Cat(context.Background(), alice, r, wire.CatFile{File: file})
			if err != nil {
				t.Errorf("%s of %s: %v", file, ref, err)
				return
			}
			defer f.Close()
			text, err := io.ReadAll(f)
			w.must(err)
			if !strings.Contains(string(text), want) || live() != wantLive {
				t.Errorf("%s of %s: %q, live %v", file, ref, text, live())
			}
		}
		cat("1.0", "stdout", "output of 1.0", true)
		cat("1.0", "glf", "INFO", true)
		cat("1.0", "script", "run 1 10\n", false)
		cat("1.1", "script", "run 11 10\n", false)
		cat("1.1", "stdout", "output of 1.1", false)
		w.kill("1.1")
		w.pass(time.Minute)
		cat("1.1", "stdout", "output of 1.1", false)
		for _, bad := range []struct {
			caller wire.Caller
			ref    jjm.Ref
			file   string
			kind   jjm.Kind
		}{
			{alice, jjm.Ref{Grid: id}, "stdout", jjm.Invalid},
			{alice, jjm.Ref{Grid: id, Locals: true, Last: 1}, "stdout", jjm.Invalid},
			{alice, jjm.Ref{Grid: id, Locals: true, First: 7, Last: 7}, "stdout", jjm.Gone},
			{alice, jjm.Ref{Grid: 9, Locals: true}, "stdout", jjm.Gone},
			{bob, jjm.Ref{Grid: id, Locals: true}, "stdout", jjm.Denied},
			{alice, jjm.Ref{Grid: id, Locals: true}, "../../../secret", jjm.Invalid},
		} {
			if _, _, err := w.engine.Cat(context.Background(), bad.caller, bad.ref,
				wire.CatFile{File: bad.file}); jjm.KindOf(err) != bad.kind {
				t.Errorf("%s of %s for %s: %v, want kind %s", bad.file, bad.ref, bad.caller.User, err, bad.kind)
			}
		}
		w.final(5*time.Hour, id)
		cat("1.0", "stdout", "output of 1.0", false)
		cat("1.0", "script", "run 1 10\n", false)
	})
}

// A file of the work folder is shown while the job runs, only to its owner, and the listing names the file. A file that
// does not exist may still be made.
func TestCat_ShowsFilesOfTheWorkFolderWhileTheyAreThere(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: always(adaptertest.Play{Life: time.Hour})}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(1))
		w.running(id, 1)
		l := w.locals(id)[0]
		dir := w.area(owner(alice)).WorkDir(l.AttemptID()) + "/plots"
		w.must(os.MkdirAll(dir, 0o700))
		w.plant(dir, "mass.txt", []byte("91.2"))
		ref := jjm.Ref{Grid: id, Locals: true}
		f, live, err := w.engine.Cat(t.Context(), alice, ref, wire.CatFile{Path: "plots/mass.txt"})
		w.must(err)
		text, err := io.ReadAll(f)
		w.must(errors.Join(err, f.Close()))
		if string(text) != "91.2" || !live() {
			t.Errorf("%q, live %v", text, live())
		}
		files, more, err := w.engine.ListFiles(t.Context(), alice, ref, nil)
		if err != nil || more || !slices.ContainsFunc(files, func(f jjm.JobFile) bool {
			return f.Name == "plots/mass.txt" && f.Bytes == 4 && f.From == jjm.FromWork
		}) {
			t.Errorf("listed are %+v, more %v, %v", files, more, err)
		}
		if _, live, err := w.engine.Cat(t.Context(), alice, ref, wire.CatFile{Path: "later"}); jjm.KindOf(err) != jjm.Gone ||
			live == nil || !strings.Contains(err.Error(), "no later yet: follow it with -f; jjm cat ") {
			t.Errorf("a file that may come: %v", err)
		}
		_, _, err = w.engine.ListFiles(t.Context(), bob, ref, nil)
		_, _, opening := w.engine.Cat(t.Context(), bob, ref, wire.CatFile{Path: "plots/mass.txt"})
		if jjm.KindOf(err) != jjm.Denied || jjm.KindOf(opening) != jjm.Denied {
			t.Errorf("another account: %v, %v", err, opening)
		}
		w.final(5*time.Hour, id)
		if _, live, err := w.engine.Cat(t.Context(), alice, ref, wire.CatFile{Path: "later"}); jjm.KindOf(err) != jjm.Gone ||
			live != nil || !strings.Contains(err.Error(), "jjm cat 1.0 --list names what there is") {
			t.Errorf("a file that never came: %v", err)
		}
	})
}

func TestOutput_OfAnUnfinishedGridJobIsAConflictUnlessPartial(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Life: time.Duration(1+int(id.N)*100) * time.Minute}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(3))
		w.until(time.Hour, "one completed", func() bool { return w.lookup(id).Counts.Completed == 1 })
		_, _, _, err := w.engine.Output(context.Background(), alice, all(id), wire.Wanted{})
		if jjm.KindOf(err) != jjm.Conflict {
			t.Errorf("error %v", err)
		}
		_, _, _, err = w.engine.Output(context.Background(), bob, all(id), wire.Wanted{Partial: true})
		if jjm.KindOf(err) != jjm.Denied {
			t.Errorf("another's: %v", err)
		}
		for range 2 {
			r, n, o, err := w.engine.Output(context.Background(), alice, all(id), wire.Wanted{Partial: true})
			w.must(err)
			b, err := io.ReadAll(r)
			w.must(err)
			r.Close()
			files, err := tarFiles(b)
			if err != nil || !o.Partial || int64(len(b)) != n {
				t.Errorf("partial tar: %v, %+v, %d bytes of %d", err, o, len(b), n)
			}
			if files["mc/mc.1.0.out.dat"] == "" || files["mc/jjm.log"] == "" || files["mc/manifest.json"] == "" ||
				files["mc/mc.1.1.out.dat"] != "" {
				t.Errorf("partial tar: %v", files)
			}
		}
		left, err := filepath.Glob(filepath.Join(w.dir, "work", "*", "jobs", "*", "output", "*"))
		w.must(err)
		if len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		w.final(10*time.Hour, id)
		w.verify(id, done(3))
	})
}

func TestList_FiltersAndShowsTheCallersOwn(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 30 * time.Minute}}, func(t *testing.T, w *world) {
		var ids []jjm.GridID
		for range 2 {
			ids = append(ids, w.submit(alice, mc(1)), w.submit(alice, plain(1)), w.submit(bob, mc(1)))
		}
		w.pass(time.Minute)
		w.kill(ids[0].String())
		w.final(time.Minute, ids[0])
		admin := wire.Caller{User: "root", Admin: true}
		for _, test := range []struct {
			name   string
			caller wire.Caller
			list   wire.List
			want   []int // indices of the entries, newest first
		}{
			{"one's own live ones", alice, wire.List{}, []int{4, 3, 1}},
			{"all of one's own", alice, wire.List{All: true}, []int{4, 3, 1, 0}},
			{"another's are not given on request", alice, wire.List{All: true, Owner: "bob"}, []int{4, 3, 1, 0}},
			{"by type", alice, wire.List{All: true, Type: "script"}, []int{4, 1}},
			{"by status", alice, wire.List{Status: "aborted"}, []int{0}},
			{"everybody's", admin, wire.List{All: true}, []int{5, 4, 3, 2, 1, 0}},
			{"an owner's", admin, wire.List{All: true, Owner: "bob"}, []int{5, 2}},
			{"limited", admin, wire.List{All: true, Limit: 2}, []int{5, 4}},
			{"the next page", admin, wire.List{All: true, Limit: 2, Before: int64(ids[4])}, []int{3, 2}},
		} {
			list, err := w.engine.List(context.Background(), test.caller, test.list)
			w.must(err)
			var got []int
			for _, s := range list {
				got = append(got, slices.Index(ids, s.Lookup.ID))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: %v, want %v", test.name, got, test.want)
			}
		}
		if _, err := w.engine.List(context.Background(), alice,
			wire.List{Status: "dancing"}); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("unknown status: %v", err)
		}
	})
}

func TestDenied_OthersGridJobsAreNeitherSeenNorChanged(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(1))
		w.pass(time.Minute)
		ctx, ref := context.Background(), jjm.Ref{Grid: id}
		check := func(what string, err error) {
			t.Helper()
			if jjm.KindOf(err) != jjm.Denied {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, state := range []string{"live", "archived"} {
			seen, err := w.engine.Status(ctx, bob, []jjm.Ref{ref})
			w.must(err)
			check("status, "+state, seen[0].Lookup.Error.Err())
			check("watch, "+state, w.engine.Watch(ctx, bob, []jjm.Ref{ref}, func([]wire.Status) error { return nil }))
			_, err = w.engine.Record(ctx, bob, id, "")
			check("record, "+state, err)
			_, err = w.engine.History(ctx, bob, ref, 0)
			check("history, "+state, err)
			_, err = w.engine.Log(ctx, bob, id)
			check("log, "+state, err)
			_, _, _, err = w.engine.Output(ctx, bob, all(id), wire.Wanted{})
			check("output, "+state, err)
			check("kill, "+state, w.engine.Kill(ctx, bob, []jjm.Ref{ref}, wire.KillHow{})[0].Error.Err())
			w.final(3*time.Hour, id)
		}
		w.verify(id, done(1))
	})
}

func TestStatus_AnswersEachReference(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		other := w.submit(bob, mc(1))
		w.final(time.Hour, id, other)
		refs := []jjm.Ref{{Grid: 99}, {Grid: id}, {Grid: other}, {Grid: id, Locals: true, First: 7, Last: 7},
			{Grid: id, Locals: true, First: 1, Last: 1}}
		got, err := w.engine.Status(t.Context(), wire.Caller{UID: 70002, User: "eve"}, refs)
		w.must(err)
		for i, s := range got {
			if k := jjm.KindOf(s.Lookup.Error.Err()); k != []jjm.Kind{jjm.Gone, jjm.Denied, jjm.Denied, jjm.Denied,
				jjm.Denied}[i] {
				t.Errorf("eve asks for %s: %v", refs[i], s.Lookup.Error)
			}
		}
		got, err = w.engine.Status(t.Context(), admin, refs)
		w.must(err)
		var said []string
		for i, s := range got {
			if s.Lookup.ID != refs[i].Grid {
				t.Errorf("answer %d is about %s", i, s.Lookup.ID)
			}
			if s.Lookup.Error != nil {
				s.Lookup.Status = s.Lookup.Error.Kind.String()
			}
			said = append(said, fmt.Sprint(s.Lookup.Status, " ", len(s.Locals)))
		}
		if want := "gone 0, done 0, done 0, gone 0, done 1"; strings.Join(said, ", ") != want {
			t.Errorf("answers: %v, want %s", said, want)
		}
	})
}

func TestPublish_RewritesChangedShardsOnly(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour, Slots: 2600}, bare: true},
		func(t *testing.T, w *world) {
			id := w.submit(alice, mc(2600))
			w.until(time.Hour, "running", func() bool { return w.lookup(id).Counts.Running == 2600 })
			w.pass(time.Minute)
			inodes := func() (out [3]os.FileInfo) {
				for n := range out {
					info, err := os.Stat(filepath.Join(w.dir, "records", id.String(),
						[]string{"jobs-0000.xml", "jobs-0001.xml", "jobs-0002.xml"}[n]))
					w.must(err)
					out[n] = info
				}
				return out
			}
			before := inodes()
			w.progress(w.locals(id)[1500], "d0gstar", 1, 2)
			w.pass(time.Minute)
			after := inodes()
			for n, want := range []bool{false, true, false} {
				if rewritten := !os.SameFile(before[n], after[n]); rewritten != want {
					t.Errorf("shard %d was rewritten: %v, want %v", n, rewritten, want)
				}
			}
		})
}

func TestPublish_TakesATwentiethOfTheTimeAtMost(t *testing.T) {
	t.Parallel()
	var spent atomic.Int64
	var slow atomic.Bool
	c := &crasher{}
	c.on = func(point string) {
		if point == "publish.before" && slow.Load() {
			time.Sleep(200 * time.Millisecond) // writing a large record takes this long
			spent.Add(int64(200 * time.Millisecond))
		}
	}
	inWorld(t, options{crash: c, sim: adaptertest.SimConfig{Life: 10 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(2))
		w.running(id, 2)
		l := w.locals(id)[0]
		w.pass(time.Minute)
		slow.Store(true)
		for i := range int64(1800) {
			w.progress(l, "d0gstar", i, 3600)
			time.Sleep(2 * time.Second)
		}
		synctest.Wait()
		if got := time.Duration(spent.Load()); got > time.Hour/20 || got < time.Hour/100 {
			t.Errorf("%v of an hour went into publishing", got)
		}
		slow.Store(false)
		head, err := head.Read(filepath.Join(w.dir, "records"), id)
		w.must(err)
		if age := time.Since(head.Written.Time()); age > 2*time.Minute {
			t.Errorf("the record is %v old", age)
		}
	})
}

// A record cannot be written when its grid job ends; it is written later. A file in place of the folder simulates a
// full disk, because root may write everywhere.
func TestPublish_ARecordThatCannotBeWrittenAtTheEndIsWrittenLater(t *testing.T) {
	t.Parallel()
	for _, since := range []string{"watch.before-commit", "collect.tarred"} {
		t.Run("since "+since, func(t *testing.T) {
			var once sync.Once
			var folder string
			c := &crasher{}
			c.on = func(point string) {
				if point == since {
					once.Do(func() {
						if err := errors.Join(os.Rename(folder, folder+".aside"),
							os.WriteFile(folder, []byte("in the way"), 0o600)); err != nil {
							t.Error(err)
						}
					})
				}
			}
			inWorld(t, options{crash: c}, func(t *testing.T, w *world) {
				folder = filepath.Join(w.dir, "records", "1")
				id := w.submit(alice, mc(2))
				w.pass(20 * time.Minute)
				if w.archived(id) {
					t.Error("archived with its record behind")
				}
				w.must(errors.Join(os.Remove(folder), os.Rename(folder+".aside", folder)))
				w.final(time.Hour, id)
				w.verify(id, done(2))
				w.verifyQuiet()
			})
		})
	}
}
