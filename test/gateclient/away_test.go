package gateclient_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/api/wire"
	"jjm/internal/gatekeeper"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/programs"
)

// lookedUp repeats a lookup until it is answered, like a gatekeeper. If a daemon is killed after it stored a grid job
// and before it wrote the first record, no lookup can be answered until the next start.
func (s *site) lookedUp(h jjm.Handle) (l wire.Lookup) {
	s.t.Helper()
	programs.Await(s.t, patience, pollEvery, "an answer to lookup "+string(h), func() bool {
		l = s.client(await.Provoked(time.Second)).Lookup(s.t.Context(), string(h))[0]
		return l.Error == nil || l.Error.Kind != jjm.Busy
	})
	return l
}

// A gatekeeper submits all the time while the daemon is restarted, killed, and stopped for a long time. No grid job is
// lost, doubled or failed, and no answer is contradicted by a later one.
func TestAway_EveryGridJobIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, local, "")
	s.start()
	n := 40
	if needs.InCampaign(needs.Gatekeepers) {
		n = 200
	}
	var wg sync.WaitGroup
	keys, first := make(chan int), make(chan struct{})
	handles := make([]jjm.Handle, n)
	spooled := make([]bool, n)
	for range 8 {
		wg.Go(func() {
			for i := range keys {
				key, deadline := fmt.Sprintf("key-%d", i), await.Provoked(time.Second)
				if i == 0 {
					deadline = ample // the daemon itself takes the submission
				}
				for again := range 1 + i%3/2 { // every third job twice, as if its gatekeeper had been killed
					r, err := gatekeeper.Persist(t.Context(), patience, s.job(key, "exit 0"), s.client(deadline).Submit)
					if err != nil || again > 0 && (!r.Existed || r.Handle != handles[i]) {
						t.Errorf("%s: %+v, %v", key, r, err)
					}
					handles[i], spooled[i] = r.Handle, spooled[i] || r.Spooled
				}
				if i == 0 {
					close(first)
				}
				if l := s.lookedUp(handles[i]); l.Error != nil || l.GRAM == 0 {
					t.Errorf("%s: lookup after the submission: %+v, %v", key, l, l.Error)
				}
			}
		})
	}
	for i := range n {
		switch i {
		case 1:
			await.Closed(t, "the daemon takes the first job", first)
		case n / 5:
			s.end(syscall.SIGTERM)
			s.begin()
		case 2 * n / 5:
			s.end(syscall.SIGKILL)
			s.begin()
		case 3 * n / 5:
			s.end(syscall.SIGTERM)
		case 9 * n / 10:
			s.begin()
		}
		keys <- i
	}
	close(keys)
	wg.Wait()
	for i, h := range handles {
		if l := s.final(h); l.Status != "done" || l.Counts.Completed != 1 || l.Exit != 0 {
			t.Errorf("key-%d: %+v", i, l)
		}
	}
	a, err := ask(s, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true, Limit: 2 * n}})
	if err != nil || len(a.Status) != n {
		t.Errorf("%d grid jobs, %v; want %d", len(a.Status), err, n)
	}
	for key, times := range s.ran() {
		if times != 1 {
			t.Errorf("%s ran %d times", key, times)
		}
	}
	if len(s.ran()) != n || !slices.Contains(spooled[3*n/5+1:9*n/10], true) || spooled[0] {
		t.Errorf("%d ran; spooled: %v", len(s.ran()), spooled)
	}
}

// A daemon that hangs counts as absent: each verb is answered without the daemon, and promises are kept when the daemon
// continues.
func TestFrozen_TheDaemonHangs(t *testing.T) {
	t.Parallel()
	s := newSite(t, local, "")
	s.start()
	ctx := t.Context()
	running, err := s.client(ample).Submit(ctx, s.job("running", "sleep 600"))
	s.must(err)
	s.await("it runs", func() bool {
		return s.client(ample).Lookup(ctx, string(running.Handle))[0].GRAM == jjm.GRAMActive
	})
	s.await("its record says so", func() bool {
		d := s.client(ample)
		d.Socket = "/no/daemon"
		return d.Lookup(ctx, string(running.Handle))[0].GRAM == jjm.GRAMActive
	})
	await.Freeze(t, s.daemon.Process.Pid)
	d := s.client(await.Provoked(time.Second))
	fresh, err := d.Submit(ctx, s.job("fresh", "exit 0"))
	if err != nil || !fresh.Spooled {
		t.Errorf("submit: %+v, %v", fresh, err)
	}
	ls := d.Lookup(ctx, string(running.Handle), string(fresh.Handle), "1", "77")
	for i, want := range []jjm.GRAM{jjm.GRAMActive, jjm.GRAMUnsubmitted, jjm.GRAMActive} {
		if ls[i].Error != nil || ls[i].GRAM != want || !ls[i].Stale {
			t.Errorf("lookup %d: %+v", i, ls[i])
		}
	}
	if jjm.KindOf(ls[3].Error.Err()) != jjm.Busy {
		t.Errorf("lookup of what is not known: %+v", ls[3])
	}
	if k := d.Kill(ctx, string(running.Handle))[0]; k.Error != nil || k.NoChange {
		t.Errorf("kill: %+v", k)
	}
	again, err := d.Submit(ctx, s.job("running", "exit 0")) // repeats the submission after its cancel
	if err != nil || again.Existed || again.Handle != running.Handle {
		t.Errorf("anew: %+v, %v", again, err)
	}
	s.must(s.daemon.Process.Signal(syscall.SIGCONT))
	if l := s.final(fresh.Handle); l.Status != "done" {
		t.Errorf("fresh: %+v", l)
	}
	if l := s.final(running.Handle); l.Status != "done" || l.ID == running.ID {
		t.Errorf("anew: %+v", l)
	}
	s.await("the first one is killed", func() bool { return s.client(ample).Lookup(ctx, "1")[0].Status == "aborted" })
	if runs := s.ran(); runs["running"] != 2 || runs["fresh"] != 1 {
		t.Errorf("runs: %v", runs)
	}
}

// stuck is a batch system whose commands never end.
const stuck = `[engine]
poll = "1s"
command = "1h"
[[cluster]]
name = "stuck"
kind = "slurm"
bin = %q
`

func TestFrozen_TheBatchSystemHangs(t *testing.T) {
	t.Parallel()
	s := newSite(t, fmt.Sprintf(stuck, hanging(t)), "")
	s.start()
	ctx, d := t.Context(), s.client(ample)
	r, err := d.Submit(ctx, s.job("k", "exit 0"))
	if err != nil || r.Spooled || r.ID == 0 {
		t.Fatalf("submit: %+v, %v", r, err)
	}
	s.await("its local job waits", func() bool { return d.Lookup(ctx, string(r.Handle))[0].Counts.Total == 1 })
	if l := d.Lookup(ctx, string(r.Handle))[0]; l.Error != nil || l.Stale || l.GRAM != jjm.GRAMUnsubmitted &&
		l.GRAM != jjm.GRAMPending {
		t.Errorf("lookup: %+v", l)
	}
	if k := d.Kill(ctx, string(r.Handle))[0]; k.Error != nil || k.NoChange {
		t.Errorf("kill: %+v", k)
	}
}

// On a full disk nothing can be accepted, and the answer says so. Existing jobs can be looked up. When there is space,
// the same call succeeds.
func TestFullDisk_EverythingIsAnswered(t *testing.T) {
	t.Parallel()
	disk := needs.Tmpfs(t, t.TempDir(), "size=24m")
	s := newSite(t, local, filepath.Join(disk, "s"))
	s.start()
	ctx, d := t.Context(), s.client(ample)
	r, err := d.Submit(ctx, s.job("before", "sleep 600"))
	s.must(err)
	s.await("it runs", func() bool { return d.Lookup(ctx, string(r.Handle))[0].GRAM == jjm.GRAMActive })
	fill(t, filepath.Join(disk, "ballast"))
	if got, err := d.Submit(ctx, s.job("full", "exit 0")); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("submit: %+v, %v", got, err)
	}
	if l := d.Lookup(ctx, string(r.Handle))[0]; l.Error != nil || l.GRAM != jjm.GRAMActive {
		t.Errorf("lookup: %+v", l)
	}
	if k := d.Kill(ctx, string(r.Handle))[0]; jjm.KindOf(k.Error.Err()) != jjm.Busy {
		t.Errorf("kill: %+v", k)
	}
	waits, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	freed := false
	got, err := gatekeeper.Persist(waits, patience, s.job("full", "exit 0"),
		func(ctx context.Context, j gatekeeper.Job) (gatekeeper.Receipt, error) {
			r, err := d.Submit(ctx, j)
			if err != nil && !freed {
				freed = true
				s.must(os.Remove(filepath.Join(disk, "ballast")))
			}
			return r, err
		})
	if err != nil || !freed {
		t.Fatalf("with space again: %+v, %v, freed %v", got, err, freed)
	}
	if l := s.final(got.Handle); l.Status != "done" {
		t.Errorf("%+v", l)
	}
	if k := d.Kill(ctx, string(r.Handle))[0]; k.Error != nil {
		t.Errorf("kill with space again: %+v", k)
	}
	s.final(r.Handle)
}

// fill writes a file until no space is left.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for len(block) > 0 {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &fs); err != nil || fs.Bavail > 0 {
		t.Fatalf("the disk is not full: %d blocks, %v", fs.Bavail, err)
	}
}
