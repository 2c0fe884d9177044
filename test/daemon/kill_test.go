package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"jjm"
	"jjm/wire"
)

// flood submits a grid job of n local jobs that write a line when their application begins, and waits until as many run
// as the cluster has slots and the cluster has the others.
func (d *daemon) flood(n, slots int) (id string) {
	d.t.Helper()
	d.write("flood.toml", fmt.Sprintf("type = \"script\"\nresult = \"exit\"\n[params]\n"+
		"command = [\"sh\", \"-c\", 'echo x >>%s; exec sleep 1000']\ncount = %d\n", d.begunFile(), n))
	out, code := d.says("submit", "flood.toml")
	if id = strings.TrimSpace(out); code != 0 {
		d.t.Fatalf("submit: %q, exit %d", out, code)
	}
	id = strings.Fields(id)[len(strings.Fields(id))-1]
	d.eventually("all slots taken and the others queued", func() bool {
		_, c := d.statusOf(id)
		return d.begun() == slots && c.Submitted+c.Running == n
	})
	return id
}

// statusOf returns the status of a grid job and its counts.
func (d *daemon) statusOf(id string) (status string, c wire.Counts) {
	d.t.Helper()
	var st wire.Status
	out, _ := d.says("status", "--json", id)
	if err := json.Unmarshal([]byte(out), &st); err != nil {
		d.t.Fatalf("status: %v: %s", err, out)
	}
	return st.Lookup.Status, st.Lookup.Counts
}

// aborted waits until a grid job is over.
func (d *daemon) aborted(id string) {
	d.t.Helper()
	d.eventually("it is aborted", func() bool { status, _ := d.statusOf(id); return status == jjm.Aborted.String() })
}

func (d *daemon) begunFile() string { return filepath.Join(d.dir, "begun") }

// begun counts the applications that began.
func (d *daemon) begun() int {
	d.t.Helper()
	text, err := os.ReadFile(d.begunFile())
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

const floodSlots = 4

var floodConfig = "[[cluster]]\nname = \"local\"\nkind = \"local\"\nslots = " + strconv.Itoa(floodSlots) + "\n"

// Slots that a kill frees are not taken by jobs that wait and are killed too.
func TestKill_NothingBeginsAfterTheAnswer(t *testing.T) {
	t.Parallel()
	d := start(t, floodConfig)
	id := d.flood(400, floodSlots)
	if out, code := d.says("kill", id); code != 0 {
		t.Fatalf("kill: %s, exit %d", out, code)
	}
	before := d.begun()
	d.aborted(id)
	if after := d.begun(); after != before {
		t.Errorf("%d applications began after the kill was answered", after-before)
	}
	history, _ := d.says("history", id)
	if n := strings.Count(history, "\n"); n > 40 {
		t.Errorf("%d lines of history, want one for many local jobs that ended alike:\n%.2000s", n, history)
	}
}

// A daemon that dies when the kill is stored, and before the batch system knows of it, starts nothing of it later.
func TestKill_NothingBeginsAfterACrash(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"kill.after-commit", "local.withdrawn"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			d := start(t, floodConfig, "JJM_FAILPOINT="+point)
			id := d.flood(100, floodSlots)
			if _, code := d.says("kill", id); code == 0 {
				t.Fatal("the daemon answered and was to die")
			}
			_ = d.cmd.Wait() // the error says that it was killed
			before := d.begun()
			d.env = append(d.env, "JJM_FAILPOINT=")
			d.again()
			d.aborted(id)
			if after := d.begun(); after != before {
				t.Errorf("%d applications began after the crash", after-before)
			}
		})
	}
}
