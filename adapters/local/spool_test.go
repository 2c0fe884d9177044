package local_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/local"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

func TestNew_RefusesAMistakenConfiguration(t *testing.T) {
	for field, c := range map[string]local.Config{
		"slots": {Slots: -1, Keep: jjm.Duration(time.Hour)},
		"keep":  {Keep: jjm.Duration(time.Second)},
		"grace": {Keep: jjm.Duration(time.Hour), Grace: jjm.Duration(2 * time.Hour)},
	} {
		_, err := local.New("here", adapters.Env{State: t.TempDir()}, c)
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(fmt.Sprint(err), field) ||
			!strings.Contains(fmt.Sprint(err), "here") {
			t.Errorf("%s: error %v", field, err)
		}
	}
	if _, err := local.New("here", adapters.Env{State: "relative"},
		local.DefaultConfig()); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("a relative state folder: %v", err)
	}
}

func TestNew_OneProcessPerSpool(t *testing.T) {
	state := t.TempDir()
	a := open(t, state, config(1))
	_, err := local.New("local", adapters.Env{State: state}, config(1))
	if jjm.KindOf(err) != jjm.Conflict || !strings.Contains(fmt.Sprint(err), fmt.Sprint(os.Getpid())) {
		t.Errorf("error %v", err)
	}
	a.Close()
	open(t, state, config(1))
}

func TestSubmit_TheSameTagIsTheSameBulk(t *testing.T) {
	state := t.TempDir()
	a := open(t, state, config(1))
	b := shell(t, 2, "echo x >> ran")
	first := submit(t, a, b)
	second := submit(t, a, b)
	a.Close()
	again := open(t, state, config(1))
	serve(t, again)
	third := submit(t, again, b)
	if first != second || first != third {
		t.Errorf("receipts %+v, %+v, %+v", first, second, third)
	}
	waitEnd(t, again, b)
	if n := lines(t, b, "ran"); n != 2 {
		t.Errorf("%d runs of 2 jobs", n)
	}
}

func TestSubmit_RefusesWhatItCannotRun(t *testing.T) {
	a := open(t, t.TempDir(), config(2))
	for what, change := range map[string]func(b *adapters.Bulk){
		"tag":   func(b *adapters.Bulk) { b.Tag = "UPPER" },
		"n":     func(b *adapters.Bulk) { b.N = local.MaxBulk + 1 },
		"argv":  func(b *adapters.Bulk) { b.Argv = []string{"sh"} },
		"UTF-8": func(b *adapters.Bulk) { b.Argv = append(b.Argv, "\xff") },
		"bytes": func(b *adapters.Bulk) { b.Argv = append(b.Argv, strings.Repeat("x", 1<<20)) },
		"dir":   func(b *adapters.Bulk) { b.Dir = "." },
		"log":   func(b *adapters.Bulk) { b.Log = "log" },
		"cores": func(b *adapters.Bulk) { b.Request.Cores = 3 },
		"queue": func(b *adapters.Bulk) { b.Request.Queue = "long" },
		"uid":   func(b *adapters.Bulk) { b.Owner.UID = -1 },
	} {
		b := shell(t, 1, "exit 0")
		change(&b)
		_, err := a.Submit(t.Context(), b)
		if k := jjm.KindOf(err); k != jjm.Invalid && (what != "uid" || k != jjm.Denied) ||
			!strings.Contains(fmt.Sprint(err), what) && what != "uid" {
			t.Errorf("%s: error %v of kind %q", what, err, k)
		}
	}
	if os.Getuid() != 0 {
		b := shell(t, 1, "exit 0")
		b.Owner.UID++
		if _, err := a.Submit(t.Context(), b); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("another's job: %v", err)
		}
	}
	l, err := a.List(t.Context(), self(), time.Time{})
	if err != nil || len(l.Reports) != 0 {
		t.Errorf("refused bulks left %+v, error %v", l.Reports, err)
	}
}

func TestLoad_SetsDamagedEntriesAsideAndGoesOn(t *testing.T) {
	damage := map[string]func(dir string) error{
		"empty file": func(dir string) error { return os.WriteFile(dir+"/bulk.json", nil, 0o600) },
		"no file":    func(dir string) error { return os.Remove(dir + "/bulk.json") },
		"cut short":  func(dir string) error { return os.Truncate(dir+"/bulk.json", 40) },
		"a folder":   func(dir string) error { _ = os.Remove(dir + "/bulk.json"); return os.Mkdir(dir+"/bulk.json", 0o700) },
		"a FIFO": func(dir string) error {
			_ = os.Remove(dir + "/bulk.json")
			return syscall.Mkfifo(dir+"/bulk.json", 0o600)
		},
		"a link": func(dir string) error {
			_ = os.Remove(dir + "/bulk.json")
			return os.Symlink("/etc/passwd", dir+"/bulk.json")
		},
		"of another number": func(dir string) error { return rewrite(dir, `"id":`, `"id":9`) },
		"of the future":     func(dir string) error { return rewrite(dir, `"v":1`, `"v":2`) },
		"absurd":            func(dir string) error { return rewrite(dir, `"n":2`, `"n":2000000000`) },
		"huge":              func(dir string) error { return os.WriteFile(dir+"/bulk.json", make([]byte, 2<<20), 0o600) },
	}
	for name, harm := range damage {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			a := open(t, state, config(1))
			bad, good := shell(t, 2, "echo x >> ran"), shell(t, 1, "exit 0")
			submit(t, a, bad)
			submit(t, a, good)
			a.Close()
			dir := filepath.Join(state, "spool", "1")
			if err := harm(dir); err != nil {
				t.Fatal(err)
			}
			w := &warnings{}
			again := openWarned(t, state, config(1), w, time.Now)
			serve(t, again)
			waitEnd(t, again, good)
			if !strings.Contains(w.String(), "set aside") || !strings.Contains(w.String(), dir+".bad") {
				t.Errorf("it warned %q", w)
			}
			if _, err := os.Stat(dir + ".bad"); err != nil {
				t.Error(err)
			}
			found, err := again.Find(t.Context(), self(), []jjm.Tag{bad.Tag})
			if err != nil || found[0].Presence != adapters.NotYetKnown {
				t.Errorf("found %+v, error %v", found, err)
			}
			ref := []adapters.Ref{{Tag: bad.Tag, ID: "1", Index: 0}}
			if answers, err := again.Control(t.Context(), self(), adapters.Cancel, ref); err != nil ||
				jjm.KindOf(answers[0]) != jjm.Busy {
				t.Errorf("cancelled: %v, error %v", answers, err)
			}
			l, err := again.List(t.Context(), self(), time.Time{})
			if err != nil || len(l.Unread) != 1 || l.Unread[0].ID != "1" {
				t.Errorf("listed %+v, error %v", l.Unread, err)
			}
			if err := os.RemoveAll(dir + ".bad"); err != nil {
				t.Fatal(err)
			}
			found, err = again.Find(t.Context(), self(), []jjm.Tag{bad.Tag})
			if err != nil || found[0].Presence != adapters.Absent {
				t.Errorf("removed, and found %+v, error %v", found, err)
			}
			if r := submit(t, again, bad); r.ID != "3" {
				t.Errorf("the next id is %q, want 3", r.ID)
			}
		})
	}
}

// If the tag of a damaged entry is lost, the entry may belong to any bulk: no tag is absent until the entry is removed.
func TestLoad_AnEntryCutBeforeItsTagMakesAbsentTagsUnknown(t *testing.T) {
	for name, keepsTag := range map[string]bool{"before its tag": false, "behind its tag": true} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			a := open(t, state, config(1))
			bad, good, never := shell(t, 1, "exit 0"), shell(t, 1, "exit 0"), shell(t, 1, "exit 0")
			submit(t, a, bad)
			submit(t, a, good)
			a.Close()
			dir := filepath.Join(state, "spool", "1")
			text, err := os.ReadFile(dir + "/bulk.json")
			if err != nil {
				t.Fatal(err)
			}
			at := int64(strings.Index(string(text), `"tag":`))
			if keepsTag {
				at += int64(len(`"tag":"`)+len(bad.Tag)) + 1
			}
			if err := os.Truncate(dir+"/bulk.json", at); err != nil {
				t.Fatal(err)
			}
			again := openWarned(t, state, config(1), &warnings{}, time.Now)
			others := adapters.NotYetKnown
			if keepsTag {
				others = adapters.Absent
			}
			presences(t, again, map[jjm.Tag]adapters.Presence{bad.Tag: adapters.NotYetKnown, good.Tag: adapters.Present,
				never.Tag: others})
			if err := os.RemoveAll(dir + ".bad"); err != nil {
				t.Fatal(err)
			}
			presences(t, again, map[jjm.Tag]adapters.Presence{bad.Tag: adapters.Absent, good.Tag: adapters.Present,
				never.Tag: adapters.Absent})
		})
	}
}

// presences checks the answer of Find for each tag.
func presences(t *testing.T, a adapters.Adapter, want map[jjm.Tag]adapters.Presence) {
	t.Helper()
	for tag, presence := range want {
		found, err := a.Find(t.Context(), self(), []jjm.Tag{tag})
		if err != nil || len(found) != 1 || found[0].Presence != presence {
			t.Errorf("%s: found %+v, error %v, want %v", tag, found, err, presence)
		}
	}
}

func rewrite(dir, old, new string) error {
	text, err := os.ReadFile(dir + "/bulk.json")
	if err != nil {
		return err
	}
	return os.WriteFile(dir+"/bulk.json", []byte(strings.Replace(string(text), old, new, 1)), 0o600)
}

func TestLoad_IgnoresOtherFilesAndRemovesIncompleteEntries(t *testing.T) {
	state := t.TempDir()
	spool := filepath.Join(state, "spool")
	for _, name := range []string{"7.new", "8.gone", "9.bad", "notes", "-3", "007", "99999999999999999999"} {
		if err := os.MkdirAll(filepath.Join(spool, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	a := open(t, state, config(1))
	if r := submit(t, a, shell(t, 1, "exit 0")); r.ID != "10" {
		t.Errorf("the next id is %q, want 10", r.ID)
	}
	for _, name := range []string{"7.new", "8.gone"} {
		waitFor(t, name+" is removed", func() bool {
			_, err := os.Stat(filepath.Join(spool, name))
			return os.IsNotExist(err)
		})
	}
	for _, name := range []string{"9.bad", "notes", "007"} {
		if _, err := os.Stat(filepath.Join(spool, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoad_ATornLogLosesOnlyItsLastLine(t *testing.T) {
	state := t.TempDir()
	a := open(t, state, config(1))
	stop := serve(t, a)
	b := shell(t, 2, "echo x >> ran.$JJM_INDEX; exit 4")
	submit(t, a, b)
	waitEnd(t, a, b)
	stop()
	log := filepath.Join(state, "spool", "1", "log")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	// The log is cut within the exit code of the last end: "end 1 FAILED 4 0 ..." must not become a complete line. Then
	// the test tries other remains of a loss of power.
	cut := strings.LastIndex(string(text), "end 1 FAILED") + len("end 1 FAILED 4")
	torn := append(text[:cut:cut], make([]byte, 10)...)
	if err := os.WriteFile(log, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	w := &warnings{}
	again := openWarned(t, state, config(1), w, time.Now)
	serve(t, again)
	got := waitEnd(t, again, b)
	if got[0].State != jjm.BatchEndedFailed || got[0].Exit != 4 {
		t.Errorf("job 0: %+v", got[0])
	}
	if got[1].State != jjm.BatchAborted || !strings.Contains(got[1].Reason, "no exit record") {
		t.Errorf("job 1: %+v", got[1])
	}
	if !strings.Contains(w.String(), "cannot be read") {
		t.Errorf("it warned %q", w)
	}
	again.Close()
	third := &warnings{}
	last := openWarned(t, state, config(1), third, time.Now)
	if r := list(t, last, b); r[1].State != jjm.BatchAborted {
		t.Errorf("after another restart: %+v", r[1])
	}
}

func TestLoad_AfterARebootNothingIsRunning(t *testing.T) {
	state := t.TempDir()
	a := open(t, state, config(3))
	stop := serve(t, a)
	b := shell(t, 3, `[ $JJM_INDEX = 1 ] && echo "exit=9" > $JJM_SPOOL_END; echo x >> ran.$JJM_INDEX; sleep 1000`)
	submit(t, a, b)
	waitRunning(t, a, b, 3)
	waitFor(t, "the runs", func() bool { return lines(t, b, "ran.0")+lines(t, b, "ran.1")+lines(t, b, "ran.2") == 3 })
	stop()
	// The test changes the boot id in the log. After another boot the pids belong to other processes, which the adapter
	// must not touch.
	log := filepath.Join(state, "spool", "1", "log")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(log, []byte("boot another ;\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	pids := pidsOf(rest)
	t.Cleanup(func() {
		for _, pid := range pids {
			if !lives(pid) {
				t.Errorf("process %d, another's after the reboot, was killed", pid)
			}
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	})
	again := open(t, state, config(3))
	serve(t, again)
	for i, r := range waitEnd(t, again, b) {
		switch {
		case i == 1 && (r.State != jjm.BatchEndedFailed || r.Exit != 9):
			t.Errorf("job 1 left a record: %+v", r)
		case i != 1 && (r.State != jjm.BatchAborted || !strings.Contains(r.Reason, "restarted")):
			t.Errorf("job %d: %+v", i, r)
		}
	}
}

func pidsOf(log string) (pids []int) {
	for line := range strings.Lines(log) {
		var pos, pid int
		if n, _ := fmt.Sscanf(line, "pid %d %d", &pos, &pid); n == 2 {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestPurge_RemovesOldEntriesAndNeverUsesAnIdAnew(t *testing.T) {
	state := t.TempDir()
	var later atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	a := openWarned(t, state, config(2), &warnings{}, now)
	done, held := shell(t, 1, "exit 0"), shell(t, 1, "exit 0")
	r := submit(t, a, held)
	control(t, a, adapters.HoldJobs, adapters.Ref{Tag: held.Tag, ID: r.ID, Index: 0})
	stop := serve(t, a)
	submit(t, a, done)
	waitEnd(t, a, done)
	later.Store(int64(90 * time.Minute))
	control(t, a, adapters.Cancel) // makes the adapter read the clock
	waitFor(t, "the entry's removal", func() bool { return len(list(t, a, done)) == 0 })
	if got := list(t, a, held); len(got) != 1 {
		t.Errorf("a held job was removed: %+v", got)
	}
	if _, err := os.Stat(filepath.Join(state, "spool", "2")); !os.IsNotExist(err) {
		t.Error(err)
	}
	stop()
	again := openWarned(t, state, config(2), &warnings{}, now)
	if r := submit(t, again, shell(t, 1, "exit 0")); r.ID != "3" {
		t.Errorf("the next id is %q, want 3", r.ID)
	}
}

// smallDisk returns a folder on a file system of a few pages.
func smallDisk(t *testing.T) string {
	t.Helper()
	return needs.Tmpfs(t, t.TempDir(), "size=128k")
}

// fillUp writes a file until the disk is full.
func fillUp(t *testing.T, dir string) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := 4096; block > 0; block /= 2 {
		for {
			if _, err := f.Write(make([]byte, block)); err != nil {
				break
			}
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

func TestFullDisk_ABulkIsRefusedAsAWhole(t *testing.T) {
	state := smallDisk(t)
	a := open(t, state, config(1))
	serve(t, a)
	empty := fillUp(t, state)
	b := shell(t, 1, "exit 0")
	_, err := a.Submit(t.Context(), b)
	if jjm.KindOf(err) != jjm.Busy || !strings.Contains(fmt.Sprint(err), "no space left") ||
		!strings.Contains(fmt.Sprint(err), "make room") {
		t.Errorf("error %v", err)
	}
	if found, err := a.Find(t.Context(), self(), []jjm.Tag{b.Tag}); err != nil || found[0].Presence != adapters.Absent {
		t.Errorf("found %+v, error %v", found, err)
	}
	empty()
	if r := submit(t, a, b); r.ID != "1" {
		t.Errorf("id %q", r.ID)
	}
	waitEnd(t, a, b)
}

func TestFullDisk_NoJobStartsWithoutALogLineAndNoEndIsLost(t *testing.T) {
	state := smallDisk(t)
	w := &warnings{}
	a := openWarned(t, state, config(1), w, time.Now)
	stop := serve(t, a)
	runs, waits := shell(t, 1, "while [ ! -e go ]; do sleep 0.01; done; exit 6"), shell(t, 1, "echo x >> ran")
	submit(t, a, runs)
	submit(t, a, waits)
	waitRunning(t, a, runs, 1)
	empty := fillUp(t, state)
	// Fill the log's own last page as well.
	pad := filepath.Join(state, "spool", "1", "log")
	f, err := os.OpenFile(pad, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := f.Write([]byte("\n")); err != nil {
			break
		}
	}
	f.Close()
	if err := os.WriteFile(filepath.Join(runs.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := waitEnd(t, a, runs)[0]; r.Exit != 6 {
		t.Errorf("%+v", r)
	}
	waitFor(t, "a warning", func() bool { return strings.Contains(w.String(), "marking jobs") })
	if r := list(t, a, waits)[0]; r.State != jjm.BatchQueued || lines(t, waits, "ran") != 0 {
		t.Errorf("it started unmarked: %+v", r)
	}
	answers, err := a.Control(context.Background(), self(), adapters.Cancel, []adapters.Ref{{Tag: waits.Tag, Index: 0}})
	if err != nil || jjm.KindOf(answers[0]) != jjm.Busy {
		t.Errorf("cancel on a full disk: %v, %v", answers, err)
	}
	empty()
	waitEnd(t, a, waits)
	waitFor(t, "the end to be written", func() bool {
		text, err := os.ReadFile(pad)
		return err == nil && strings.Contains(string(text), "end 0 FAILED 6 ")
	})
	stop()
	again := openWarned(t, state, config(1), w, time.Now)
	if r := list(t, again, runs)[0]; r.State != jjm.BatchEndedFailed || r.Exit != 6 {
		t.Errorf("after the restart: %+v", r)
	}
	if n := lines(t, waits, "ran"); n != 1 {
		t.Errorf("%d runs", n)
	}
}

func TestUnwritableSpool_SaysWhatToDo(t *testing.T) {
	state := t.TempDir()
	a := open(t, state, config(1))
	if err := os.Chmod(filepath.Join(state, "spool"), 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(state, "spool"), 0o700)
	b := shell(t, 1, "exit 0")
	var err error
	needs.Unprivileged(t, func() { _, err = a.Submit(t.Context(), b) })
	if jjm.KindOf(err) != jjm.Busy || !strings.Contains(fmt.Sprint(err), "writable") {
		t.Errorf("error %v", err)
	}
}
