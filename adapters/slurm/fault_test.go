package slurm_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/slurm"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// ownBed is a Slurm that only this test uses: without accounting, with a MessageTimeout of 2 s and a MinJobAge of 600
// s.
func ownBed(t *testing.T) *testbed.Bed {
	t.Helper()
	dir, err := os.MkdirTemp("", "jjm-bed-slurm-*") // the folder of a killed run is removed with its daemons
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for name, value := range map[string]string{
		"JJM_TESTBED": dir, "JJM_SLURM_PORT": strconv.Itoa(freePorts(t)), "JJM_SLURM_ACCOUNTING": "0",
		"JJM_SLURM_REST": "0", "JJM_SLURM_TIMEOUT": "2", "JJM_SLURM_MINJOBAGE": "600",
	} {
		t.Setenv(name, value)
	}
	bed := testbed.Start(t, "slurm")
	t.Cleanup(func() { bed.Do(t, "down", "--wipe") })
	return bed
}

// freePorts returns the first of ten consecutive free ports, below the range from which the kernel assigns ports.
func freePorts(t *testing.T) int {
	t.Helper()
	for first := 20000 + os.Getpid()%500*20; first < 32000; first += 10 {
		free := 0
		for port := first; port < first+10; port++ {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if err != nil {
				break
			}
			_ = l.Close()
			free++
		}
		if free == 10 {
			return first
		}
	}
	t.Fatal("no ten free ports in a row")
	return 0
}

func bulk(t *testing.T, bed *testbed.Bed, n int, script string) adapters.Bulk {
	t.Helper()
	tag, err := jjm.NewTag("test")
	if err != nil {
		t.Fatal(err)
	}
	return adapters.Bulk{Tag: tag, Owner: bed.Owner, N: n, Dir: "/", Argv: []string{"/bin/sh", "-c", script}}
}

// The test stops, freezes and kills the controller. Its steps share a test bed, and the controller works again after
// each step.
func TestFaults(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	bed := ownBed(t)
	a := probed(t, open(t, bed, func(*slurm.Config) {}))
	if c := a.Capabilities(); c.Guarantee != "window 600 s: MinJobAge, no accounting" || c.Accounting ||
		c.Settle != 4*time.Second {
		t.Errorf("%+v", c)
	}
	t.Run("a frozen controller takes the bulk when it wakes", func(t *testing.T) { frozen(t, bed, a) })
	t.Run("a killed sbatch leaves a bulk behind", func(t *testing.T) { killedSbatch(t, bed, a) })
	t.Run("a controller that is down makes no empty listing", func(t *testing.T) { down(t, bed, a) })
	t.Run("without munge nothing was sent", func(t *testing.T) { noMunge(t, bed, a) })
	t.Run("an id that is given out again is another's", func(t *testing.T) { recycled(t, bed, a) })
	t.Run("a job cancelled out of its array is remembered", func(t *testing.T) { outOfArray(t, bed, a) })
}

// present waits until Find reports the tag of a bulk as present, and returns the answer.
func present(t *testing.T, a *slurm.Adapter, b adapters.Bulk) adapters.Found {
	t.Helper()
	var found []adapters.Found
	var err error
	for end := time.Now().Add(await.Guard(3 * time.Minute)); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		found, err = a.Find(t.Context(), b.Owner, []jjm.Tag{b.Tag})
		if err == nil && found[0].Presence == adapters.Present {
			return found[0]
		}
	}
	t.Fatalf("found %+v, error %v", found, err)
	return adapters.Found{}
}

func wantKind(t *testing.T, what string, err error, kind jjm.Kind) {
	t.Helper()
	if err == nil || jjm.KindOf(err) != kind {
		t.Errorf("%s: error %v of kind %v, want %v", what, err, jjm.KindOf(err), kind)
	}
}

func frozen(t *testing.T, bed *testbed.Bed, a *slurm.Adapter) {
	b := bulk(t, bed, 2, "exit 0")
	bed.Do(t, "freeze", "slurmctld")
	_, err := a.Submit(t.Context(), b)
	bed.Do(t, "thaw", "slurmctld")
	wantKind(t, "submit", err, jjm.Ambiguous)
	if f := present(t, a, b); len(f.IDs) != 1 {
		t.Errorf("found %+v", f)
	}
}

// killedSbatch freezes the controller, and kills sbatch after its request has arrived at the controller.
func killedSbatch(t *testing.T, bed *testbed.Bed, a *slurm.Adapter) {
	b := bulk(t, bed, 1, "exit 0")
	bed.Do(t, "freeze", "slurmctld")
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	submitted := make(chan error, 1)
	go func() {
		_, err := a.Submit(ctx, b)
		submitted <- err
	}()
	for end := time.Now().Add(await.Guard(time.Minute)); !arrived(t, b.Tag); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no request comes to the controller")
		}
	}
	kill()
	err := <-submitted
	_, errList := a.List(ctx, bed.Owner, time.Now())
	bed.Do(t, "thaw", "slurmctld")
	wantKind(t, "submit", err, jjm.Ambiguous)
	wantKind(t, "list", errList, jjm.Busy)
	present(t, a, b)
}

// arrived reports whether the request of the sbatch of a tag has reached the controller of ownBed, which has not read
// it. Nodes send requests too, so a connection is identified by its two ports.
func arrived(t *testing.T, tag jjm.Tag) bool {
	t.Helper()
	controller, err := strconv.Atoi(os.Getenv("JJM_SLURM_PORT"))
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprintf(":%04X", controller)
	mine := socketsOf(tag)
	sent, unread := map[string]bool{}, map[string]bool{}
	for _, c := range connections(t) {
		switch {
		case strings.HasSuffix(c.remote, port) && mine[c.inode]:
			sent[c.local[strings.LastIndex(c.local, ":"):]] = true
		case strings.HasSuffix(c.local, port) && c.received:
			unread[c.remote[strings.LastIndex(c.remote, ":"):]] = true
		}
	}
	for from := range sent {
		if unread[from] {
			return true
		}
	}
	return false
}

// connection is one established TCP connection. Addresses end with a colon and the port, in hexadecimal. received is
// set if the connection has unread data.
type connection struct {
	local, remote, inode string
	received             bool
}

// connections returns the TCP connections of this network namespace; the columns are described in proc_net_tcp.txt
// (kernel documentation).
func connections(t *testing.T) (all []connection) {
	t.Helper()
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			const established = "01"
			if len(words) < 10 || words[3] != established {
				continue
			}
			_, queue, _ := strings.Cut(words[4], ":")
			all = append(all, connection{local: words[1], remote: words[2], inode: words[9],
				received: strings.Trim(queue, "0") != ""})
		}
	}
	return all
}

// socketsOf returns the inodes of the sockets of the processes whose command line has a tag.
func socketsOf(tag jjm.Tag) map[string]bool {
	inodes := map[string]bool{}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), string(tag)) {
			continue // the process belongs to another account, or has ended
		}
		open, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "fd/*"))
		for _, fd := range open {
			to, _ := os.Readlink(fd)
			if inode, is := strings.CutPrefix(to, "socket:["); is {
				inodes[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	return inodes
}

func down(t *testing.T, bed *testbed.Bed, a *slurm.Adapter) {
	bed.Do(t, "stop", "slurmctld")
	defer bed.Do(t, "start", "slurmctld")
	err := a.Probe(t.Context())
	wantKind(t, "probe", err, jjm.Busy)
	// After a failed ping, the probe runs no command that would wait for the controller.
	if err == nil || !strings.Contains(err.Error(), "no controller answers: scontrol ping") {
		t.Errorf("the probe did not see by the ping that nobody answers: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), await.Provoked(time.Second))
	defer cancel()
	l, err := a.List(ctx, bed.Owner, time.Now())
	wantKind(t, "list", err, jjm.Busy)
	if len(l.Reports) > 0 {
		t.Errorf("%+v", l)
	}
	found, err := a.Find(ctx, bed.Owner, []jjm.Tag{"jtest"})
	wantKind(t, "find", err, jjm.Busy)
	if len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

func noMunge(t *testing.T, bed *testbed.Bed, a *slurm.Adapter) {
	bed.Do(t, "stop", "munged")
	b := bulk(t, bed, 1, "exit 0")
	_, err := a.Submit(t.Context(), b)
	bed.Do(t, "start", "munged")
	wantKind(t, "submit", err, jjm.Busy)
	found, err := a.Find(t.Context(), bed.Owner, []jjm.Tag{b.Tag})
	if err != nil || found[0].Presence != adapters.Absent {
		t.Errorf("found %+v, error %v", found, err)
	}
}

// recycled kills the controller after it acknowledged a bulk and before the bulk was on its disk. The controller then
// forgets the bulk, and assigns its id to the next bulk. To reproduce this moment, the controller's folder is replaced
// by an earlier copy.
func recycled(t *testing.T, bed *testbed.Bed, a *slurm.Adapter) {
	state := filepath.Join(filepath.Dir(bed.Vars["ETC"]), "ctld")
	before := filepath.Join(t.TempDir(), "ctld")
	bed.Do(t, "stop", "slurmctld")
	copied(t, state, before)
	bed.Do(t, "start", "slurmctld")
	lost, other := bulk(t, bed, 1, "sleep 600"), bulk(t, bed, 1, "sleep 600")
	lost.Request.Queue, other.Request.Queue = "closed", "closed" // accepts jobs and runs none
	was := submit(t, a, lost)
	bed.Do(t, "kill", "slurmctld")
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	copied(t, before, state)
	bed.Do(t, "start", "slurmctld")
	is := submit(t, a, other)
	if is.ID != was.ID {
		t.Fatalf("the controller gave out %s, then %s; want one id twice", was.ID, is.ID)
	}
	found, err := a.Find(t.Context(), bed.Owner, []jjm.Tag{lost.Tag, other.Tag})
	if err != nil || found[0].Presence != adapters.Absent || found[1].Presence != adapters.Present {
		t.Errorf("found %+v, error %v", found, err)
	}
	ref := adapters.Ref{Tag: lost.Tag, ID: was.ID, Index: 0}
	for _, op := range []adapters.Op{adapters.HoldJobs, adapters.Cancel} {
		answers, err := a.Control(t.Context(), bed.Owner, op, []adapters.Ref{ref})
		if err != nil || answers[0] != nil {
			t.Errorf("%v: answers %v, error %v", op, answers, err)
		}
	}
	if r := listed(t, a, other)[0]; !r.State.Alive() || r.State == jjm.BatchHold {
		t.Errorf("the stranger's job was touched: %+v", r)
	}
	if got, err := a.Account(t.Context(), bed.Owner, []adapters.Ref{ref}); err != nil || len(got) != 0 {
		t.Errorf("accounted %+v, error %v", got, err)
	}
}

// copied copies a folder with its owners and modes.
func copied(t *testing.T, from, to string) {
	t.Helper()
	out, err := run.Run(t.Context(), run.Cmd{
		Argv: []string{"/bin/cp", "-a", from, to}, Deadline: await.Guard(5 * time.Minute),
	})
	if err != nil || out.Exit != 0 {
		t.Fatalf("cp -a %s %s: exit %d, error %v: %s", from, to, out.Exit, err, out.Stderr)
	}
}

// outOfArray cancels some jobs that wait inside their array. Slurm forgets these jobs immediately.
func outOfArray(t *testing.T, bed *testbed.Bed, a *slurm.Adapter) {
	b := bulk(t, bed, 6, "sleep 600")
	b.Request.Queue = "closed" // accepts jobs and runs none
	r := submit(t, a, b)
	refs := []adapters.Ref{{Tag: b.Tag, ID: r.ID, Index: 1}, {Tag: b.Tag, ID: r.ID + "_4", Index: -1}}
	answers, err := a.Control(t.Context(), bed.Owner, adapters.Cancel, refs)
	if err != nil || answers[0] != nil || answers[1] != nil {
		t.Fatalf("answers %v, error %v", answers, err)
	}
	all := listed(t, a, b)
	for i := range int32(6) {
		want := jjm.BatchQueued
		if i == 1 || i == 4 {
			want = jjm.BatchCancelled
		}
		if all[i].State != want || all[i].ID == "" || all[i].Submitted == 0 {
			t.Errorf("job %d: %+v, want %v", i, all[i], want)
		}
	}
	got, err := a.Account(t.Context(), bed.Owner, refs)
	if err != nil || len(got) != 2 || got[0].State != jjm.BatchCancelled {
		t.Errorf("accounted %+v, error %v", got, err)
	}
}

func submit(t *testing.T, a *slurm.Adapter, b adapters.Bulk) adapters.Receipt {
	t.Helper()
	r, err := a.Submit(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// listed returns the reports of a bulk by index.
func listed(t *testing.T, a *slurm.Adapter, b adapters.Bulk) map[int32]jjm.Report {
	t.Helper()
	l, err := a.List(t.Context(), b.Owner, time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	found := map[int32]jjm.Report{}
	for _, r := range l.Reports {
		if r.Tag == b.Tag {
			found[r.Index] = r
		}
	}
	return found
}
