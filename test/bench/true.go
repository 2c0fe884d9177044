package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// The targets of a job that does nothing: CPU per job, as a multiple of the plain program's.
const (
	wrapperCPU = 2
	daemonCPU  = 4
)

// bareRun is one run of /bin/true many times; CPU is per job, in milliseconds.
type bareRun struct {
	wall            time.Duration
	wrapper, daemon float64 // CPU times with /bin/true; both 0 for xargs
	peakMB          float64
}

// bare measures /bin/true on the real daemon with the embedded batch system, and compares it with a plain program and
// with xargs.
func (b *bench) bare() error {
	plain, err := b.build("plain", "jjm/test/bench/plainjobs")
	if err != nil {
		return err
	}
	// The run on the disk is done only once, because the end of a grid job deletes the files that its wrappers left for
	// jjm; see close.
	disk, err := b.bareDaemon(b.dir)
	if err != nil {
		return err
	}
	plainDisk, err := b.plainJobs(plain, b.dir)
	if err != nil {
		return err
	}
	var memory, plainMemory, xargs []bareRun
	for range b.size.rounds {
		x, err := b.xargs()
		if err != nil {
			return err
		}
		m, err := b.bareDaemon(b.shared)
		if err != nil {
			return err
		}
		p, err := b.plainJobs(plain, b.shared)
		if err != nil {
			return err
		}
		memory, plainMemory, xargs = append(memory, m), append(plainMemory, p), append(xargs, x)
	}
	b.tellBare("on disk", []bareRun{disk}, []bareRun{plainDisk}, xargs)
	b.tellBare("in memory", memory, plainMemory, xargs)
	return nil
}

// tellBare adds the figures of jjm's runs in one kind of folder, compared with the plain program's.
func (b *bench) tellBare(where string, jjms, plain, xargs []bareRun) {
	of := func(runs []bareRun, f func(bareRun) float64) float64 {
		var all []float64
		for _, r := range runs {
			all = append(all, f(r))
		}
		return median(all)
	}
	wall := func(r bareRun) float64 { return ms(r.wall) }
	wrapper := func(r bareRun) float64 { return r.wrapper }
	daemon := func(r bareRun) float64 { return r.daemon }
	name := fmt.Sprintf("%d times /bin/true, %s: ", b.size.jobs, where)
	b.beside("true", name+"wall", of(jjms, wall), "ms", fmt.Sprintf("xargs -P %d -n 1", runtime.NumCPU()), of(xargs, wall),
		0)
	b.beside("true", name+"CPU per job, wrapper", of(jjms, wrapper), "ms", "a plain wrapper", of(plain, wrapper),
		wrapperCPU)
	b.beside("true", name+"CPU per job, daemon", of(jjms, daemon), "ms", "a plain spawner", of(plain, daemon), daemonCPU)
	b.tell("true", name+"peak memory of the daemon", of(jjms, func(r bareRun) float64 { return r.peakMB }), "MB")
}

// xargs runs /bin/true as often as the daemon does. As many run at the same time as there are CPUs.
func (b *bench) xargs() (bareRun, error) {
	cmd := exec.CommandContext(b.ctx, "xargs", "-P", strconv.Itoa(runtime.NumCPU()), "-n", "1", "/bin/true")
	var lines strings.Builder
	for i := range b.size.jobs {
		fmt.Fprintln(&lines, i)
	}
	cmd.Stdin = strings.NewReader(lines.String())
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return bareRun{}, fmt.Errorf("xargs: %w: %s", err, out)
	}
	return bareRun{wall: time.Since(began)}, nil
}

// plainJobs runs the jobs with the plain program, in a separate folder below dir.
func (b *bench) plainJobs(program, dir string) (r bareRun, err error) {
	dir, err = os.MkdirTemp(dir, "plain-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	began := time.Now()
	out, err := exec.CommandContext(b.ctx, program, "spawn", dir, strconv.Itoa(b.size.jobs)).Output()
	r.wall = time.Since(began)
	if err != nil {
		return r, fmt.Errorf("the plain program: %w: %s", err, stderrOf(err))
	}
	var spent struct{ Wrapper, Spawner float64 }
	err = json.Unmarshal(out, &spent)
	r.wrapper, r.daemon = spent.Wrapper, spent.Spawner
	return r, err
}

// stderrOf returns the standard error of a program that failed.
func stderrOf(err error) []byte {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.Stderr
	}
	return nil
}

// bareDaemon runs the jobs as local jobs of one grid job of a separate daemon.
func (b *bench) bareDaemon(dir string) (r bareRun, err error) {
	d, err := b.startDaemon(dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	before, err := timesOf(d.pid())
	if err != nil {
		return r, err
	}
	began := time.Now()
	status, err := d.runJob(b.ctx,
		fmt.Sprintf("type = \"script\"\nname = \"true\"\n[params]\ncommand = [\"/bin/true\"]\ncount = %d\n", b.size.jobs))
	if err != nil {
		return r, err
	}
	if status != jjm.Done.String() {
		return r, fmt.Errorf("the grid job is %s", status)
	}
	r.wall = time.Since(began)
	after, err := timesOf(d.pid())
	if err != nil {
		return r, err
	}
	spent := after.minus(before)
	r.wrapper, r.daemon = ms(spent.children)/float64(b.size.jobs), ms(spent.own)/float64(b.size.jobs)
	r.peakMB, err = peakMB(strconv.Itoa(d.pid()))
	return r, err
}

// realDaemon is a daemon in a separate folder.
type realDaemon struct {
	cmd    *exec.Cmd
	state  string
	client client.Client
	bed    *bed      // the bed whose jobs it runs, nil for the embedded batch system
	log    *os.File  // the daemon's log, besides standard error
	perf   *exec.Cmd // nil unless profiling
	began  time.Time // the start of the measurement, if the daemon is measured
}

// startDaemon starts jjm-daemon with the default settings in a separate folder below dir, and waits until it answers.
func (b *bench) startDaemon(dir string) (*realDaemon, error) {
	return b.startDaemonAs(dir, "log = \"warn\"\n", nil)
}

// startDaemonAs is startDaemon with a configuration and an account.
func (b *bench) startDaemonAs(dir, config string, as *syscall.Credential) (*realDaemon, error) {
	state, err := os.MkdirTemp(dir, "daemon-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(state, "jjm.toml")
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
		return nil, err
	}
	if as != nil {
		if err := os.Chown(state, int(as.Uid), int(as.Gid)); err != nil {
			return nil, err
		}
	}
	d := &realDaemon{state: state, client: client.Client{Socket: filepath.Join(state, "jjm.sock")}}
	d.cmd = exec.CommandContext(b.ctx, filepath.Join(b.bin, "jjm-daemon"), "serve")
	d.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + state, "JJM_STATE=" + state, "JJM_CONFIG=" + path}
	if d.log, err = os.Create(d.logPath()); err != nil {
		return nil, err
	}
	d.cmd.Stderr = io.MultiWriter(os.Stderr, d.log)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: as}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	err = until(b.ctx, "the daemon answers", 4*time.Minute, func() (bool, error) {
		_, err := client.Call(b.ctx, &d.client, wire.VerbPing(), wire.PingRequest{})
		return err == nil, nil
	})
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, d.profile(b.ctx)
}

// profile runs perf(1) on the daemon, if a profile is requested. Programs built by make have no symbols: see -bin.
func (d *realDaemon) profile(ctx context.Context) error {
	dir := os.Getenv(profileEnv)
	if dir == "" {
		return nil
	}
	d.perf = exec.CommandContext(ctx, "perf", "record", "-q", "-g", "-o", filepath.Join(dir, "true.perf"), "-p",
		strconv.Itoa(d.pid()))
	return d.perf.Start()
}

// logPath returns the path of a daemon's log.
func (d *realDaemon) logPath() string { return filepath.Join(d.state, "daemon.log") }

func (d *realDaemon) pid() int { return d.cmd.Process.Pid }

// runJob submits a job file and waits for its end.
func (d *realDaemon) runJob(ctx context.Context, text string) (status string, err error) {
	a, err := client.Call(ctx, &d.client, wire.VerbSubmit(),
		wire.SubmitRequest{Submit: &wire.Submit{Name: "job.toml", Text: text, BaseDir: d.state}})
	if err != nil {
		return "", err
	}
	req := wire.WaitRequest{Many: wire.Refs(a.Submit.ID.String())}
	err = client.Watch(ctx, &d.client, wire.VerbWait(), req, func(a wire.StatusAnswer) error {
		status = a.Status[0].Lookup.Status
		return nil
	})
	return status, err
}

// close ends the daemon in the same way as a service manager. Its folder stays until the end of the run, because ext4
// without a journal checks every inode that was deleted in the last minute before it makes a new inode
// (recently_deleted in fs/ext4/ialloc.c of Linux). The check would count as CPU time of the next run.
func (d *realDaemon) close() error {
	err := d.cmd.Process.Signal(syscall.SIGTERM)
	err = errors.Join(err, d.cmd.Wait(), d.log.Close())
	if d.perf != nil {
		_ = d.perf.Wait() // perf ends with the daemon; its exit code says nothing
	}
	return err
}
