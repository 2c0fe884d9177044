package gateclient_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// First a batch system hangs, and then the disk is full: blahpd gets its answers, and no job is held, failed or
// doubled.
func TestBlahpd_FrozenClusterAndFullDisk(t *testing.T) {
	t.Parallel()
	bed := testbed.Start(t, "condor")
	disk := needs.Tmpfs(t, t.TempDir(), "size=24m")
	s := newSite(t, local+"[[cluster]]\nname = \"stuck\"\nkind = \"slurm\"\nbin = "+fmt.Sprintf("%q\n", hanging(t)),
		filepath.Join(disk, "s"))
	s.start()
	b := s.blahpd(bed)

	frozen := s.attrs("frozen", "")
	frozen["Queue"] = "@stuck"
	waits := b.id(b.result(b.ask("BLAH_JOB_SUBMIT", ad(frozen))))
	if got := b.result(b.ask("BLAH_JOB_STATUS", waits)); !strings.HasPrefix(got, "0 No Error 1") {
		t.Errorf("a job for a frozen cluster: %s", got)
	}
	if got := b.result(b.ask("BLAH_JOB_CANCEL", waits)); got != "0 No error" {
		t.Errorf("cancel: %s", got)
	}

	runs := b.id(b.result(b.ask("BLAH_JOB_SUBMIT", ad(s.attrs("runs", "sleep 600")))))
	running := func() bool { return strings.HasPrefix(b.result(b.ask("BLAH_JOB_STATUS", runs)), "0 No Error 2") }
	s.await("it runs", running)
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	late := b.ask("BLAH_JOB_SUBMIT", ad(s.attrs("late", "")))
	cancel := b.ask("BLAH_JOB_CANCEL", runs)
	if !running() || b.results[late] != "" {
		t.Errorf("on a full disk what runs is not told, or a submission is answered with %q", b.results[late])
	}
	s.must(os.Remove(ballast))
	if got := b.over(b.id(b.result(late))); !strings.Contains(got, "ExitCode = 0") {
		t.Errorf("what was submitted on a full disk: %s", got)
	}
	if got := b.result(cancel); got != "0 No error" {
		t.Errorf("cancel on a full disk: %s", got)
	}
	s.await("it is cancelled", func() bool {
		a, err := ask(s, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true}})
		return err == nil && len(a.Status) == 3 && strings.HasPrefix(b.result(b.ask("BLAH_JOB_STATUS", runs)), "0 No Error 4")
	})
	if ran := s.ran(); ran["late"] != 1 || ran["frozen"] != 0 {
		t.Errorf("runs: %v", ran)
	}
}

// hanging returns a folder with Slurm's commands that never end.
func hanging(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo", "sacctmgr"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\nexec sleep 100000\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
