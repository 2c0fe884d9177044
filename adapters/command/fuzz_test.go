package command

import (
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// For any text, Parse returns either an error or a usable description.
func FuzzParse(f *testing.F) {
	f.Add(small)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse("x.toml", []byte(text))
		if err != nil {
			if jjm.KindOf(err) != jjm.Invalid {
				t.Errorf("error %v of kind %v", err, jjm.KindOf(err))
			}
			return
		}
		b := bulkOf(3)
		v := d.submitValues(b)
		if len(d.submit.command.argv(v)) == 0 {
			t.Error("a submission without a command")
		}
		d.script.write(b, d.ids, nil)
		out := run.Output{Stdout: []byte("job 7\nSubmitted batch job 8\n")}
		if id, err := d.submitted(out, v); (id == "") != (err != nil) {
			t.Errorf("id %q, error %v", id, err)
		}
		_, _ = readWhole(d, d.list, "7.0 R "+tagA+"\n", time.Unix(1e9, 0))
		d.control[adapters.Cancel].answers(out, v, []string{"7.0"})
	})
}

// For any output, no listing yields a job that jjm could not have submitted.
func FuzzRead(f *testing.F) {
	f.Add(lsfList, uint8(0))
	f.Add(lsfHistory, uint8(1))
	f.Add("ARRAY_JOB_ID|ARRAY_TASK_ID|STATE|REASON|EXIT_CODE|RESTART_COUNT|SUBMIT_TIME|START_TIME|END_TIME|EXEC_HOST|NAME|#\n"+
		"2938|0|FAILED|NonZeroExitCode|768|0|2026-11-21T01:14:47|2026-11-21T01:14:48|2026-11-21T01:14:48|n1|"+tagA+"|#\n",
		uint8(2))
	f.Add("JobID|State|ExitCode|Submit|Start|End|NodeList|TotalCPU|JobName\n2905_[0-3]|PENDING|0:0|2026-11-21T01:14:47|Unknown|Unknown|None assigned|00:00:00|"+tagB+"\n", uint8(3))
	lsf, slurm := shippedDescription(f, "lsf.toml"), shippedDescription(f, "slurm.toml")
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		d := []*Description{lsf, lsf, slurm, slurm}[which%4]
		q := []*query{lsf.list, lsf.account, slurm.list, slurm.account}[which%4]
		jobs, err := readWhole(d, q, text, time.Unix(1.8e9, 0))
		if err != nil {
			return
		}
		for _, j := range jobs {
			if !j.Tag.Valid() || j.ID == "" || j.bulk == "" || j.Index < -1 || j.Index < 0 && !q.mayLackIndex {
				t.Errorf("%+v", j)
			}
			if !j.State.Ended() && (j.Exit != 0 || j.Signal != 0 || j.Ended != 0) || j.Signal < 0 || j.Signal > maxSignal ||
				j.Exit < 0 || j.CPUms < 0 || j.RSSKB < 0 {
				t.Errorf("%+v", j)
			}
		}
	})
}

// For any output of sbatch, submitted returns either the id from a complete line, in the form of a Slurm id, or an
// error.
func FuzzSubmitted(f *testing.F) {
	f.Add("Submitted batch job 42\n", "", 0, 0)
	f.Add("", "sbatch: error: Batch job submission failed: Socket timed out\n", 1, 0)
	d := shippedDescription(f, "slurm.toml")
	f.Fuzz(func(t *testing.T, stdout, stderr string, exit, signal int) {
		id, err := d.submitted(run.Output{Stdout: []byte(stdout), Stderr: []byte(stderr), Exit: exit, Signal: signal},
			values{})
		switch {
		case err == nil && (exit != 0 || signal != 0 || !d.ids.bulk.MatchString(id)):
			t.Errorf("exit %d, signal %d: id %q", exit, signal, id)
		case err != nil && (id != "" || jjm.KindOf(err) == jjm.Unclassified):
			t.Errorf("id %q, error %v", id, err)
		}
	})
}
