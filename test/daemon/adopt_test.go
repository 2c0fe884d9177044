package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// onWork returns the line of a configuration that sets the folder of the work area.
func onWork(work string) string { return fmt.Sprintf("work = %q\n", work) }

// refusal starts a daemon in a state folder. It returns the daemon's error, or "" if the daemon serves.
func (d *daemon) refusal(state string, args ...string) string {
	d.t.Helper()
	said, serves := d.serve(state, append([]string{"--config", d.dir + "/jjm.toml"}, args...)...)
	if serves {
		return ""
	}
	return said
}

// TestStore_TwoStatesOnOneWorkArea: a daemon with a second state folder would assign the same ids as the first. The
// same is true if the whole state was lost, or was restored from a time before the last grid jobs. In each case the
// error names the owner of the work area; with --adopt the daemon continues above all ids.
func TestStore_TwoStatesOnOneWorkArea(t *testing.T) {
	t.Parallel()
	work := filepath.Join(shortDir(t), "work")
	d := start(t, onWork(work))
	d.write("job.toml", quickJob)
	other := filepath.Join(shortDir(t), "state")
	for _, jobs := range []string{"before the first grid job", "after it"} {
		said := d.refusal(other)
		for _, want := range []string{work + " belongs to another store: ", "this one is new", "set state and work to other",
			"jjm serve --adopt, with the --config of the daemon"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: want %q, the daemon says\n%s", jobs, want, said)
			}
		}
		if out, code := d.says("submit", "job.toml", "--wait"); code != 0 {
			t.Fatalf("exit %d\n%s", code, out)
		}
	}
	if _, err := os.Stat(filepath.Join(other, "store.db")); !os.IsNotExist(err) {
		t.Errorf("what was refused has a store: %v", err)
	}

	old := d.copied("store.db store.db-wal store.db-shm store.ids records spool")
	if out, code := d.says("submit", "job.toml", "--wait"); code != 0 || !strings.Contains(out, "3") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	d.signal(syscall.SIGTERM)
	_ = d.cmd.Wait()
	said := d.refusal(old)
	for _, want := range []string{"store.db is older than " + work, "it knows grid jobs up to 2,", "--adopt"} {
		if !strings.Contains(said, want) {
			t.Errorf("want %q of a restored older state, the daemon says\n%s", want, said)
		}
	}
	for _, next := range []struct{ state, id string }{{old, "101"}, {other, "201"}} {
		if said := d.refusal(next.state, "--adopt"); said != "" {
			t.Fatalf("it does not adopt:\n%s", said)
		}
		s := d.in(next.state)
		if out, code := s.says("submit", "job.toml"); code != 0 || strings.TrimSpace(out) != next.id {
			t.Errorf("exit %d, %q: want grid job %s, above all of before", code, out, next.id)
		}
		s.signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	}
}

// in starts another daemon with the same configuration in another state folder, and kills it at the end of the test.
func (d *daemon) in(state string) *daemon {
	d.t.Helper()
	s := &daemon{t: d.t, dir: d.dir, log: &logBuffer{}, cmd: d.cmd, env: append(slices.Clone(d.env), "JJM_STATE="+state)}
	s.again()
	d.t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	return s
}

// TestStore_SkipsIDsThatHaveFolders: if a folder already exists for the next id, a new grid job gets another id, and
// the log names the folder.
func TestStore_SkipsIDsThatHaveFolders(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	area := filepath.Join(d.dir, "state", "work", userName(t), "jobs", "1", "0xxx")
	record := filepath.Join(d.dir, "state", "records", "2")
	for _, dir := range []string{area, record} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.write("job.toml", quickJob)
	if out, code := d.says("submit", "job.toml", "--wait"); code != 0 || !strings.Contains(out, "3") {
		t.Errorf("exit %d, want grid job 3 done:\n%s", code, out)
	}
	d.logs("an id is skipped")
	for _, folder := range []string{filepath.Dir(area), record} {
		d.logs("folder=" + folder)
	}
}
