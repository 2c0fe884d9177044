package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

// fault is a fault that a test brings about in a real site, with the alerts that fire because of it.
type fault struct {
	alerts []string
	begin  func()
	mend   func() // nil if the alerts do not end within the time of a test, because they look back for minutes
}

// suffer checks that each alert is inactive before its fault, fires during the fault, and ends after it.
func (p *prometheus) suffer(f fault) {
	p.t.Helper()
	for _, name := range f.alerts {
		p.alert(name, "inactive")
	}
	f.begin()
	for _, name := range f.alerts {
		p.alert(name, "firing")
	}
	if f.mend == nil {
		return
	}
	f.mend()
	for _, name := range f.alerts {
		p.alert(name, "inactive")
	}
}

// troubled is a site whose batch systems are the embedded one, "local", and the described one of three scripts, "tiny",
// which has accounting too. Prometheus watches the site.
type troubled struct {
	*daemon
	prometheus *prometheus
	tiny       *described
	types      string // the folder of job types
}

// startTroubled starts such a site without any fault.
func startTroubled(t *testing.T) *troubled {
	t.Helper()
	s := &troubled{tiny: newDescribed(t), types: shortDir(t)}
	description, err := os.ReadFile(filepath.Join(s.tiny.dir, "tiny.toml"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(description), "[list]\n")
	list, _, _ = strings.Cut(list, "[[probe]]")
	accounting := strings.NewReplacer("tstat", "tacct", "list.outcome", "account.outcome").Replace("[account]\n" + list)
	s.tiny.write("tiny.toml", string(description)+accounting)
	for name, faults := range map[string]string{ // each fault lasts while its file exists
		"tstat": "[ ! -e $TINY_HOME/refuses ] || { echo connection refused >&2; exit 1; }\n" +
			"[ ! -e $TINY_HOME/forgets ] || { echo ID STATE EXIT HOST SUBMITTED STARTED ENDED NAME; exit; }\n",
		"tacct": "[ ! -e $TINY_HOME/no-accounting ] || { echo connection refused >&2; exit 1; }\n",
		"tsub":  "[ ! -e $TINY_HOME/dies ] || { : >$TINY_HOME/refuses; kill -s KILL $$; }\n",
	} {
		script := strings.Replace(name, "tacct", "tstat", 1)
		text, err := os.ReadFile(filepath.Join(root, "adapters/command/testdata/tiny", script))
		if err != nil {
			t.Fatal(err)
		}
		s.tiny.command(name, strings.Replace(string(text), "#!/bin/sh\n", "#!/bin/sh\n"+faults, 1))
	}
	clusters, err := os.ReadFile(filepath.Join(s.tiny.dir, "jjm.toml"))
	if err != nil {
		t.Fatal(err)
	}
	target := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	s.daemon = start(t, fmt.Sprintf("job_types = %q\n[metrics]\nlisten = %q\n[engine]\npoll = \"1s\"\npoll_max = \"1s\"\n"+
		"unknown_warn = \"1s\"\nabsent_for = \"1s\"\n%sbreaker_wait = \"1s\"\nbreaker_wait_max = \"1s\"\n"+
		"[[cluster]]\nname = \"local\"\nkind = \"local\"\n", s.types, target, clusters))
	s.prometheus = startPrometheus(t, target)
	s.prometheus.has(`up{job="jjm"} == 1`)
	return s
}

// trouble begins a fault of the described batch system, and untrouble ends faults.
func (s *troubled) trouble(faults ...string) {
	s.t.Helper()
	for _, name := range faults {
		s.must(os.WriteFile(filepath.Join(s.tiny.dir, "home", name), nil, 0o644))
	}
}

func (s *troubled) untrouble(faults ...string) {
	s.t.Helper()
	for _, name := range faults {
		s.must(os.Remove(filepath.Join(s.tiny.dir, "home", name)))
	}
}

// job writes the job file j.toml, for count local jobs on a cluster.
func (s *troubled) job(cluster string, count int, command ...string) {
	s.write("j.toml", fmt.Sprintf("type = \"script\"\nresult = \"exit\"\ncluster = %q\n[params]\ncommand = [\"%s\"]\n"+
		"count = %d\n[retry]\nmax_retry_early = 0\nmax_retry_late_unhandled = 0\n",
		cluster, strings.Join(command, "\", \""), count))
}

// Alerts fire on faults of a real site that Prometheus scrapes, and end with the faults. The rules have no waits: see
// shortened. TestPrometheus_AlertsFireOnTheirFaultsOnly checks the waits.
func TestAlerts_FireOnRealFaults(t *testing.T) {
	needs.Campaign(t, needs.Faults)
	t.Parallel()
	s := startTroubled(t)
	s.restarts()
	s.failures()
	s.silentCluster()
	s.lostFolder()
	s.prometheus.suffer(fault{[]string{"JJMDown"}, s.kill, s.again})
}

// restarts starts the daemon three times: with a bad job type, without it, and once more.
func (s *troubled) restarts() {
	bad := filepath.Join(s.types, "bad.toml")
	s.prometheus.suffer(fault{[]string{"JJMJobTypeOff"}, func() {
		s.must(os.WriteFile(bad, []byte("no = \"job type\"\n"), 0o644))
		s.restart()
	}, func() {
		s.must(os.Remove(bad))
		s.restart()
	}})
	s.prometheus.suffer(fault{[]string{"JJMRestarts"}, s.restart, nil})
}

// failures lets local jobs fail, and damages the output tar of a grid job.
func (s *troubled) failures() {
	s.prometheus.suffer(fault{[]string{"JJMAttemptsFail"}, func() {
		s.job("local", 30, "false")
		if out, code := s.says("submit", "j.toml", "--wait"); code == 0 {
			s.t.Errorf("jobs that fail are done\n%s", out)
		}
	}, nil})
	s.prometheus.suffer(fault{[]string{"JJMRequestsFail"}, func() {
		s.job("local", 1, "true")
		if out, code := s.says("submit", "j.toml", "--wait"); code != 0 {
			s.t.Fatalf("exit %d\n%s", code, out)
		}
		tars, err := filepath.Glob(s.dir + "/state/work/*/jobs/*/output/*.2.tar")
		if err != nil || len(tars) != 1 {
			s.t.Fatalf("the output tars are %v: %v", tars, err)
		}
		s.must(os.Truncate(tars[0], 8))
		if out, code := s.says("output", "2", "--list"); code == 0 {
			s.t.Errorf("the files of a damaged tar are listed\n%s", out)
		}
	}, nil})
}

// silentCluster lets the described batch system forget a running job while its accounting is down, refuse connections,
// and die during a submission.
func (s *troubled) silentCluster() {
	s.job("tiny", 1, "sleep", "6000")
	s.submits("j.toml")
	s.prometheus.has(`jjm_cluster_jobs{cluster="tiny",state="running"} > 0`)
	s.prometheus.suffer(fault{[]string{"JJMJobsMissing"}, func() {
		s.prometheus.suffer(fault{[]string{"JJMAccountingDown"},
			func() { s.trouble("no-accounting", "forgets") }, func() { s.untrouble("no-accounting") }})
	}, func() { s.untrouble("forgets") }})
	s.prometheus.suffer(fault{[]string{"JJMClusterDown", "JJMListingStale"},
		func() { s.trouble("refuses") }, func() { s.untrouble("refuses") }})
	s.prometheus.suffer(fault{[]string{"JJMSubmissionsUnsettled"}, func() {
		s.trouble("dies")
		s.submits("j.toml")
	}, func() { s.untrouble("dies", "refuses") }})
}

// lostFolder moves the records away. A request in the spool waits because of this.
func (s *troubled) lostFolder() {
	records := filepath.Join(s.dir, "state", "records")
	s.prometheus.suffer(fault{[]string{"JJMRefusesWork", "JJMSpoolWaits"}, func() {
		s.must(os.Rename(records, records+".away"))
		s.prometheus.has("jjm_accepting_work == 0")
		await.Freeze(s.t, s.cmd.Process.Pid)
		submit := exec.Command(bin.Path(s.t, "jjm-gatekeeper"), "core", "submit", "--key", "k", s.dir+"/j.toml")
		submit.Env = s.env
		if out, err := submit.CombinedOutput(); err != nil {
			s.t.Errorf("submit: %v: %s", err, out)
		}
		s.signal(syscall.SIGCONT)
	}, func() { s.must(os.Rename(records+".away", records)) }})
}

func (s *troubled) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// startOnSmallDisks starts a daemon whose state and records are on two small disks, and Prometheus. It also returns
// the mount points.
func startOnSmallDisks(t *testing.T) (d *daemon, p *prometheus, state, records string) {
	t.Helper()
	state = needs.Tmpfs(t, shortDir(t), "size=256m,mode=755")
	records = state + "/records"
	if err := os.Mkdir(records, 0o755); err != nil {
		t.Fatal(err)
	}
	needs.Tmpfs(t, records, "size=16m,mode=755")
	target := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	d = start(t, fmt.Sprintf("[metrics]\nlisten = %q\n", target), "JJM_STATE="+state)
	p = startPrometheus(t, target)
	p.has(`up{job="jjm"} == 1`)
	return d, p, state, records
}

// slowDisk delays each fsync of the daemon by 1.5 s, until the returned function is called.
func (d *daemon) slowDisk() (end func()) {
	d.t.Helper()
	slow := exec.Command(needs.Program(d.t, "strace", "strace"), "-f", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:delay_enter=1500000", "-p", strconv.Itoa(d.cmd.Process.Pid))
	said := &logBuffer{}
	slow.Stderr = said
	if err := slow.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = slow.Process.Kill() }) // the error is that strace has ended
	await.True(d.t, "strace traces the daemon", func() bool { return strings.Contains(said.String(), "attached") })
	return func() {
		d.t.Helper()
		if err := slow.Process.Signal(syscall.SIGTERM); err != nil {
			d.t.Fatal(err)
		}
		_ = slow.Wait() // strace ends by the signal
	}
}

// Alerts fire on the faults of disks: one is slow, then the disk of the records is full, then that of the state.
func TestAlerts_FireOnBadDisks(t *testing.T) {
	needs.Campaign(t, needs.Faults)
	t.Parallel()
	d, p, state, records := startOnSmallDisks(t)
	d.write("quick.toml", quickJob)
	p.suffer(fault{[]string{"JJMStoreSlow"}, func() {
		end := d.slowDisk()
		d.submits("quick.toml")
		p.alert("JJMStoreSlow", "firing")
		end()
	}, nil})

	d.write("ends.toml", fmt.Sprintf("type = \"script\"\nresult = \"exit\"\n[params]\ncount = 20\n"+
		"command = [\"sh\", \"-c\", \"until [ -e %s/go ]; do sleep 0.1; done\"]\n", d.dir))
	d.submits("ends.toml")
	p.has(`jjm_local_jobs{state="running"} > 0`)
	remove := func(ballast string) func() {
		return func() {
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.suffer(fault{[]string{"JJMDiskFillsUp", "JJMRefusesWork", "JJMRecordsUnwritten"}, func() {
		fillDisk(t, records+"/ballast")
		d.write("go", "") // the ends of the local jobs belong into the record
	}, remove(records + "/ballast")})
	p.suffer(fault{[]string{"JJMFoldersOrStore"}, func() { fillDisk(t, state+"/ballast") }, remove(state + "/ballast")})
}

// fillDisk writes a file until its disk is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // the disk is full
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
