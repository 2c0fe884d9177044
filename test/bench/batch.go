package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// The targets of the comparisons with the real batch systems.
const (
	recordedMore  = 500  // ms by which jjm may exceed a bare submission
	recordedMost  = 5000 // ms for 10 000 local jobs
	pollCPU       = 4    // times the CPU of one bare squeue, per cycle with 10 000 jobs
	throughput    = 1.2  // times the bare array
	loopOfSbatch  = 50   // submissions in the measured loop
	oneJobClients = 8    // clients that submit grid jobs of one part at the same time
)

// slurm measures jjm in front of a real Slurm, and compares it with bare commands. The partition "closed" is down: it
// accepts jobs and starts none.
func (b *bench) slurm() error {
	d, err := b.bed("slurm", true)
	if errors.Is(err, errNoBed) {
		b.say("  %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	loop, err := d.loop(b)
	if err != nil {
		return err
	}
	for _, do := range []func() error{
		func() error { return b.slurmArrays(d, loop) },
		func() error { return b.slurmSingles(d, loop) },
		func() error { return b.slurmPolling(d) },
		func() error { return b.slurmShort(d) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

const nothing = "#!/bin/sh\nexec /bin/true\n"

// loop returns the mean time of one sbatch in a loop of submissions, in milliseconds.
func (d *bed) loop(b *bench) (float64, error) {
	var total time.Duration
	for range loopOfSbatch {
		_, took, err := d.run(b, nothing, "sbatch", "--parsable", "-p", "closed", "-J", "bench", "-o", "/dev/null")
		if err != nil {
			return 0, err
		}
		total += took.wall
	}
	return ms(total) / loopOfSbatch, d.sweep(b)
}

// sweep cancels all jobs of the account.
func (d *bed) sweep(b *bench) error {
	if _, _, err := d.run(b, "", "scancel", "-u", d.user); err != nil {
		return err
	}
	return until(b.ctx, "squeue is empty", time.Minute, func() (bool, error) {
		out, _, err := d.run(b, "", "squeue", "-h", "-u", d.user)
		return strings.TrimSpace(out) == "", err
	})
}

// slurmArrays measures the time from the acceptance of a grid job until the batch system's ids of all its local jobs
// are stored.
func (b *bench) slurmArrays(d *bed, loop float64) error {
	for _, n := range []int{1000, 10_000} {
		var bare, jjms []float64
		for range b.size.rounds {
			_, took, err := d.run(b, nothing, "sbatch", "--parsable", "-p", "closed", "-J", "bench", "-o", "/dev/null",
				fmt.Sprintf("--array=0-%d", n-1))
			if err != nil {
				return err
			}
			if err := d.sweep(b); err != nil {
				return err
			}
			r, err := b.recorded(d, "slurm", n, "queue = \"closed\"")
			if err != nil {
				return err
			}
			bare, jjms = append(bare, ms(took.wall)), append(jjms, ms(r.ids))
		}
		name := fmt.Sprintf("%d local jobs, until all ids are recorded", n)
		b.beside("slurm", name, median(jjms), "ms", fmt.Sprintf("bare sbatch --array=0-%d + 0.5 s", n-1),
			median(bare)+recordedMore, limitOf(n == 1000))
		b.beside("slurm", name, median(jjms), "ms", "a tenth of a loop of sbatch", loop*float64(n)/10, 1)
		if n == 10_000 {
			b.target("slurm", name, median(jjms), "ms", recordedMost)
		}
	}
	return nil
}

func limitOf(wanted bool) float64 {
	if wanted {
		return 1
	}
	return 0
}

// recorded holds the times that a grid job took until all ids were stored, and until the first local job ran.
type recorded struct{ ids, ran time.Duration }

// recorded submits a grid job of n local jobs to a separate daemon, waits until the ids of all local jobs in the batch
// system are stored, and kills the grid job.
func (b *bench) recorded(d *bed, kind string, n int, request string) (r recorded, err error) {
	j, err := d.daemon(b, kind, d.bin)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	began := time.Now()
	a, err := b.submitTo(j, fmt.Sprintf(
		"type = \"script\"\nname = \"bench\"\n[request]\n%s\n[params]\ncommand = [\"/bin/true\"]\ncount = %d\n", request, n))
	if err != nil {
		return r, err
	}
	id := a.Submit.ID
	err = b.until(j, id, "all ids are recorded", func(c wire.Counts) bool {
		return c.Total == n && c.New+c.Submitting == 0
	})
	r.ids = time.Since(began)
	if err != nil {
		return r, err
	}
	if request == "" {
		err := b.until(j, id, "a local job runs", func(c wire.Counts) bool { return c.Running+c.Completing+c.Completed > 0 })
		if r.ran = time.Since(began); err != nil {
			return r, err
		}
	}
	return r, b.killAndWait(j, id)
}

// submitTo submits as root, because a daemon of an ordinary account also serves root. The owner of the grid job is the
// daemon's account.
func (b *bench) submitTo(j *realDaemon, text string) (wire.SubmitAnswer, error) {
	return client.Call(b.ctx, &j.client, wire.VerbSubmit(),
		wire.SubmitRequest{Submit: &wire.Submit{Name: "job.toml", Text: text, BaseDir: j.state}})
}

// until repeats a request for the counts of a grid job until ok returns true. It returns an error after 3 minutes.
func (b *bench) until(j *realDaemon, id jjm.GridID, what string, ok func(wire.Counts) bool) error {
	return b.untilOf(j, what, 3*time.Minute, func() (bool, error) {
		a, err := client.Call(b.ctx, &j.client, wire.VerbLookup(), wire.LookupRequest{Many: wire.Refs(id.String())})
		return err == nil && ok(a.Lookup[0].Counts), err
	})
}

func (b *bench) killAndWait(j *realDaemon, id jjm.GridID) error {
	_, err := client.Call(b.ctx, &j.client, wire.VerbKill(),
		wire.KillRequest{Many: wire.Refs(id.String())})
	if err != nil {
		return err
	}
	return b.untilOf(j, "the killed grid job is over", 5*time.Minute, func() (bool, error) {
		a, err := client.Call(b.ctx, &j.client, wire.VerbLookup(), wire.LookupRequest{Many: wire.Refs(id.String())})
		var st jjm.GridStatus
		return err == nil && st.UnmarshalText([]byte(a.Lookup[0].Status)) == nil && st.Final(), err
	})
}

// slurmSingles submits many grid jobs of one local job each. All have the same owner and equal requests, so a bulk
// contains local jobs of several grid jobs.
func (b *bench) slurmSingles(d *bed, loop float64) (err error) {
	n := b.size.singles
	j, err := d.daemon(b, "slurm", d.bin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.sweep(b), j.close()) }()
	began := time.Now()
	ids := make([]jjm.GridID, n)
	failed := make([]error, oneJobClients)
	var wg sync.WaitGroup
	for c := range oneJobClients {
		wg.Go(func() {
			for i := c; i < n && failed[c] == nil; i += oneJobClients {
				var a wire.SubmitAnswer
				a, failed[c] = b.submitTo(
					j, "type = \"script\"\nname = \"bench\"\n[request]\nqueue = \"closed\"\n[params]\ncommand = [\"/bin/true\"]\n")
				if failed[c] == nil {
					ids[i] = a.Submit.ID
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	for _, id := range ids {
		if err := b.until(j, id, "all grid jobs are submitted", func(c wire.Counts) bool {
			return c.Total == 1 && c.New+c.Submitting == 0
		}); err != nil {
			return err
		}
	}
	took := ms(time.Since(began)) / float64(n)
	b.beside("slurm", fmt.Sprintf("%d grid jobs of one local job: time per submission", n), took, "ms", "a loop of sbatch",
		loop, 1)
	b.tell("slurm", fmt.Sprintf("%d grid jobs of one local job: sustained, per second", n), 1000/took, "")
	return nil
}

// slurmPolling measures the cost of polling with 10 000 waiting jobs.
func (b *bench) slurmPolling(d *bed) (err error) {
	const n, cycles = 10_000, 4
	shims, err := b.counting(d, "squeue", "sacct")
	if err != nil {
		return err
	}
	j, err := d.daemon(b, "slurm", shims)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.sweep(b), j.close()) }()
	a, err := b.submitTo(j, fmt.Sprintf(
		"type = \"script\"\nname = \"bench\"\n[request]\nqueue = \"closed\"\n[params]\ncommand = [\"/bin/true\"]\ncount = %d\n", n))
	if err == nil {
		err = b.until(j, a.Submit.ID, "all ids are recorded", func(c wire.Counts) bool { return c.Submitted == n })
	}
	if err != nil {
		return err
	}
	time.Sleep(b.size.quiet) // records are published meanwhile
	commands, times, err := b.polls(j, shims)
	if err != nil {
		return err
	}
	began := time.Now()
	time.Sleep(cycles * 10 * time.Second) // cycles times the default poll interval
	commands2, times2, err := b.polls(j, shims)
	if err != nil {
		return err
	}
	passed := time.Since(began).Seconds() / 10
	_, squeue, err := d.run(b, "", "squeue", "-h", "-r", "--states=all", "-u", d.user)
	if err != nil {
		return err
	}
	b.beside("slurm", fmt.Sprintf("%d jobs wait: jjm's CPU per cycle of 10 s", n), ms(times2.minus(times).own)/passed,
		"ms", "one bare squeue", ms(squeue.cpu), pollCPU)
	b.target("slurm", fmt.Sprintf("%d jobs wait: squeue per cycle", n), float64(commands2-commands)/passed, "", 1.05)
	b.tell("slurm", fmt.Sprintf("%d jobs wait: one bare squeue", n), ms(squeue.wall), "ms")
	return nil
}

// polls returns how often the shims were called, and the daemon's CPU times.
func (b *bench) polls(j *realDaemon, shims string) (int, procTimes, error) {
	times, err := timesOf(j.pid())
	calls, err2 := os.ReadFile(filepath.Join(shims, "squeue.calls"))
	return len(calls), times, errors.Join(err, err2)
}

// counting makes a folder of shims for the bed's commands. The shims of the given names count their calls.
func (b *bench) counting(d *bed, names ...string) (string, error) {
	dir, err := os.MkdirTemp("/tmp", "jjm-bench-shims-")
	if err != nil {
		return "", err
	}
	b.made = append(b.made, dir)
	all, err := os.ReadDir(d.bin)
	if err != nil {
		return "", err
	}
	for _, e := range all {
		if err := os.Symlink(filepath.Join(d.bin, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return "", err
		}
	}
	for _, name := range names {
		shim, calls := filepath.Join(dir, name), filepath.Join(dir, name+".calls")
		text := fmt.Sprintf("#!/bin/sh\nprintf x >>%s\nexec %s \"$@\"\n", calls, filepath.Join(d.bin, name))
		if err := errors.Join(os.Remove(shim), os.WriteFile(shim, []byte(text), 0o755), os.WriteFile(calls, nil, 0o666),
			os.Chmod(calls, 0o666)); err != nil {
			return "", err
		}
	}
	return dir, os.Chmod(dir, 0o755)
}

// slurmShort runs short jobs with jjm, including the wrapper, and compares them with a bare array of the same jobs.
func (b *bench) slurmShort(d *bed) (err error) {
	n := b.size.short
	began := time.Now()
	_, _, err = d.run(b, nothing, "sbatch", "--parsable", "--wait", "-J", "bench", "-o", "/dev/null",
		fmt.Sprintf("--array=0-%d", n-1))
	if err != nil {
		return err
	}
	bare := time.Since(began)
	j, err := d.daemon(b, "slurm", d.bin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	began = time.Now()
	status, err := j.runJob(b.ctx,
		fmt.Sprintf("type = \"script\"\nname = \"bench\"\n[params]\ncommand = [\"/bin/true\"]\ncount = %d\n", n))
	if err != nil {
		return err
	}
	if status != jjm.Done.String() {
		return fmt.Errorf("the grid job is %s", status)
	}
	b.beside("slurm", fmt.Sprintf("%d times /bin/true to the tar, wrapper included", n), ms(time.Since(began)), "ms",
		"bare array", ms(bare), throughput)
	return nil
}
