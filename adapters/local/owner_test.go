package local_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/local"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

var nobody = jjm.Owner{UID: 65534, GID: 65534, User: "nobody"}

// rootOnly skips a test with jobs of other accounts unless root runs it. It returns a folder that all accounts can pass
// through; accounts other than root cannot pass through the folders of package testing.
func rootOnly(t testing.TB) string {
	t.Helper()
	needs.Root(t, "to run jobs of others")
	dir, err := os.MkdirTemp("", "jjm-local-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// theirs returns a bulk of user nobody, in a folder that belongs to nobody.
func theirs(t *testing.T, base string, n int, script string) adapters.Bulk {
	t.Helper()
	b := shell(t, n, script)
	b.Owner, b.Dir = nobody, filepath.Join(base, string(b.Tag))
	if err := os.Mkdir(b.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(b.Dir, nobody.UID, nobody.GID); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOwner_JobsRunAsTheirOwnerAndLeaveTheirRecord(t *testing.T) {
	base := rootOnly(t)
	a := open(t, base, config(2))
	stop := serve(t, a)
	b := theirs(t, base, 1, `id -u > id; id -g >> id; umask >> id; echo $HOME >> id
		while [ ! -e go ]; do sleep 0.01; done
		echo "exit=8 user_ms=1 sys_ms=1 rss_kb=1" > $JJM_SPOOL_END.new && mv $JJM_SPOOL_END.new $JJM_SPOOL_END; exit 8`)
	submit(t, a, b)
	waitFor(t, "the job's file", func() bool { return lines(t, b, "id") == 4 })
	text, err := os.ReadFile(filepath.Join(b.Dir, "id"))
	if err != nil || !strings.HasPrefix(string(text), "65534\n65534\n") {
		t.Errorf("it ran as %q, error %v", text, err)
	}
	stop()
	if err := os.WriteFile(filepath.Join(b.Dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(base, "spool", "1", "end", "0")
	waitFor(t, "the end record", func() bool { _, err := os.Stat(record); return err == nil })
	again := open(t, base, config(2))
	serve(t, again)
	if r := waitEnd(t, again, b)[0]; r.State != jjm.BatchEndedFailed || r.Exit != 8 {
		t.Errorf("%+v", r)
	}
}

// An account with many jobs delays the jobs of other accounts only until a core is free.
func TestOwner_AFloodDoesNotHoldUpOthers(t *testing.T) {
	base := rootOnly(t)
	a := open(t, base, config(1))
	flood, few := shell(t, 5, `echo mine >> order`), theirs(t, base, 2, `echo theirs >> ../order; exit 0`)
	flood.Dir = base
	order := filepath.Join(base, "order")
	if err := os.WriteFile(order, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(order, 0o666); err != nil {
		t.Fatal(err)
	}
	submit(t, a, flood)
	submit(t, a, few)
	if r := list(t, a, few)[0]; r.Reason != "free cores: 0 of 1 taken, 0 by this account; 2 accounts take turns" {
		t.Errorf("it waits for %q", r.Reason)
	}
	serve(t, a)
	waitEnd(t, a, flood)
	waitEnd(t, a, few)
	text, err := os.ReadFile(order)
	got, want := strings.Fields(string(text)), "mine theirs mine theirs mine mine mine"
	if strings.Join(got, " ") != want {
		t.Errorf("started in the order %s, error %v, want %s", got, err, want)
	}
}

func TestOwner_SeesNothingOfTheSpoolButItsOwnRecords(t *testing.T) {
	base := rootOnly(t)
	a := open(t, base, config(2))
	serve(t, a)
	spool := filepath.Join(base, "spool")
	b := theirs(t, base, 1, fmt.Sprintf(`
		for f in lock 1/bulk.json 1/log 1/locks; do cat %[1]s/$f && echo "read $f" >> seen; echo x >> %[1]s/$f && echo "wrote $f" >> seen; done
		ls %[1]s && echo "listed" >> seen
		echo x > /proc/self/fd/3 && echo "wrote through the lock" >> seen
		mv %[1]s/1 %[1]s/2 && echo "moved" >> seen
		exit 0`, spool))
	submit(t, a, b)
	waitEnd(t, a, b)
	if text, err := os.ReadFile(filepath.Join(b.Dir, "seen")); err == nil {
		t.Errorf("the job could do more than it should:\n%s", text)
	}
}

func TestOwner_TheLogIsOpenedWithTheOwnersRights(t *testing.T) {
	base := rootOnly(t)
	w := &warnings{}
	a := openWarned(t, base, config(2), w, time.Now)
	serve(t, a)
	secret := filepath.Join(base, "secret")
	if err := os.WriteFile(secret, []byte("root's\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	good := theirs(t, base, 2, "echo hello")
	good.Log = filepath.Join(good.Dir, "log")
	bad := theirs(t, base, 1, "echo intruder")
	bad.Log = filepath.Join(bad.Dir, "log")
	if err := os.Symlink(secret, bad.Log); err != nil {
		t.Fatal(err)
	}
	for _, b := range []adapters.Bulk{good, bad} {
		submit(t, a, b)
		for _, r := range waitEnd(t, a, b) {
			if r.State != jjm.BatchEndedOK {
				t.Errorf("%+v", r)
			}
		}
	}
	info, err := os.Stat(good.Log)
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(nobody.UID) || lines(t, good, "log") != 2 {
		t.Errorf("the log: %+v, error %v", info, err)
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "root's\n" {
		t.Errorf("root's file: %q, error %v", text, err)
	}
	if !strings.Contains(w.String(), "permission denied") {
		t.Errorf("it warned %q", w)
	}
	// This thread must still have its own rights.
	if err := os.WriteFile(filepath.Join(base, "mine"), nil, 0o600); err != nil {
		t.Error(err)
	}
}

func TestOwner_AStateFolderThatOwnersCannotPassCausesAWarning(t *testing.T) {
	base := rootOnly(t)
	state := filepath.Join(base, "closed")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	w := &warnings{}
	a := openWarned(t, state, config(2), w, time.Now)
	serve(t, a)
	b := theirs(t, base, 1, "exit 0")
	submit(t, a, b)
	waitEnd(t, a, b)
	if !strings.Contains(w.String(), "chmod o+x") || !strings.Contains(w.String(), state) {
		t.Errorf("it warned %q", w)
	}
}

func TestOwner_AForgedRecordHarmsOnlyItsOwnJob(t *testing.T) {
	base := rootOnly(t)
	a := open(t, base, config(2))
	stop := serve(t, a)
	b := theirs(t, base, 3, `[ $JJM_INDEX = 0 ] && { mkfifo $JJM_SPOOL_END; ln -s /etc/passwd ${JJM_SPOOL_END%0}1; }
		echo x > up.$JJM_INDEX; while [ ! -e go ]; do sleep 0.01; done; exit 2`)
	submit(t, a, b)
	waitFor(t, "the jobs", func() bool { return lines(t, b, "up.0")+lines(t, b, "up.1")+lines(t, b, "up.2") >= 2 })
	stop()
	again := open(t, base, local.Config{Slots: 3, Keep: jjm.Duration(time.Hour)})
	serve(t, again)
	if err := os.WriteFile(filepath.Join(b.Dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// The jobs are children of this process, so the result of wait4 counts and the end records are ignored.
	for _, r := range waitEnd(t, again, b) {
		if r.State != jjm.BatchEndedFailed || r.Exit != 2 {
			t.Errorf("%+v", r)
		}
	}
}
