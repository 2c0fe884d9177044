package pbs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// texts is a runner that answers commands with fixed texts instead of running them. The texts have the forms in
// Torque's source and manual, because no Torque was ever recorded. A command without a text succeeds and prints
// nothing.
type texts struct {
	of  map[string]run.Output
	ran []string
}

// Run implements run.Runner.
func (x *texts) Run(_ context.Context, c run.Cmd) (run.Output, error) {
	command := strings.Join(append([]string{filepath.Base(c.Argv[0])}, c.Argv[1:]...), " ")
	x.ran = append(x.ran, command)
	return x.of[command], nil
}

// UID implements run.Runner.
func (*texts) UID() int { return os.Getuid() }

// onTexts makes an adapter for Torque whose commands print the given texts to standard output.
func onTexts(t *testing.T, of map[string]string) (context.Context, *Adapter, *texts) {
	x := &texts{of: map[string]run.Output{}}
	for command, text := range of {
		x.of[command] = run.Output{Stdout: []byte(text)}
	}
	a := makeAdapter(t, func(c *Config) { c.Dialect = "torque" })
	return run.WithRunner(t.Context(), x), a, x
}

var me = jjm.Owner{UID: os.Getuid(), GID: os.Getgid(), User: "me"}

// Torque prints nothing at all if there are no jobs. The adapter believes such an empty listing only if the server
// counts no jobs.
func TestTorque_NothingIsBelievedIfTheServerHasNoJobs(t *testing.T) {
	const server = "qstat -B -f"
	ctx, a, x := onTexts(t, map[string]string{server: "Server: h\n    total_jobs = 0\n"})
	if l, err := a.List(ctx, me, time.Now()); err != nil || len(l.Reports) != 0 {
		t.Errorf("no jobs: %+v, error %v", l, err)
	}
	x.of[server] = run.Output{Stdout: []byte("Server: h\n    total_jobs = 3\n")}
	if l, err := a.List(ctx, me, time.Now()); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("three jobs: %+v, error %v", l, err)
	}
}

func TestTorque_TheProbeReadsItsNames(t *testing.T) {
	for keep, accounting := range map[string]bool{"0": false, "300": true} {
		ctx, a, _ := onTexts(t, map[string]string{
			"qstat -B -f": "Server: h\n    default_queue = batch\n    keep_completed = " + keep +
				"\n    max_job_array_size = 4\n    max_user_queuable = 9\n",
			"qstat -Q -f": "Queue: batch\n    enabled = True\n    started = True\n",
			"pbsnodes -a": "n1\n     state = free\n     np = 16\n     ntype = cluster\n" +
				"     status = opsys=linux,ncpus=16,physmem=4194304kb,state=free\n\n",
		})
		if err := a.Probe(ctx); err != nil {
			t.Fatal(err)
		}
		c := a.Capabilities()
		if c.MaxBulk != 4 || c.MaxQueued != 9 || c.Slots != 16 || c.MaxCores != 16 || c.MaxMemoryMB != 4096 {
			t.Errorf("%+v", c)
		}
		if c.Accounting != accounting || !strings.Contains(c.Guarantee, "keep_completed") ||
			strings.Contains(c.Guarantee, "only the wrapper") == accounting {
			t.Errorf("keep_completed %s: accounting %v, %s", keep, c.Accounting, c.Guarantee)
		}
	}
}

// If keep_completed is not set, Torque forgets jobs at their end.
func TestTorque_AJobThatVanished(t *testing.T) {
	ctx, a, x := onTexts(t, map[string]string{
		"qstat -x": torqueXML, "qstat -x -t": torqueXML, "qstat -B -f": "Server: h\n    keep_completed = 0\n",
		"qstat -Q -f": "Queue: batch\n    enabled = True\n",
	})
	if err := a.Probe(ctx); err != nil {
		t.Fatal(err)
	}
	x.ran = nil
	gone := []adapters.Ref{{Tag: "jgone", ID: "7", Index: 0}}
	if got, err := a.Account(ctx, me, gone); err != nil || len(got) != 0 {
		t.Errorf("accounted %+v, error %v", got, err)
	}
	if f, err := a.Find(ctx, me, []jjm.Tag{"jgone"}); err != nil || f[0].Presence != adapters.Absent {
		t.Errorf("found %+v, error %v", f, err)
	}
	for op, want := range map[adapters.Op]jjm.Kind{adapters.Release: jjm.Gone, adapters.Cancel: 0} {
		answers, err := a.Control(ctx, me, op, gone)
		if err != nil || (answers[0] == nil) != (want == 0) || want != 0 && jjm.KindOf(answers[0]) != want {
			t.Errorf("%v: %v, error %v", op, answers, err)
		}
	}
	for _, command := range x.ran {
		if !strings.HasPrefix(command, "qstat ") {
			t.Errorf("ran %q", command)
		}
	}
}

// The commands of Torque take the members of one array in the option -t, so one command is enough for all of them.
func TestTorque_TheMembersOfAnArrayShareACommand(t *testing.T) {
	array := target{seq: "25", array: true}
	for ref, index := range []int32{9, 3, 4, 5, 1} {
		array.members = append(array.members, memberRef{index, ref})
	}
	targets := []target{{seq: "7", members: []memberRef{{0, 5}}}, array,
		{seq: "30", array: true, whole: true, members: []memberRef{{0, 6}}}}
	for op, want := range map[adapters.Op]string{
		adapters.Cancel:   "qdel 7 30[]\nqdel -t 1,3-5,9 25[]",
		adapters.HoldJobs: "qhold 7 30[]\nqhold -t 1,3-5,9 25[]",
		adapters.Release:  "qrls 7 30[]\nqrls -t 1,3-5,9 25[]",
	} {
		var got []string
		for _, c := range commands(op, torque, targets, operandsAtOnce) {
			got = append(got, strings.Join(c.argv, " "))
		}
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("%v:\n%s\nwant\n%s", op, text, want)
		}
	}
}

// Torque's commands take no reserved ports, so the adapter admits them even if the budget of ports is used up.
func TestTorque_HasNoBudgetOfPorts(t *testing.T) {
	_, a, _ := onTexts(t, nil)
	a.ports.note(a.pace.now(), cancelling, cancelPorts)
	if err := a.admit(t.Context(), ordinary, []string{"qsub", "-h"}); err != nil {
		t.Error(err)
	}
}
