package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"jjm/internal/api/wire"
)

// The targets of a job that does nothing: CPU per job, as a multiple of the plain program's.
const (
	wrapperCPU = 2
	daemonCPU  = 4
)

// bare measures /bin/true on the real daemon with the embedded batch system, and compares it with a plain program and
// with xargs.
func bare(b *bench) {
	plain, s := b.build("jjm/test/bench/plainjobs"), series{}
	// The run on the disk is done only once, because the end of a grid job deletes the files that its wrappers left for
	// jjm; see onDaemon.
	b.bareDaemon(b.dir, "on disk", s)
	b.plainJobs(plain, b.dir, "on disk", s)
	for range b.size.rounds {
		b.xargs(s)
		b.bareDaemon(b.shared, "in memory", s)
		b.plainJobs(plain, b.shared, "in memory", s)
	}
	for _, where := range []string{"on disk", "in memory"} {
		name := fmt.Sprintf("%d times /bin/true, %s: ", b.size.jobs, where)
		b.beside(name+"wall", s.median(where+" wall"), "ms", fmt.Sprintf("xargs -P %d -n 1", runtime.NumCPU()),
			s.median("xargs"), 0)
		b.beside(name+"CPU per job, wrapper", s.median(where+" wrapper"), "ms", "a plain wrapper",
			s.median(where+" plain wrapper"), wrapperCPU)
		b.beside(name+"CPU per job, daemon", s.median(where+" daemon"), "ms", "a plain spawner",
			s.median(where+" plain spawner"), daemonCPU)
		b.tell(name+"peak memory of the daemon", s.median(where+" peak"), "MB")
	}
}

// xargs runs /bin/true as often as the daemon does. As many run at the same time as there are CPUs.
func (b *bench) xargs(s series) {
	cmd := exec.CommandContext(b.ctx, "xargs", "-P", strconv.Itoa(runtime.NumCPU()), "-n", "1", "/bin/true")
	cmd.Stdin = strings.NewReader(strings.Repeat("1\n", b.size.jobs))
	_, c := spend(cmd)
	s.add("xargs", c.wall)
}

// plainJobs runs the jobs with the plain program, in a separate folder below dir.
func (b *bench) plainJobs(program, dir, where string, s series) {
	dir = must(os.MkdirTemp(dir, "plain-"))
	out, _ := spend(exec.CommandContext(b.ctx, program, "spawn", dir, strconv.Itoa(b.size.jobs)))
	var spent struct{ Wrapper, Spawner float64 }
	check(json.Unmarshal([]byte(out), &spent))
	s.add(where+" plain wrapper", spent.Wrapper)
	s.add(where+" plain spawner", spent.Spawner)
	check(os.RemoveAll(dir))
}

// bareDaemon runs the jobs as local jobs of one grid job of a separate daemon.
func (b *bench) bareDaemon(dir, where string, s series) {
	b.onDaemon(dir, "", nil, func(d *daemon) {
		before := timesOf(d.pid())
		wall := d.finish(script(b.size.jobs, "", "/bin/true"))
		spent, jobs := timesOf(d.pid()).minus(before), float64(b.size.jobs)
		s.add(where+" wall", ms(wall))
		s.add(where+" wrapper", ms(spent.children)/jobs)
		s.add(where+" daemon", ms(spent.own)/jobs)
		s.add(where+" peak", d.peakMB())
	})
}

// The targets for killing a grid job whose local jobs wait in the embedded batch system. killBeside and killMS limit
// the time until all local jobs are judged and the tar is complete: compared with the time to make and submit them, and
// in milliseconds. killAnswer limits the time of the answer, in milliseconds.
const (
	killBeside = 1
	killMS     = 30_000
	killAnswer = 5000
)

// kill measures the kill of a grid job with many local jobs that wait behind one running local job.
func kill(b *bench) {
	config := fmt.Sprintf("[engine]\nmax_pending = %d\n[[cluster]]\nname = \"local\"\nkind = \"local\"\nslots = 1\n",
		2*b.size.live)
	b.onDaemon(b.dir, config, nil, func(d *daemon) {
		began := time.Now()
		id := d.submit(script(b.size.live, "", "sleep", "100000"))
		d.until(id, "all local jobs are submitted", func(c wire.Counts) bool {
			return c.Submitted+c.Running == b.size.live
		})
		made := time.Since(began)
		answered, over := d.kill(id)
		name := fmt.Sprintf("kill of %d local jobs that wait, ", b.size.live)
		b.beside(name+"until the end", ms(over), "ms", "making and submitting them", ms(made), killBeside)
		b.target(name+"until the end", ms(over), "ms", killMS)
		b.target(name+"until the answer", ms(answered), "ms", killAnswer)
	})
}
