package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	testsite "jjm/internal/testkit/site"
	"jjm/internal/testkit/testbed"
)

// bed is a real batch system of scripts/testbed. The section uses it from testbed.Start or testbed.StartAlone to its
// end.
type bed struct {
	*testbed.Bed
	b    *bench
	kind string
}

// alone waits until a bed has no other users and excludes them until the end of the section, because the section waits
// for an empty queue and cancels all jobs.
func (b *bench) alone(name string) bed {
	b.say("  waits until nobody else uses the test bed %s", name)
	return bed{testbed.StartAlone(b, name), b, name}
}

// run runs one of the bed's commands and returns its output and its cost.
func (d bed) run(stdin string, argv ...string) (string, cost) {
	cmd := exec.CommandContext(d.b.ctx, filepath.Join(d.Bin, argv[0]), argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	for name, value := range d.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdin, cmd.Dir = strings.NewReader(stdin), "/tmp"
	return spend(cmd)
}

// onDaemon starts a daemon whose only cluster is this bed, as the account of the bed's jobs.
func (d bed) onDaemon(do func(*daemon)) {
	d.b.onDaemon(d.b.folder("/tmp"), testsite.OnBed(d.Bed, d.kind), credential(d.Owner), do)
}

// jobs returns Slurm's list of the account's jobs.
func (d bed) jobs() string {
	out, _ := d.run("", "squeue", "-h", "-u", d.Owner.User)
	return strings.TrimSpace(out)
}

// sweep cancels all jobs that the account has in Slurm.
func (d bed) sweep() {
	d.run("", "scancel", "-u", d.Owner.User)
	d.b.until("squeue is empty", func() bool { return d.jobs() == "" })
}

func credential(o jjm.Owner) *syscall.Credential {
	return &syscall.Credential{Uid: uint32(o.UID), Gid: uint32(o.GID)}
}

// clients is the number of clients that submit grid jobs of one local job at the same time.
const clients = 8

// together calls do with 0..n-1, from several clients at the same time.
func together(n int, do func(i int)) {
	var wg sync.WaitGroup
	failed := make([]error, clients)
	for c := range clients {
		wg.Go(func() {
			failed[c] = try(func() {
				for i := c; i < n; i += clients {
					do(i)
				}
			})
		})
	}
	wg.Wait()
	check(errors.Join(failed...))
}

// The targets of the comparisons with the real batch systems.
const (
	recordedMore = 500  // ms by which jjm may exceed a bare submission
	recordedMost = 5000 // ms for 10 000 local jobs
	pollCPU      = 4    // times the CPU of one bare squeue, per cycle with 10 000 jobs
	pollMost     = 1.05 // squeue per cycle
	throughput   = 1.2  // times the bare array
	loopOfSbatch = 50   // submissions in the measured loop
)

// closed is a partition that is down: it accepts jobs and starts none.
const closed = "closed"

// slurm measures jjm in front of a real Slurm, and compares it with bare commands.
func slurm(b *bench) {
	d := b.alone("slurm")
	var loop float64 // the mean time of one sbatch in a loop of submissions
	for range loopOfSbatch {
		loop += d.sbatch("-p", closed).wall / loopOfSbatch
	}
	d.sweep()
	for _, n := range []int{1000, 10_000} {
		d.arrays(n, loop)
	}
	d.singles(loop)
	d.polling()
	d.short()
}

// sbatch submits a script that runs /bin/true.
func (d bed) sbatch(args ...string) cost {
	args = append([]string{"sbatch", "--parsable", "-J", "bench", "-o", "/dev/null"}, args...)
	_, c := d.run("#!/bin/sh\nexec /bin/true\n", args...)
	return c
}

// arrays measures the time from acceptance until all ids are recorded.
func (d bed) arrays(n int, loop float64) {
	array, s := fmt.Sprintf("--array=0-%d", n-1), series{}
	for range d.b.size.rounds {
		s.add("bare", d.sbatch("-p", closed, array).wall)
		d.sweep()
		d.recorded(n, closed, s)
	}
	name, limit := fmt.Sprintf("%d local jobs, until all ids are recorded", n), 1.
	if n == 10_000 {
		d.b.target(name, s.median("ids"), "ms", recordedMost)
		limit = 0
	}
	d.b.beside(name, s.median("ids"), "ms", "bare sbatch "+array+" + 0.5 s", s.median("bare")+recordedMore, limit)
	d.b.beside(name, s.median("ids"), "ms", "a tenth of a loop of sbatch", loop*float64(n)/10, 1)
}

// recorded submits a grid job of n local jobs to a separate daemon, and kills it. It adds how long it took until the
// ids of all local jobs in the batch system were stored, and, if the jobs need not wait, until the first one ran.
func (d bed) recorded(n int, queue string, s series) {
	d.onDaemon(func(j *daemon) {
		began := time.Now()
		id := j.submit(script(n, queue, "/bin/true"))
		j.until(id, "all ids are recorded", func(c wire.Counts) bool { return c.Total == n && c.New+c.Submitting == 0 })
		s.add("ids", ms(time.Since(began)))
		if queue != closed {
			j.until(id, "a local job runs", func(c wire.Counts) bool { return c.Running+c.Completing+c.Completed > 0 })
			s.add("ran", ms(time.Since(began)))
		}
		j.kill(id)
	})
}

// singles submits many grid jobs of one local job each. All have the same owner and equal requests, so a bulk contains
// local jobs of several grid jobs.
func (d bed) singles(loop float64) {
	n := d.b.size.singles
	d.onDaemon(func(j *daemon) {
		began, ids := time.Now(), make([]string, n)
		together(n, func(i int) { ids[i] = j.submit(script(1, closed, "/bin/true")) })
		for _, id := range ids {
			j.until(id, "all grid jobs are submitted", func(c wire.Counts) bool {
				return c.Total == 1 && c.New+c.Submitting == 0
			})
		}
		took := ms(time.Since(began)) / float64(n)
		name := fmt.Sprintf("%d grid jobs of one local job: ", n)
		d.b.beside(name+"time per submission", took, "ms", "a loop of sbatch", loop, 1)
		d.b.tell(name+"sustained, per second", 1000/took, "")
		d.sweep()
	})
}

// polling measures the cost of polling with 10 000 waiting jobs.
func (d bed) polling() {
	const n, cycles = 10_000, 4
	shims := d.counting("squeue")
	calls := func() int { return len(must(os.ReadFile(filepath.Join(shims.Bin, "squeue.calls")))) }
	shims.onDaemon(func(j *daemon) {
		id := j.submit(script(n, closed, "/bin/true"))
		j.until(id, "all ids are recorded", func(c wire.Counts) bool { return c.Submitted == n })
		time.Sleep(d.b.size.quiet) // records are published meanwhile
		before, times, began := calls(), timesOf(j.pid()), time.Now()
		time.Sleep(cycles * cycle)
		spent, polls := timesOf(j.pid()).minus(times).own, calls()-before
		passed := float64(time.Since(began)) / float64(cycle)
		_, squeue := d.run("", "squeue", "-h", "-r", "--states=all", "-u", d.Owner.User)
		name := fmt.Sprintf("%d jobs wait: ", n)
		d.b.beside(name+"jjm's CPU per cycle of 10 s", ms(spent)/passed, "ms", "one bare squeue", squeue.cpu, pollCPU)
		d.b.target(name+"squeue per cycle", float64(polls)/passed, "", pollMost)
		d.b.tell(name+"one bare squeue", squeue.wall, "ms")
		d.sweep()
	})
}

// counting returns the bed with a script in front of one of its commands, which counts its calls.
func (d bed) counting(name string) bed {
	dir := d.b.folder("/tmp")
	for _, e := range must(os.ReadDir(d.Bin)) {
		if e.Name() != name {
			check(os.Symlink(filepath.Join(d.Bin, e.Name()), filepath.Join(dir, e.Name())))
		}
	}
	path := filepath.Join(dir, name)
	text := fmt.Sprintf("#!/bin/sh\nprintf x >>%s.calls\nexec %s \"$@\"\n", path, filepath.Join(d.Bin, name))
	check(os.WriteFile(path, []byte(text), 0o755))
	check(os.WriteFile(path+".calls", nil, 0o666))
	check(os.Chown(path+".calls", d.Owner.UID, d.Owner.GID))
	return bed{&testbed.Bed{Bin: dir, Env: d.Env, Owner: d.Owner}, d.b, d.kind}
}

// short runs short jobs with jjm, including the wrapper, and compares them with a bare array of the same jobs.
func (d bed) short() {
	n := d.b.size.jobs / 2
	bare := d.sbatch("--wait", fmt.Sprintf("--array=0-%d", n-1))
	d.onDaemon(func(j *daemon) {
		d.b.beside(fmt.Sprintf("%d times /bin/true to the tar, wrapper included", n),
			ms(j.finish(script(n, "", "/bin/true"))), "ms", "bare array", bare.wall, throughput)
	})
}

// condor measures the time of a submission to a real HTCondor until the ids of all local jobs are stored, compared
// with a bare submission on hold. Then it measures the time from the release of the held jobs until the first one
// runs, compared with the same steps by hand.
func condor(b *bench) {
	const n = 1000
	d, bare, jjms := b.alone("condor"), series{}, series{}
	for range b.size.rounds {
		d.bareCluster(n, bare)
		d.recorded(n, "", jjms)
	}
	queue := fmt.Sprintf("bare queue %d", n)
	b.beside(fmt.Sprintf("%d local jobs, until all ids are recorded", n), jjms.median("ids"), "ms", queue+" + 0.5 s",
		bare.median("ids")+recordedMore, 1)
	b.beside(fmt.Sprintf("%d local jobs, released, until the first one runs", n), jjms.median("ran"), "ms",
		queue+", condor_release, the same", bare.median("ran"), 0)
}

// bareCluster submits n jobs on hold, releases them, waits until one runs or has run, and removes them.
func (d bed) bareCluster(n int, s series) {
	began := time.Now()
	out, _ := d.run(fmt.Sprintf("executable = /bin/true\nhold = true\nqueue %d\n", n), "condor_submit", "-terse", "-")
	s.add("ids", ms(time.Since(began)))
	cluster, _, _ := strings.Cut(out, ".")
	found := func(argv ...string) bool {
		out, _ := d.run("", append(argv, "-af", "ProcId")...)
		return out != ""
	}
	d.run("", "condor_release", cluster)
	of := "ClusterId == " + cluster
	d.b.until("a bare job runs", func() bool {
		return found("condor_q", "-limit", "1", "-constraint", of+" && NumJobStarts > 0") ||
			found("condor_history", "-match", "1", "-constraint", of)
	})
	s.add("ran", ms(time.Since(began)))
	_ = try(func() { d.run("", "condor_rm", cluster) }) // fails if all jobs have already run
	d.b.until("the bare jobs are gone", func() bool { return !found("condor_q", "-limit", "1", cluster) })
}
