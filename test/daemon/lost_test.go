package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/storage/highwater"
)

// TestLost_IsNoticedAndHealed moves away the store, the work area or the records under a running daemon. The daemon
// accepts no new work, reports the reason, and continues when the folder is back. Lost records are written again.
func TestLost_IsNoticedAndHealed(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	at := func(name string) string { return filepath.Join(d.dir, "state", name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	d.write("job.toml", quickJob)
	if out, code := d.says("submit", "job.toml", "--wait"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	d.write("job.toml", strings.Replace(quickJob, `"true"`, `"sleep", "600"`, 1))
	if out, code := d.says("submit", "job.toml"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	recorded := func() bool {
		_, ended := os.Stat(at("records/1/jobs-0000.xml"))
		_, running := os.Stat(at("records/2/record.xml"))
		return ended == nil && running == nil
	}
	d.eventually("the records", recorded)
	for _, name := range []string{"store.db", "work", "records"} {
		must(os.Rename(at(name), at(name+".away")))
		d.logs("new work is refused")
		cmd := bin.Command(t, "submit", "job.toml")
		cmd.Env, cmd.Dir = d.env, d.dir
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "was removed: "+at(name)) {
			t.Errorf("%s: submit says %v: %s", name, err, out)
		}
		if out, _ := d.says("clusters"); !strings.Contains(out, "was removed") {
			t.Errorf("%s: jjm clusters says nothing:\n%s", name, out)
		}
		if name == "records" { // the records are lost, and the test makes their folder again
			must(os.RemoveAll(at(name + ".away")))
			must(os.Mkdir(at(name), 0o755))
		} else {
			must(os.Rename(at(name+".away"), at(name)))
		}
		d.logs("what was lost is back")
		if out, code := d.says("submit", "job.toml"); code != 0 {
			t.Errorf("%s: exit %d after it is back\n%s", name, code, out)
		}
		d.log.clear()
	}
	spool := at("spool")
	must(os.RemoveAll(spool))
	d.logs("the spool was removed or replaced, and was made again")
	d.eventually("the spool again, of this store", func() bool {
		_, in := os.Stat(filepath.Join(spool, "in"))
		_, stamp := os.Stat(filepath.Join(spool, highwater.StampFile))
		return in == nil && stamp == nil
	})
	if out, code := d.says("submit", "job.toml"); code != 0 {
		t.Errorf("exit %d after the spool was removed\n%s", code, out)
	}
	d.eventually("the records again, of the grid job that runs and of the one that is over", recorded)
}

// clear empties the collected log.
func (l *logBuffer) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}
