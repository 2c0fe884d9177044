package gateclient_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/programs"
	"jjm/internal/testkit/testbed"
)

// pool is the bed's HTCondor, which passes jobs to a site.
type pool struct {
	*site
	bed       *testbed.Bed
	root, iwd string
}

// TestCondor_NoJobIsHeldLostOrDoubled submits jobs to a real HTCondor, as jobs of the grid universe and for the route
// of etc/htcondor, while jjm's daemon and blahpd are killed and stay away.
func TestCondor_NoJobIsHeldLostOrDoubled(t *testing.T) {
	needs.Campaign(t, needs.Gatekeepers)
	t.Parallel()
	bed := testbed.Start(t, "condor")
	p := &pool{site: newSite(t, local, ""), bed: bed, root: filepath.Join(filepath.Dir(bed.Bin), "root")}
	p.give(bed.Owner)
	p.install(bed)
	p.iwd = filepath.Join(p.dir, "iwd")
	p.must(os.Mkdir(p.iwd, 0o755))
	p.must(os.Chown(p.iwd, bed.Owner.UID, bed.Owner.GID))
	p.must(os.WriteFile(p.iwd+"/job.sh", []byte("#!/bin/sh\necho $1 >>"+p.dir+"/ledger\necho \"out of $1\"; exit $2\n"),
		0o755))
	p.hold()
	p.router()
	p.start()

	// No machine of the pool may run the job before the router takes the job.
	routed := p.submit(
		"universe = vanilla\nrequirements = Machine == \"nowhere\"\n+WantJobRouter = True\nshould_transfer_files = YES\n",
		"routed 3", 1)
	killed := p.blahpdKilled()
	many := p.twoHundred()
	// The test waits for the routed job last, because one gridmanager serves all jobs in turn.
	for cluster, n := range map[string]int{killed: 1, many: 200} {
		programs.AwaitNone(t, patience, pollEvery, "jobs of cluster "+cluster+" leave HTCondor's queue", func() int {
			p.notHeld()
			return len(strings.Fields(p.condor("condor_q", cluster, "-af", "ClusterId")))
		})
		if ended := p.past(cluster, "JobStatus", "ExitCode"); ended != strings.Repeat("4 0\n", n-1)+"4 0" {
			t.Errorf("of %d jobs there ended so:\n%s", n, ended)
		}
	}
	p.await("the routed job is back", func() bool {
		return strings.HasPrefix(p.past(routed, "JobStatus", "ExitCode", "RoutedToJobId"), "4 3 ")
	})
	if out, err := os.ReadFile(p.iwd + "/out.routed.0"); err != nil || string(out) != "out of routed\n" {
		t.Errorf("the routed job's output is %q, %v", out, err)
	}
	a, err := ask(p.site, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true, Limit: 1000}})
	if err != nil || len(a.Status) != 202 {
		t.Errorf("%d grid jobs, %v; want 202", len(a.Status), err)
	}
	ran := p.ran()
	for what, n := range map[string]int{"routed": 1, "once": 1, "many": 200} {
		if ran[what] != n {
			t.Errorf("%s ran %d times, want %d", what, ran[what], n)
		}
	}
}

// condor runs one of HTCondor's commands.
func (p *pool) condor(name string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command(filepath.Join(p.bed.Bin, name), args...)
	cmd.Dir = p.iwd
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// past returns attributes of the jobs of a cluster that have left the queue.
func (p *pool) past(cluster string, attrs ...string) string {
	return p.condor("condor_history", append([]string{cluster, "-af"}, attrs...)...)
}

// notHeld fails the test when HTCondor holds a job.
func (p *pool) notHeld() {
	p.t.Helper()
	if held := p.condor("condor_q", "-constraint", "JobStatus == 5 && Iwd == \""+p.iwd+"\"", "-af", "ClusterId",
		"HoldReason"); held != "" {
		p.t.Fatalf("held: %s", held)
	}
}

// submit submits n jobs and returns their cluster.
func (p *pool) submit(universe, arguments string, n int) string {
	p.t.Helper()
	what, _, _ := strings.Cut(arguments, " ")
	file := filepath.Join(p.iwd, what+".sub")
	p.must(os.WriteFile(file, fmt.Appendf(nil,
		"%sexecutable = job.sh\narguments = %s\noutput = out.%[3]s.$(Process)\nerror = err.%[3]s.$(Process)\nlog = log\nqueue %[4]d\n",
		universe, arguments, what, n), 0o644))
	out := p.condor("condor_submit", "-terse", file)
	cluster, _, _ := strings.Cut(out, ".")
	p.t.Cleanup(func() {
		if p.t.Failed() {
			p.tellOf(cluster)
		}
		_ = exec.Command(filepath.Join(p.bed.Bin, "condor_rm"), cluster, "-forcex").Run()
	})
	return cluster
}

// tellOf logs where the jobs of a cluster are, and the last log lines of the daemons that forward jobs. This shows
// where a lost job got stuck.
func (p *pool) tellOf(cluster string) {
	for _, args := range [][]string{
		{"condor_q", cluster, "-limit", "1", "-long"},
		{"condor_q", "-constraint", "RoutedFromJobId == \"" + cluster + ".0\"", "-long"},
	} {
		out, err := exec.Command(filepath.Join(p.bed.Bin, args[0]), args[1:]...).CombinedOutput()
		p.t.Logf("%q: %v\n%s", args, err, out)
	}
	logs, _ := filepath.Glob(filepath.Join(p.root, "var/log/condor/*Log*"))
	for _, path := range logs {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "JobRouter") || strings.HasPrefix(name, "Gridmanager") || name == "SchedLog" {
			text, _ := os.ReadFile(path)
			p.t.Logf("%s ends:\n%s", name, text[max(0, len(text)-8000):])
		}
	}
}

const gridUniverse = "universe = grid\ngrid_resource = batch jjm\n"

// twoHundred submits two hundred jobs in one cluster. While HTCondor submits them to jjm, fifty at a time, jjm's daemon
// stops, stays away, comes back, is killed and comes back. The submissions of the first fifty wait meanwhile; otherwise
// all might be submitted before the daemon stops.
func (p *pool) twoHundred() string {
	p.t.Helper()
	spooled := func() int {
		names, _ := filepath.Glob(filepath.Join(p.state, "spool/in/*/*.submit"))
		return len(names)
	}
	made := func() int {
		a, err := ask(p.site, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true, Limit: 1000}})
		p.must(err)
		return len(a.Status)
	}
	hold := filepath.Join(p.iwd, "hold")
	p.must(os.WriteFile(hold, nil, 0o644))
	cluster := p.submit(gridUniverse, "many 0", 200)
	p.await("some are submitted", func() bool { return made() > 20 })
	p.end(syscall.SIGTERM)
	p.must(os.Remove(hold))
	p.await("others wait in the spool", func() bool { return spooled() > 60 })
	p.begin()
	p.await("those are taken in", func() bool {
		_, err := ask(p.site, wire.VerbPing(), wire.PingRequest{})
		return err == nil
	})
	p.end(syscall.SIGKILL)
	p.begin()
	return cluster
}

// hold replaces jjm-gatekeeper in the bed by a script. As long as the file "hold" exists, the script delays the answer
// to a submission that jjm accepted.
func (p *pool) hold() {
	p.t.Helper()
	program := filepath.Join(p.root, "etc/jjm-blahp/jjm-gatekeeper")
	p.must(os.Rename(program, program+".real"))
	p.must(os.WriteFile(program, fmt.Appendf(nil,
		"#!/bin/sh\n[ \"$2\" = submit ] && [ -e %[1]s/hold ] || exec \"$0.real\" \"$@\"\n"+
			"answer=$(\"$0.real\" \"$@\")\necho x >>%[1]s/held\nwhile [ -e %[1]s/hold ]; do sleep 0.3; done\necho \"$answer\"\n",
		p.iwd), 0o755))
}

// blahpdKilled kills blahpd during a submission that jjm has accepted already. HTCondor repeats the submission, and
// both submissions are the same grid job.
func (p *pool) blahpdKilled() string {
	p.t.Helper()
	hold := filepath.Join(p.iwd, "hold")
	p.must(os.WriteFile(hold, nil, 0o644))
	cluster := p.submit(gridUniverse, "once 0", 1)
	times := func() int {
		text, _ := os.ReadFile(filepath.Join(p.iwd, "held"))
		return strings.Count(string(text), "x")
	}
	p.await("blahpd submits", func() bool { p.notHeld(); return times() >= 1 })
	before := times()
	daemons := p.processes("blahpd")
	for _, pid := range daemons {
		p.must(syscall.Kill(pid, syscall.SIGKILL))
	}
	if len(daemons) == 0 {
		p.t.Fatal("no blahpd runs")
	}
	p.await("it is submitted again", func() bool { p.notHeld(); return times() > before })
	p.must(os.Remove(hold))
	return cluster
}

// router makes the pool run HTCondor's job router with the route that jjm ships, until the test ends.
func (p *pool) router() {
	p.t.Helper()
	shipped, err := os.ReadFile("../../etc/htcondor/60-jjm.conf")
	p.must(err)
	files := map[string]string{
		"60-jjm.conf": string(shipped),
		// The settings that the shipped file tells a pool without a CE to add, with shorter times.
		"95-jjm-router.conf": "DAEMON_LIST = $(DAEMON_LIST) JOB_ROUTER\nJOB_ROUTER = $(LIBEXEC)/condor_job_router\nJOB_ROUTER_LOG = $(LOG)/JobRouterLog\n" +
			"JOB_ROUTER_SOURCE_JOB_CONSTRAINT = WantJobRouter\nJOB_ROUTER_POLLING_PERIOD = 1\n" +
			"GRIDMANAGER_JOB_PROBE_INTERVAL = 8\nGRIDMANAGER_JOB_PROBE_RATE = 20\n",
	}
	at := func(name string) string { return filepath.Join(p.root, "etc/condor/config.d", name) }
	p.t.Cleanup(func() {
		for name := range files {
			_ = os.Remove(at(name))
		}
		p.reconfigure()
		p.await("the job router has ended", func() bool { return len(p.processes("condor_job_rou")) == 0 })
	})
	for name, text := range files {
		p.must(os.WriteFile(at(name), []byte(text), 0o644))
	}
	p.reconfigure()
	p.await("the job router runs", func() bool { return len(p.processes("condor_job_rou")) == 1 })
}

// reconfigure makes the pool's master read its configuration again, and start and stop daemons accordingly.
func (p *pool) reconfigure() {
	p.t.Helper()
	for _, pid := range p.processes("condor_master") {
		p.must(syscall.Kill(pid, syscall.SIGHUP))
	}
}

// processes returns the processes of the pool whose program's name starts with name.
func (p *pool) processes(name string) (pids []int) {
	p.t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/comm")
	p.must(err)
	for _, file := range found {
		comm, _ := os.ReadFile(file)
		root, _ := os.Readlink(filepath.Join(filepath.Dir(file), "root"))
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/comm", &pid); err == nil && strings.HasPrefix(string(comm), name) &&
			root == p.root {
			pids = append(pids, pid)
		}
	}
	return pids
}
