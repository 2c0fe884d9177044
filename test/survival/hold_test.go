package survival_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// holders has, for each test bed, the command (hold) that holds waiting jobs and never running jobs, and a setting
// (wait) with which all jobs except the first few (first) wait, even if cores are free.
var holders = map[string]struct {
	hold, wait string
	first      int
}{
	"slurm":  {"scontrol hold", "--begin=now+20", 0},
	"condor": {"condor_hold -constraint", "concurrency_limits = jjmhold:1500000", 1}, // 2308032 is the default
	"sge":    {"qhold", "-tc 1", 1},
}

// TestBeds_AHoldIsReleasedByRule holds waiting local jobs with the batch system's own command. A rule releases them,
// and the grid job gets to its end.
func TestBeds_AHoldIsReleasedByRule(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	for kind, holder := range holders {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := testbed.Start(t, kind)
			section, uid := bedSection(t, b, kind, "")
			section += fmt.Sprintf("directives = [%q]\n", holder.wait)
			s := bedSite(t, section+"[[cluster.hold]]\nby = \"operator\"\ndo = \"release\"\nafter = \"0s\"\n", uid, 1)
			s.startReady()
			d := design{jobs: 4, seconds: 2, key: "once"}
			id := s.submitted(d)
			s.started(d, holder.first)
			holdWaiting(t, b, s, holder.hold)
			s.final(id)
			history := ""
			for _, j := range s.verify(id, d).journal {
				history += fmt.Sprintf("%d-%d %s -> %s: %s\n", j.First, j.Last, j.From, j.To, j.Cause)
			}
			if !strings.Contains(history, "releas") {
				t.Errorf("no release is in the history:\n%s", history)
			}
		})
	}
}

// holdWaiting holds the local jobs that wait in the batch system.
func holdWaiting(t *testing.T, b *testbed.Bed, s *site, holder string) {
	t.Helper()
	var jobs []string // arrays and clusters: the ids without the index
	s.await("the batch system's ids", s.patience, func() bool {
		for _, l := range s.status(s.only()).Locals {
			job, _, _ := strings.Cut(strings.ReplaceAll(l.BatchID, "_", "."), ".")
			if job != "" && !slices.Contains(jobs, job) {
				jobs = append(jobs, job)
			}
		}
		return len(jobs) > 0
	})
	words := strings.Fields(holder)
	for _, job := range jobs {
		args := append(words[1:len(words):len(words)], job)
		if words[0] == "condor_hold" {
			args[len(args)-1] = "JobStatus == 1 && ClusterId == " + job
		}
		// On a busy machine Slurm's scontrol sometimes fails with "Unexpected message received". A repeated call holds the
		// job.
		s.await("a hold by "+words[0], s.patience, func() bool {
			out, err := inBed(b, words[0], args...).CombinedOutput()
			t.Logf("%s %v: %v %s", words[0], args, err, out)
			return err == nil
		})
	}
}

// inBed returns a command that runs a program of a test bed's batch system, with the test bed's environment.
func inBed(b *testbed.Bed, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(b.Bin, name), args...)
	cmd.Env = os.Environ()
	for key, value := range b.Env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	return cmd
}
