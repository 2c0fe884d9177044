package daemon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// noticePoints returns the failpoints on the way of a notice, in the order in which a notice passes them. At a
// failpoint the test kills the daemon.
func noticePoints() []string {
	return []string{"notify.found", "notify.stored", "notify.sent", "notify.ended"}
}

// events returns the events in a file with one event per line.
func (d *daemon) events(path string) (all []map[string]any) {
	d.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e map[string]any
		if json.Unmarshal([]byte(line), &e) == nil { // the last line may be incomplete
			all = append(all, e)
		}
	}
	return all
}

// The daemon is killed between the end of a grid job and the moment at which the delivery of its notice is stored. No
// notice is lost. Only a notice whose delivery was not stored is delivered again, with the same key. The end of the
// next generation has a separate notice and key.
func TestNotices_AKilledDaemonLosesNone(t *testing.T) {
	t.Parallel()
	for _, point := range noticePoints() {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			told, program := filepath.Join(dir, "told"), filepath.Join(dir, "tell")
			if err := os.WriteFile(program, []byte("#!/bin/sh\nexec cat >>"+told+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			d := start(t, "[notify]\ncommand = [\""+program+"\"]\n", "JJM_FAILPOINT="+point)
			d.write("job.toml", "type = \"script\"\nresult = \"exit\"\nnotify = [\"a@example.org\"]\n"+
				"[params]\ncommand = [\"false\"]\n")
			if out, code := d.tells("submit", "job.toml"); code != 0 {
				t.Fatalf("submit: exit %d\n%s", code, out)
			}
			_ = d.cmd.Wait() // the error is that the daemon was killed
			if !strings.Contains(d.log.String(), "killed at failpoint") {
				t.Fatalf("the daemon ended elsewhere:\n%s", d.log)
			}
			d.env = append(d.env, "JJM_FAILPOINT=")
			d.again()
			d.tells("wait", "1")
			d.eventually("the first end is told", func() bool { return len(d.events(told)) > 0 })
			if out, code := d.tells("resubmit", "1"); code != 0 {
				t.Fatalf("resubmit: exit %d\n%s", code, out)
			}
			d.eventually("the second end is told", func() bool {
				all := d.events(told)
				return len(all) > 0 && all[len(all)-1]["generation"] == 2.0
			})
			all := d.events(told)
			want := 2
			if point == "notify.sent" {
				want = 3 // the first notice is delivered twice
			}
			if len(all) != want || all[0]["event"] != all[want-2]["event"] || all[0]["event"] == all[want-1]["event"] {
				t.Errorf("%d events, want %d: %v", len(all), want, all)
			}
		})
	}
}
