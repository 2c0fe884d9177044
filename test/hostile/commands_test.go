package hostile_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"jjm/adapters/testbed"
	"jjm/test/site"
)

// Mallory ends or stops every command of the batch system that runs as her, the
// moment it appears, while she has grid jobs to submit without end. The commands of
// bob are his own.
func TestCommands_WhoHoldsUpHerOwnHoldsUpNobodyElse(t *testing.T) {
	for kind, commands := range map[string]string{
		"slurm": "sbatch|squeue|scancel|sacct|scontrol", "condor": "condor_submit|condor_q|condor_rm|condor_histor|ld-linux",
	} {
		for _, signal := range []string{"KILL", "STOP"} {
			t.Run(kind+"/"+signal, func(t *testing.T) {
				b := testbed.Start(t, kind)
				s := besiege(t, site.Settings{RunAs: "owner", Clusters: site.OnBed(b, kind)})
				if kind == "condor" { // its workers know accounts of their own
					s.bob = site.Known(t, b.Owner.User)
				}
				loop := s.mallory.As("/bin/sh", "-c", `sent=0
					while :; do
						n=$(pkill -c -"$1" -U "$2" "$3") && sent=$((sent + n)) && echo "$sent" >"$4/sent.new" && mv "$4/sent.new" "$4/sent"
						sleep 0.02
					done`, "sh", signal, fmt.Sprint(s.mallory.UID), "^("+commands+")", s.Home(s.mallory))
				sent := 0
				// signalled proves that the attack goes on: another of her commands got the signal.
				signalled := func() error {
					for end := time.Now().Add(2 * hang); s.counted("sent") <= sent; time.Sleep(20 * time.Millisecond) {
						if time.Now().After(end) {
							return fmt.Errorf("of her commands %d got %s, and no other one does", sent, signal)
						}
					}
					sent = s.counted("sent")
					return nil
				}
				s.withstands(attack{
					name: kind + ": every command of hers gets " + signal,
					begin: func() {
						s.Must(loop.Start())
						for range full(20, 3) {
							s.Submit(s.mallory, site.Script("echo hers"))
						}
						s.Until("one of hers came to nothing", func() bool { return s.spoiled() })
					},
					inForce: func() error {
						if err := signalled(); err != nil {
							return err
						}
						if !s.spoiled() {
							return errors.New("no command of hers came to nothing")
						}
						if log, err := os.ReadFile(s.Dir + "/log"); err != nil || strings.Contains(string(log), "batch system gives no listing") {
							t.Errorf("by her word alone %s counts as ill (%v)", kind, err)
						}
						return nil
					},
					end: func() {
						t.Logf("of her commands %d got %s", s.counted("sent"), signal)
						s.mallory.KillAll()
						_ = loop.Wait()
					},
				})
			})
		}
	}
}

// spoiled reports whether mallory has local jobs, and none of them is through.
func (s *siege) spoiled() bool {
	out, err := s.JJM(s.mallory, "status")
	return err == nil && out != "" && !strings.Contains(out, " done")
}
