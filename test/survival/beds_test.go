package survival_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// bedPatience is how long a grid job may take on a batch system that needs seconds to start a job and even longer to
// report its end.
var bedPatience = await.Guard(10 * time.Minute)

// place is a batch system that a site can have as its cluster.
type place struct {
	kind string
	// start returns the settings of the cluster, and the account of its jobs.
	start func(t *testing.T) (section string, uid int)
}

// places returns all kinds of clusters except the embedded batch system. For PBS it uses the fake with which
// adapters/pbs is tested; all other kinds are real batch systems.
func places() []place {
	return []place{
		{"slurm", onBed("slurm", "slurm", "")},
		{"condor", onBed("condor", "condor", "")},
		{"condor-carry", onCarryingCondor},
		{"sge", onBed("sge", "sge", "")},
		{"pbs", onFakePBS},
		{"command", onBed("slurm", "command", "description = %[1]q\n")},
	}
}

// onBed returns the function start of a place on a test bed. more has further settings of the cluster; it is formatted
// with the path of the example description for site-defined adapters.
func onBed(bed, kind, more string) func(*testing.T) (string, int) {
	return func(t *testing.T) (string, int) {
		return bedSection(t, testbed.Start(t, bed), kind, more)
	}
}

func bedSection(t *testing.T, b *testbed.Bed, kind, more string) (string, int) {
	t.Helper()
	var s strings.Builder
	fmt.Fprintf(&s, "bin = %q\nenv = {", b.Bin)
	for i, name := range slices.Sorted(maps.Keys(b.Env)) {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "%s = %q", name, b.Env[name])
	}
	s.WriteString("}\n")
	if more != "" {
		fmt.Fprintf(&s, more, filepath.Join(repository(t), "etc", "adapters", "slurm.toml"))
	}
	return section(kind, s.String()), b.Owner.UID
}

// onCarryingCondor starts HTCondor with workers that do not see the work area. They run jobs as nobody, and this
// account cannot read the work area.
func onCarryingCondor(t *testing.T) (string, int) {
	section, uid := bedSection(t, testbed.Start(t, "condor"), "condor", "")
	return section + "shared_fs = false\ndirectives = [\"+RunAsOwner = false\"]\n", uid
}

// carries reports whether the workers do not see the work area. The claim of an attempt is then on the worker until the
// attempt's files come back, and for a killed attempt only the daemon's own claim counts.
func (s *site) carries() bool {
	text, err := os.ReadFile(s.config)
	return err == nil && strings.Contains(string(text), "shared_fs = false")
}

// noCarriedJobRuns checks that no carried job of the site runs. HTCondor names the folder of a carried job in its
// environment, by which noCarriedJobRuns finds the applications. site.processes would find only processes that see the
// work area.
func (s *site) noCarriedJobRuns(t *testing.T) {
	for deadline := time.Now().Add(deadWithin); ; time.Sleep(pollEvery) {
		var left []string
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, name := range files {
			env, _ := os.ReadFile(name)
			if strings.Contains(string(env), "_CONDOR_JOB_IWD=/var/") && strings.Contains(string(env), "LEDGER="+s.dir+"/") {
				left = append(left, filepath.Dir(name))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: carried jobs still run: %v", await.Hung, left)
			return
		}
	}
}

// section returns the cluster's part of the configuration. By default results wait up to 12 s for the batch system's
// last report; the tests need no such wait.
func section(kind, settings string) string {
	return fmt.Sprintf("[[cluster]]\nname = %q\nkind = %q\nbatch_settle = \"2s\"\n%s", kind, kind, settings)
}

// onFakePBS builds the fake's commands in a new folder.
func onFakePBS(t *testing.T) (string, int) {
	needs.NoSystem(t)
	dir, err := os.MkdirTemp("/tmp", "jjmpbs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "fakepbs"), "jjm/internal/testkit/fakepbs")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the fake PBS: %v\n%s", err, out)
	}
	for _, name := range []string{"qsub", "qalter", "qstat", "qdel", "qselect", "qrls", "qhold", "pbsnodes", "qmgr"} {
		if err := os.Symlink("fakepbs", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	spool := filepath.Join(dir, "spool")
	uid := 0 // the account of the test
	for _, err := range []error{os.Chmod(dir, 0o755), os.Mkdir(spool, 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		uid = nobody
		if err := os.Chown(spool, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	return section("pbs", fmt.Sprintf("bin = %q\nenv = {FAKEPBS_DIR = %q}\n", dir, spool)), uid
}

// bedSite returns a site with only the given cluster and a limit of early retries.
func bedSite(t *testing.T, section string, uid, retry int) *site {
	t.Helper()
	s := newSite(t, settings{cluster: section, uid: uid, retry: retry})
	s.patience = bedPatience
	return s
}

// TestBeds_AGridJobRunsToItsTar runs a grid job with every kind of end on each kind of cluster, with both ways of
// reporting, and checks its tar.
func TestBeds_AGridJobRunsToItsTar(t *testing.T) {
	t.Parallel()
	for _, p := range places() {
		t.Run(p.kind, func(t *testing.T) {
			t.Parallel()
			if p.kind == "condor-carry" || p.kind == "command" {
				needs.Campaign(t, needs.Systems)
			}
			section, uid := p.start(t)
			s := bedSite(t, section, uid, 1)
			for glf, jobs := range map[bool]int{true: 20, false: 10} { // of 20 jobs, a waiting and a running job are killed
				if !glf && !needs.InCampaign(needs.Systems) {
					continue
				}
				s.startReady()
				d := design{jobs: jobs, glf: glf, mix: "yes", key: fmt.Sprintf("glf-%v", glf)}
				id := s.goDrive(t.Context(), driveMix, d).wait(t)
				s.final(id)
				s.verify(id, d)
			}
			s.noCarriedJobRuns(t)
		})
	}
}

// TestBeds_AKillLeavesNothingRunning kills a grid job while some local jobs run and others wait.
func TestBeds_AKillLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	for _, p := range places() {
		t.Run(p.kind, func(t *testing.T) {
			t.Parallel()
			if p.kind != "pbs" {
				needs.Campaign(t, needs.Systems)
			}
			section, uid := p.start(t)
			s := bedSite(t, section, uid, 1)
			s.startReady()
			d := design{jobs: 40, seconds: 600, key: "once", killed: true}
			id := s.goDrive(t.Context(), driveOnly, d).wait(t)
			s.started(d, 4)
			if err := s.killAll(t.Context(), id.String()); err != nil {
				t.Fatal(err)
			}
			s.final(id)
			s.verify(id, d)
			s.noCarriedJobRuns(t)
		})
	}
}

// TestBeds_SlurmTakesFewerJobsThanABulkHas runs grid jobs that are larger than one of Slurm's limits on submitted jobs:
// the limit of a user in a QOS, and the limit of an account.
func TestBeds_SlurmTakesFewerJobsThanABulkHas(t *testing.T) {
	t.Parallel()
	bed := testbed.Start(t, "slurm")
	for name, request := range map[string]string{"QOS": `qos = "ten"`, "account": `account = "eight"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			section, uid := bedSection(t, bed, "slurm", "")
			s := bedSite(t, section, uid, 1)
			s.startReady()
			d := design{jobs: 24, key: "many", request: request, extra: 12} // a refusal ends an attempt
			id := s.goDrive(t.Context(), driveOnly, d).wait(t)
			s.final(id)
			s.verify(id, d)
		})
	}
}
