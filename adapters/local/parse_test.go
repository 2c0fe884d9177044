package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/wary"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

func TestParseStat(t *testing.T) {
	// The line was recorded on Linux 6.x. The command is a name that a process may give itself.
	const rest = " S 1 4242 4242 0 -1 4194560 120 0 0 0 3 1 0 0 20 0 1 0 123456 2621440 300 18446744073709551615 1 1 0"
	for _, command := range []string{"(sh)", "(a b)", "(a) S 1 2 3 (b))", "(\n)", "()", "(\xff)"} {
		got, err := parseStat([]byte("4242 " + command + rest + "\n"))
		want := stat{pid: 4242, state: 'S', session: 4242, startMS: 1234560}
		if err != nil || got != want {
			t.Errorf("%q: %+v, error %v", command, got, err)
		}
	}
	for _, bad := range []string{"", "1", "1 (x)", "x (x)" + rest, "1 (x) S 1 2", "1 )x(" + rest, "-5 (x)" + rest,
		"1 (x) SS" + rest[2:], "1 (x)" + strings.Replace(rest, "123456", "-1", 1)} {
		if got, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
	own, err := readStat(os.Getpid())
	if err != nil || own.pid != os.Getpid() {
		t.Fatalf("%+v, error %v", own, err)
	}
	if age := sinceBoot() - own.startMS; age < -20 || age > 600_000 {
		t.Errorf("this process is %d ms old", age)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("4242 (a) b) S 1 4242 4242 0 -1 4194560 120 0 0 0 3 1 0 0 20 0 1 0 123456 2621440"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := parseStat(text); err == nil && (s.pid < 1 || s.startMS < 0 || s.startMS%10 != 0) {
			t.Errorf("%+v", s)
		}
	})
}

func TestParseEndRecord(t *testing.T) {
	tests := []struct {
		text string
		want endRecord
		ok   bool
	}{
		{"exit=0 user_ms=1 sys_ms=2 rss_kb=3\n", endRecord{cpuMS: 3, rssKB: 3}, true},
		{"exit=255\n", endRecord{exit: 255}, true},
		{"rss_kb=4 new=x exit=7\n", endRecord{exit: 7, rssKB: 4}, true},
		{text: ""}, {text: "exit=1"}, {text: "exit=1\n\n"}, {text: "exit=1\nexit=2\n"}, {text: "exit=256\n"},
		{text: "exit=-1\n"}, {text: "exit=\n"}, {text: "exit\n"}, {text: "user_ms=1\n"}, {text: "exit=0 user_ms=x\n"},
		{text: "exit=0 rss_kb=999999999999999999999\n"}, {text: "\x00exit=0\n"},
		{text: "exit=0 x=" + strings.Repeat("y", maxEndRecord) + "\n"},
	}
	for _, tt := range tests {
		got, err := parseEndRecord([]byte(tt.text))
		if (err == nil) != tt.ok || tt.ok && got != tt.want {
			t.Errorf("%.60q: %+v, error %v", tt.text, got, err)
		}
	}
}

func TestReadEndRecord_TakesPlainFilesOnly(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	for name, make := range map[string]func(path string) error{
		"link":   func(path string) error { return os.Symlink(good, path) },
		"FIFO":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"huge":   func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("x"), 1<<20), 0o600) },
	} {
		path := filepath.Join(dir, name)
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if r, err := readEndRecord(filepath.Dir(path), filepath.Base(path)); err == nil || os.IsNotExist(err) {
			t.Errorf("%s: %+v, error %v", name, r, err)
		}
	}
	before := jjm.At(time.Now().Add(-time.Second)) // the file system's clock may differ from ours
	if err := os.WriteFile(good, []byte("exit=3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := readEndRecord(filepath.Dir(good), filepath.Base(good))
	if after := jjm.At(time.Now().Add(time.Second)); err != nil || r.exit != 3 || r.at < before || r.at > after {
		t.Errorf("%+v, error %v", r, err)
	}
}

// The folder of the end records belongs to the jobs' owner, who may mount a file system there that never answers.
// readEndRecord must not wait for it.
func TestReadEndRecord_DoesNotWaitForAFileSystemOfTheOwners(t *testing.T) {
	dir := needs.PublicDir(t)
	if err := os.Mkdir(filepath.Join(dir, "end"), 0o755); err != nil {
		t.Fatal(err)
	}
	theirs := needs.MountFUSE(t, filepath.Join(dir, "end"), 1)
	theirs.Freeze()
	read := make(chan error, 1)
	go func() {
		_, err := readEndRecord(dir, endName(0))
		read <- err
	}()
	select {
	case err := <-read:
		if !errors.Is(err, wary.ErrElsewhere) || theirs.Unanswered() != 0 {
			t.Errorf("%v; %d questions", err, theirs.Unanswered())
		}
	case <-time.After(await.Guard(time.Minute)):
		t.Error("it does not come back")
	}
}

func FuzzParseEndRecord(f *testing.F) {
	f.Add([]byte("exit=0 user_ms=1 sys_ms=2 rss_kb=3\n"))
	f.Add([]byte("exit=300\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := parseEndRecord(text); err == nil && (r.cpuMS < 0 || r.rssKB < 0) {
			t.Errorf("%+v", r)
		}
	})
}

func sample() entry {
	return newEntry(17, 1_700_000_000_000, adapters.Bulk{
		Tag: "jabcdefghijklmn", Owner: jjm.Owner{UID: 1000, GID: 100, User: "ann"}, N: 3,
		Request: jjm.Request{Cores: 2, Walltime: jjm.Duration(time.Hour)},
		Argv:    []string{"/bin/sh", "-c", "exit 0"}, Dir: "/tmp",
	})
}

func TestParseEntry_ReadsWhatWasWritten(t *testing.T) {
	want := sample()
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseEntry(text)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v: %s", err, diff)
	}
}

func FuzzParseEntry(f *testing.F) {
	text, err := json.Marshal(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"v":1,"id":-1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := parseEntry(text)
		if err != nil {
			return
		}
		if e.ID < 1 || e.N < 1 || e.N > MaxBulk || len(e.Argv) == 0 || !e.Tag.Valid() {
			t.Errorf("accepted %+v", e)
		}
	})
}

func TestLocksByte(t *testing.T) {
	const info = "pos:\t0\nflags:\t0100000\nmnt_id:\t29\nino:\t131\nlock:\t1: OFDLCK ADVISORY  READ -1 fd:01:131 5 5\n"
	for at, want := range map[int64]bool{5: true, 4: false, 55: false} {
		if got := locksByte([]byte(info), at); got != want {
			t.Errorf("byte %d: %v", at, got)
		}
	}
	for _, line := range []string{"", "lock:\n", "lock:\t1: POSIX ADVISORY READ 4 fd:01:131 5 5\n",
		"lock:\t1: FLOCK ADVISORY WRITE 4 fd:01:131 0 EOF\n", "lock:\t1: OFDLCK ADVISORY READ -1 fd:01:131 0 EOF\n"} {
		if locksByte([]byte(line), 5) {
			t.Errorf("%q", line)
		}
	}
}

func FuzzLocksByte(f *testing.F) {
	f.Add([]byte("lock:\t1: OFDLCK ADVISORY  READ -1 fd:01:131 5 5\n"))
	f.Fuzz(func(t *testing.T, text []byte) { locksByte(text, 5) })
}

// counted checks that the counters of a bulk equal the numbers of its queued and living jobs.
func counted(t interface{ Errorf(string, ...any) }, b *bulk) {
	queued, alive := 0, 0
	for i, j := range b.jobs {
		if j.state == jjm.BatchQueued {
			queued++
			if i < b.next {
				t.Errorf("job %d waits, before next %d", i, b.next)
			}
		}
		if j.state.Alive() {
			alive++
		}
		if (b.procs[int32(i)] != nil) != (j.state == jjm.BatchRunning) {
			t.Errorf("job %d is %v, process %+v", i, j.state, b.procs[int32(i)])
		}
	}
	if queued != b.queued || alive != b.alive {
		t.Errorf("%d queued and %d alive, counted %d and %d", queued, alive, b.queued, b.alive)
	}
}

func TestReplay_AppliesTheLogAndCountsBadLines(t *testing.T) {
	tests := []struct {
		name, log string
		state     jjm.BatchState
		restarts  int32
		pid, bad  int
	}{
		{"nothing", "", jjm.BatchQueued, 0, 0, 0},
		{"marked", "boot x ;\nrun 0 0 1000 5 ;\n", jjm.BatchRunning, 0, 0, 0},
		{"running", "boot x ;\nrun 0 0 1000 5 ;\npid 0 44 6 ;\n", jjm.BatchRunning, 0, 44, 0},
		{"put back", "run 0 0 1000 5 ;\nback 0 ;\n", jjm.BatchQueued, 0, 0, 0},
		{"started again", "run 0 0 1000 5 ;\nboot y ;\nrun 0 1 2000 6 ;\npid 0 45 7 ;\n", jjm.BatchRunning, 1, 45, 0},
		{"ended", "run 0 0 1000 5 ;\npid 0 44 6 ;\nend 0 FAILED 3 0 2000 7 8 \"\" ;\n", jjm.BatchEndedFailed, 0, 0, 0},
		{"ended, told twice", "run 0 0 1000 5 ;\nend 0 OK 0 0 2000 7 8 \"a \\\" ;\" ;\nend 0 OK 0 0 2000 7 8 \"\" ;\npid 0 44 6 ;\n", jjm.BatchEndedOK, 0, 0, 0},
		{"held", "hold 0 ;\nhold 0 ;\n", jjm.BatchHold, 0, 0, 0},
		{"released", "hold 0 ;\nfree 0 ;\n", jjm.BatchQueued, 0, 0, 0},
		{"torn, whole but for its newline", "hold 0 ;", jjm.BatchHold, 0, 0, 0},
		{"torn", "hold 0", jjm.BatchQueued, 0, 0, 1},
		{"torn, and gone on", "hold \nhold 0 ;\n", jjm.BatchHold, 0, 0, 1},
		{"zeros", "hold 0 ;\n\x00\x00\x00\n", jjm.BatchHold, 0, 0, 1},
		{"nonsense", "hold 3 ;\nhold -1 ;\nhold x ;\nhold ;\nfly 0 ;\nrun 0 1 ;\npid 0 44 6 ;\nback 0 0 ;\n" +
			"end 0 RUNNING 0 0 1 1 1 \"\" ;\nend 0 OK 256 0 1 1 1 \"\" ;\nend 0 OK 0 0 1 1 1 ;\nend 0 OK 0 0 1 1 1 \"\\q\" ;\n" +
			"hold 99999999999999999999 ;\n", jjm.BatchQueued, 0, 0, 13},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBulk(sample(), "/nowhere", "x")
			bad := b.replay([]byte(tt.log))
			pid := 0
			if p := b.procs[0]; p != nil {
				pid = p.pid
			}
			j := b.jobs[0]
			if j.state != tt.state || j.restarts != tt.restarts || pid != tt.pid || bad != tt.bad {
				t.Errorf("%+v, pid %d, %d bad lines", j, pid, bad)
			}
			counted(t, b)
		})
	}
}

func TestReplay_EveryLineIsReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := job{
			state: rapid.SampledFrom([]jjm.BatchState{jjm.BatchEndedOK, jjm.BatchEndedFailed, jjm.BatchTimeout,
				jjm.BatchAborted, jjm.BatchCancelled}).Draw(t, "state"),
			signal: rapid.Uint8().Draw(t, "signal"), exit: rapid.Uint8().Draw(t, "exit"),
			restarts: rapid.Int32Min(0).Draw(t, "restarts"),
			started:  jjm.Time(rapid.Int64Min(0).Draw(t, "started")), ended: jjm.Time(rapid.Int64Min(0).Draw(t, "ended")),
			cpuMS: rapid.Int64Min(0).Draw(t, "cpu"), rssKB: rapid.Int64Min(0).Draw(t, "rss"),
			reason: string(rapid.SliceOf(rapid.Byte()).Draw(t, "reason")),
		}
		log := append(lineBoot("b"), lineRun(1, want.restarts, want.started, 5)...)
		log = append(log, linePID(1, 77, 6)...)
		log = append(log, lineOf("cancel", 1)...)
		log = append(log, lineEnd(1, &want)...)
		want.endAsked = byCancel
		b := newBulk(sample(), "/nowhere", "b")
		if bad := b.replay(log); bad != 0 {
			t.Fatalf("%d bad lines in %q", bad, log)
		}
		if diff := cmp.Diff(want, b.jobs[1], cmp.AllowUnexported(job{})); diff != "" {
			t.Fatal(diff)
		}
		counted(t, b)
	})
}

func FuzzReplay(f *testing.F) {
	f.Add([]byte("boot x ;\nrun 0 0 1000 5 ;\npid 0 44 6 ;\nend 0 FAILED 3 0 2000 7 8 \"why\" ;\n"))
	f.Add([]byte("hold 1 ;\nfree 1 ;\ncancel 2 ;\nrun 2 0 1 1 ;\nback 2 ;\nhold 0"))
	f.Fuzz(func(t *testing.T, log []byte) {
		b := newBulk(sample(), "/nowhere", "x")
		b.replay(log)
		counted(t, b)
	})
}

func TestMembers_IgnoresAnotherSessionWithTheSameNumber(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	leader, err := readStat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	p := &proc{pid: leader.session, born: [2]int64{leader.startMS - 5000, leader.startMS - 4000}}
	if found := p.members(); len(found) != 0 {
		t.Errorf("taken for the job's: %+v", found)
	}
	p.born = [2]int64{leader.startMS, leader.startMS}
	if found := p.members(); len(found) != 1 {
		t.Errorf("the job's own session is %+v", found)
	}
}

func TestAdopt_AJobThatCannotBeReachedIsAliveUntilItsLockIsFree(t *testing.T) {
	state := t.TempDir()
	e := sample()
	e.ID, e.N, e.Owner = 1, 1, jjm.Owner{UID: os.Getuid(), GID: os.Getgid()}
	e.Request = jjm.Request{}
	dir := filepath.Join(state, "spool", "1")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	log := append(lineBoot(bootID()), lineRun(0, 0, e.Submitted, sinceBoot())...)
	for name, content := range map[string][]byte{"bulk.json": text, "log": log, "locks": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// This process holds the lock, but holders ignores the process that calls it.
	b := newBulk(e, dir, bootID())
	lock, err := b.takeLock(0)
	if err != nil {
		t.Fatal(err)
	}
	a, err := New("local", adapters.Env{State: state}, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- a.Run(t.Context()) }()
	look := func() jjm.Report {
		l, err := a.List(t.Context(), e.Owner, time.Time{})
		if err != nil || len(l.Reports) != 1 {
			t.Fatalf("%+v, error %v", l, err)
		}
		return l.Reports[0]
	}
	time.Sleep(2 * lookAgain)
	if r := look(); r.State != jjm.BatchRunning {
		t.Errorf("%+v", r)
	}
	lock.Close()
	await.True(t, "the job has ended", func() bool { return look().State.Ended() })
	if r := look(); r.State != jjm.BatchAborted || !strings.Contains(fmt.Sprint(r.Reason), "no exit record") {
		t.Errorf("%+v", r)
	}
}
