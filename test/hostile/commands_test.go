package hostile_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
	"jjm/internal/testkit/testbed"
)

// signalCommands sends a signal to each command of a batch system that runs as the account, as soon as it appears, and
// counts the signalled commands.
func signalCommands(folder string, signal syscall.Signal) {
	var names []string
	for _, commands := range commandsOf {
		names = append(names, commands...)
	}
	command := func(arg string) bool { return slices.Contains(names, filepath.Base(arg)) }
	hit, sent := map[int]bool{}, 0
	others(func(pid int) {
		if hit[pid] {
			hit[pid] = syscall.Kill(pid, 0) == nil // the id of an ended process may be reused
			return
		}
		argv := strings.Split(readProc(pid, "cmdline"), "\x00") // the command may be started by a shell or a loader
		if !slices.ContainsFunc(argv[:min(len(argv), 4)], command) || unix.Tgkill(pid, pid, signal) != nil {
			return
		}
		hit[pid] = true
		sent++
		count(folder, "sent", sent)
	})
}

// signaller sends a signal to each of mallory's commands as soon as it appears.
type signaller struct {
	*siege
	kind, signal string
	hers         []string // mallory's running grid jobs, so that jjm lists her jobs
	stop         func()
	sent         int
}

// Mallory kills or stops each command of the batch system that runs as her account, as soon as the command appears,
// while jjm lists and submits jobs of hers. Bob's jobs are not affected.
func TestCommands_WhoHoldsUpHerOwnHoldsUpNobodyElse(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	for _, kind := range []string{"slurm", "condor"} {
		for _, signal := range []string{"KILL", "STOP"} {
			t.Run(kind+"/"+signal, func(t *testing.T) {
				b := testbed.Start(t, kind)
				s := besiege(t, site.Settings{RunAs: "owner", Clusters: site.OnBed(b, kind)})
				s.knownOn(b, kind)
				x := &signaller{siege: s, kind: kind, signal: signal}
				s.withstands(attack{
					name:    kind + ": every command of hers gets " + signal,
					begin:   x.begin,
					inForce: x.inForce,
					end:     x.end,
				})
			})
		}
	}
}

// begin starts some of mallory's local jobs, starts to send signals, and submits more local jobs.
func (x *signaller) begin() {
	x.t.Helper()
	for range 2 {
		x.hers = append(x.hers, x.Submit(x.mallory, site.Script("sleep 600")))
	}
	for _, id := range x.hers {
		x.Until(id+" of hers runs", func() bool { return x.Status(id).Lookup.GRAM == jjm.GRAMActive })
	}
	x.stop = x.attacker("attack-" + strings.ToLower(x.signal) + "-commands")
	for range full(20, 3) {
		x.Submit(x.mallory, site.Script("echo hers"))
	}
	x.Until("commands of hers got "+x.signal, func() bool { return x.counted("sent") > 2 })
	x.sent = x.counted("sent")
}

// inForce checks that the attack continues: no local job of mallory's is done, and her failures alone do not make the
// batch system count as unhealthy. It does not wait for another command that gets a signal, because jjm tries her
// commands more rarely after more failures; end waits for one.
func (x *signaller) inForce() error {
	if !x.spoiled() {
		return errors.New("a local job of hers is done")
	}
	if log, err := os.ReadFile(x.Dir + "/log"); err != nil ||
		strings.Contains(string(log), "batch system answers no listing") {
		x.t.Errorf("by her word alone %s counts as ill (%v)", x.kind, err)
	}
	return nil
}

// end waits until one more of mallory's commands gets the signal, ends the attack, and kills her grid jobs.
func (x *signaller) end() {
	if !x.t.Failed() {
		x.Until("one more command of hers got "+x.signal, func() bool { return x.counted("sent") > x.sent })
	}
	x.t.Logf("of her commands %d got %s", x.counted("sent"), x.signal)
	if x.stop != nil {
		x.stop()
	}
	for _, id := range x.hers {
		if out, err := x.JJM(site.Root(), "kill", id); err != nil {
			x.t.Errorf("kill %s of hers: %q, %v", id, out, err)
		}
	}
	for _, id := range x.hers {
		x.Final(id, "aborted")
	}
}

// spoiled reports whether mallory has local jobs and none of them is done.
func (s *siege) spoiled() bool {
	out, err := s.JJM(s.mallory, "status")
	return err == nil && out != "" && !strings.Contains(out, " done")
}
