package hostile_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"jjm"
	"jjm/adapters/testbed"
	"jjm/test/site"
)

// ownCommands are the names of the processes that ask each batch system: those of the
// testbed's HTCondor run under a loader of their own.
var ownCommands = map[string]string{
	"slurm":  "sbatch|squeue|scancel|sacct|scontrol",
	"condor": "condor_submit|condor_q|condor_rm|condor_histor|condor_config|ld-linux",
}

// signaller sends a signal to each of mallory's commands as soon as it is there.
type signaller struct {
	*siege
	kind, signal string
	hers         []string // grid jobs that run, so that she is listed
	loop         *exec.Cmd
	sent         int
}

// Mallory ends or stops every command of the batch system that runs as her, the
// moment it appears, while she has local jobs to be listed and more to be submitted.
// The commands of bob are his own.
func TestCommands_WhoHoldsUpHerOwnHoldsUpNobodyElse(t *testing.T) {
	for kind := range ownCommands {
		for _, signal := range []string{"KILL", "STOP"} {
			t.Run(kind+"/"+signal, func(t *testing.T) {
				b := testbed.Start(t, kind)
				s := besiege(t, site.Settings{RunAs: "owner", Clusters: site.OnBed(b, kind)})
				if kind == "condor" { // its workers know accounts of their own
					s.bob = site.Known(t, b.Owner.User)
					s.knownInPool(b)
				}
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

// begin has local jobs of hers run, signals, and submits some more.
func (x *signaller) begin() {
	x.t.Helper()
	for range 2 {
		x.hers = append(x.hers, x.Submit(x.mallory, site.Script("sleep 600")))
	}
	for _, id := range x.hers {
		x.Until(id+" of hers runs", func() bool { return x.Status(id).Lookup.GRAM == jjm.GRAMActive })
	}
	x.loop = x.mallory.As("/bin/sh", "-c", `sent=0
		while :; do
			n=$(pkill -c -"$1" -U "$2" "$3") && sent=$((sent + n)) && echo "$sent" >"$4/sent.new" && mv "$4/sent.new" "$4/sent"
			sleep 0.02
		done`, "sh", x.signal, fmt.Sprint(x.mallory.UID), "^("+ownCommands[x.kind]+")", x.Home(x.mallory))
	x.Must(x.loop.Start())
	for range full(20, 3) {
		x.Submit(x.mallory, site.Script("echo hers"))
	}
}

// inForce proves that the attack goes on: another of her commands got the signal,
// none of hers comes to anything, and the batch system does not count as ill by her
// word alone.
func (x *signaller) inForce() error {
	for end := time.Now().Add(2 * hang); x.counted("sent") <= x.sent; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("of her commands %d got %s, and no other one does", x.sent, x.signal)
		}
	}
	x.sent = x.counted("sent")
	if !x.spoiled() {
		return errors.New("a local job of hers is done")
	}
	if log, err := os.ReadFile(x.Dir + "/log"); err != nil || strings.Contains(string(log), "batch system gives no listing") {
		x.t.Errorf("by her word alone %s counts as ill (%v)", x.kind, err)
	}
	return nil
}

// end stops it and takes her grid jobs away.
func (x *signaller) end() {
	x.t.Logf("of her commands %d got %s", x.counted("sent"), x.signal)
	if x.loop != nil {
		x.Must(x.loop.Process.Kill())
		_ = x.loop.Wait()
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

// spoiled reports whether mallory has local jobs, and none of them is through.
func (s *siege) spoiled() bool {
	out, err := s.JJM(s.mallory, "status")
	return err == nil && out != "" && !strings.Contains(out, " done")
}
