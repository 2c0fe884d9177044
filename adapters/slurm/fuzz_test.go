package slurm

import (
	"strings"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

func FuzzSqueue(f *testing.F) {
	f.Add(recorded(f, "squeue.txt"))
	f.Add("JOBID|A|B|C|D|E|F|G|H|I|NAME|n|REASON|r|\n7|2|0|RUNNING|0|0|1|2|N/A|n1|jabc|n|None|r|\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, _, err := parseSqueue(text)
		if err != nil && rows != nil {
			t.Error("rows beside an error")
		}
		for _, r := range reports(rows, 0, 0) {
			odd := (r.State == jjm.BatchUnknown) != strings.Contains(r.Reason, "does not know")
			if !r.Tag.Valid() || odd || r.Index < 0 ||
				!strings.HasPrefix(r.ID, rows[0].array[:1]) && len(rows) == 1 {
				t.Errorf("%+v", r)
			}
			if !r.State.Ended() && (r.Exit != 0 || r.Signal != 0 || r.Ended != 0) {
				t.Errorf("alive with an end: %+v", r)
			}
		}
	})
}

func FuzzSacct(f *testing.F) {
	f.Add(recorded(f, "sacct.txt"))
	head := strings.ReplaceAll(sacctFields, ",", "|") + "\n"
	f.Add(head + "3_[0,2-3%4]|3|CANCELLED by 61001|0:0|1795281208|1795281211|1795281211|2-00:00:00|1.5M|None assigned|ann|jabc\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		records, _, err := parseSacct(text)
		if err != nil && records != nil {
			t.Error("records beside an error")
		}
		total := 0
		for _, r := range records {
			if total += len(r.indices); total > 1<<20 {
				return // a large array, not a mistake
			}
		}
		for _, r := range withSteps(records) {
			if !r.Tag.Valid() || !r.State.Ended() || r.Index < 0 || r.CPUms < 0 || r.RSSKB < 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}

func FuzzSite(f *testing.F) {
	f.Add(recorded(f, "config.txt"), recorded(f, "sinfo.txt"), "Slurmctld(primary) at vm is UP\n")
	f.Add("", "short*|up|64+|1|infinite|0/1/2/3|0|gpu:a:2(S:0)\n", "")
	f.Fuzz(func(t *testing.T, config, sinfo, ping string) {
		_ = pingAnswered(ping)
		s, err := parseConfig(config)
		if err != nil {
			s = &site{maxArray: 1, maxJobs: 1}
		}
		if s.partitions, s.defaultQueue, err = parseSinfo(sinfo); err != nil {
			return
		}
		for name := range s.partitions {
			c := capabilities(s, Config{Common: adapters.Common{Queue: name}})
			if c.MaxBulk < 1 || c.MaxCores < 0 || c.MaxMemoryMB < 0 || c.MaxWalltime < 0 || c.Settle < 0 || c.Guarantee == "" {
				t.Errorf("%+v", c)
			}
		}
	})
}

func FuzzReceipt(f *testing.F) {
	f.Add("42\n", "", 0)
	f.Add("42;east\n", "sbatch: error: Batch job submission failed: Invalid partition name specified", 1)
	f.Fuzz(func(t *testing.T, stdout, stderr string, exit int) {
		r, err := receipt(run.Output{Stdout: []byte(stdout), Stderr: []byte(stderr), Exit: exit}, 1)
		if (err == nil) != (r.ID != "") || err == nil && (exit != 0 || !digits(r.ID)) {
			t.Errorf("%+v, error %v", r, err)
		}
		if _, err := restReceipt(exit, []byte(stdout), 1); err != nil && jjm.KindOf(err) == jjm.Unclassified {
			t.Errorf("unclassified: %v", err)
		}
	})
}

func FuzzDirective(f *testing.F) {
	f.Add("#SBATCH --constraint avx2")
	f.Add("-C avx2")
	f.Fuzz(func(t *testing.T, line string) {
		word, err := directive(line)
		if err != nil {
			return
		}
		if !strings.HasPrefix(word, "-") || strings.ContainsAny(word, "\n\x00") || strings.HasPrefix(word, "--job") ||
			strings.HasPrefix(word, "-J") {
			t.Errorf("%q became %q", line, word)
		}
	})
}
