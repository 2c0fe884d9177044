package slurm

import (
	"path/filepath"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// If a listing is incomplete, or its command complains, the jobs that it lacks do not count as absent.
func TestUnanswered_APartialListingIsBusyNotGone(t *testing.T) {
	config, err := filepath.Abs("testdata/config.txt")
	if err != nil {
		t.Fatal(err)
	}
	whole := "echo '" + squeueHead + "'; echo '7|2|0|RUNNING|0|0|1795282554|1795282555|N/A|n1|jabc|n|None|r|'; "
	sacctHead := "echo 'JobID|JobIDRaw|State|ExitCode|Submit|Start|End|TotalCPU|MaxRSS|NodeList|User|JobName'; "
	ann, ref := jjm.Owner{User: "ann"}, []adapters.Ref{{Tag: "jdef", ID: "3", Index: 0}}
	adapter := func(squeue, sacct string) *Adapter {
		c := DefaultConfig()
		c.Bin = commandsOf(t, map[string]string{
			"scontrol": "cat " + config, "sinfo": `echo "short*|up|64|65536|1:00:00|0/64/0/64|10000|gpu:2"`,
			"squeue": squeue, "sacct": sacct,
		})
		return testAdapter(t, c)
	}
	for name, squeue := range map[string]string{
		"no heading":        "exit 0",
		"cut within a line": whole + "printf '8|3|0|RUN'",
		"a complaint":       whole + "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2",
		"an exit code":      whole + "exit 1",
	} {
		a := adapter(squeue, sacctHead)
		if got, err := a.Find(t.Context(), ann, []jjm.Tag{"jdef"}); err == nil && got[0].Presence == adapters.Absent {
			t.Errorf("squeue, %s: found %+v", name, got)
		}
		if got, err := a.Account(t.Context(), ann, ref); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("squeue, %s: accounted %+v, error %v", name, got, err)
		}
		if got, err := a.Control(t.Context(), ann, adapters.Cancel, ref); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("squeue, %s: cancelled %+v, error %v", name, got, err)
		}
	}
	for name, sacct := range map[string]string{
		"no heading":        "exit 0",
		"cut within a line": sacctHead + "printf '3_0|3|COMPL'",
		"a complaint":       sacctHead + "echo 'sacct: error: Problem talking to the database' >&2",
		"an exit code":      sacctHead + "exit 1",
	} {
		a := adapter(whole, sacct)
		if got, err := a.Find(t.Context(), ann, []jjm.Tag{"jdef"}); err == nil && got[0].Presence != adapters.NotYetKnown {
			t.Errorf("sacct, %s: found %+v", name, got)
		}
		if got, err := a.Account(t.Context(), ann, ref); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("sacct, %s: accounted %+v, error %v", name, got, err)
		}
	}
}
