package daemon_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

// until repeats a command of jjm until its output contains a text, which may be split over two lines.
func (d *daemon) until(want string, args ...string) (out string) {
	d.t.Helper()
	d.eventually(want, func() bool {
		out, _ = d.says(args...)
		return strings.Contains(strings.Join(strings.Fields(out), " "), want)
	})
	return out
}

const sleeper = "type = \"script\"\n[params]\ncommand = [\"true\"]\n[request]\nwalltime = \"12h\"\n"

// An announced maintenance window is shown in all output about its cluster, also after a restart of the daemon. Jobs
// that end before the window may start. An administrator can end the window early.
func TestWindow_IsAnnouncedShownAndKept(t *testing.T) {
	t.Parallel()
	d := start(t, "", "TZ=Europe/Berlin")
	from := time.Now().Add(10 * time.Hour).Truncate(time.Minute)
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	when := "from " + from.In(zone).Format("2006-01-02 15:04 MST") + " until " +
		from.Add(4*time.Hour).In(zone).Format("2006-01-02 15:04 MST")
	out, code := d.says("drain", "cluster", "local", "--from", from.In(zone).Format("2006-01-02T15:04"), "--until",
		from.Add(4*time.Hour).In(zone).Format("15:04"), "--reason", "new disks")
	if code != 0 || !strings.HasPrefix(out, "cluster local maintenance announced "+when) {
		t.Fatalf("announced: exit %d: %s", code, out)
	}
	d.write("long.toml", sleeper)
	d.write("short.toml", strings.Replace(sleeper, "12h", "1h", 1))
	if out, code := d.says("submit", "long.toml"); code != 0 || out != "1\n" {
		t.Fatalf("it is accepted: exit %d: %s", code, out)
	}
	if out, code := d.says("submit", "--wait", "short.toml"); code != 0 {
		t.Errorf("what fits: exit %d: %s", code, out)
	}
	why := "cluster local has a maintenance window " + when
	for range 2 {
		d.until(why+": 12 h requested would not end before it", "status", "1")
		d.until("waits for "+why, "status", "1.0")
		d.until("local: "+why, "clusters")
		d.until("in maintenance", "history", "--orders")
		d.until("new disks ("+when+")", "history", "--orders")
		d.restart()
	}
	out, code = d.says("resume", "cluster", "local")
	if code != 0 || !strings.Contains(out, "was maintenance announced "+when) {
		t.Errorf("ended by hand: exit %d: %s", code, out)
	}
	if out, code := d.says("wait", "1"); code != 0 {
		t.Errorf("afterwards: exit %d: %s", code, out)
	}
}

// During a maintenance window nothing is submitted. After the window all waiting jobs are submitted, without a command
// of an administrator.
func TestWindow_AllGoesOnAfterIt(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	// A busy machine can be so slow that the window is over before the daemon is told. Then the next window is longer.
	var end time.Time
	length := 4 * time.Second
	await.Nil(t, "a window that is not over", func() error {
		end, length = time.Now().Add(length), 2*length
		out, code := d.says("drain", "cluster", "local", "--from", time.Now().Add(-time.Hour).Format(time.RFC3339),
			"--until", end.Format(time.RFC3339Nano), "--reason", "new disks")
		if code != 0 {
			return fmt.Errorf("exit %d: %s", code, out)
		}
		return nil
	})
	d.write("short.toml", strings.Replace(sleeper, "12h", "1s", 1))
	if out, code := d.says("submit", "--wait", "short.toml"); code != 0 {
		t.Errorf("exit %d: %s", code, out)
	}
	out, _ := d.says("status", "--json", "1.0")
	var s wire.Status
	if err := json.Unmarshal([]byte(out), &s); err != nil || len(s.Locals) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if l := s.Locals[0]; l.Submitted < jjm.At(end) {
		t.Errorf("submitted at %s, and the window ended at %s", l.Submitted, jjm.At(end))
	}
}
