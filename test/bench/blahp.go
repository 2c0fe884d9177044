package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

// blahpPatience is how long a wait for jobs lasts at most. It is longer than the time after which jjm abandons a job
// that Slurm has lost: 10 minutes (absent_for) and the time for the proof.
var blahpPatience = await.Guard(15 * time.Minute)

// blahpClients is the number of clients that submit jobs of one part at the same time. blahpd runs up to 50 scripts.
const blahpClients = 8

// lrms is a set of blahp's scripts: jjm's, or HTCondor's own for Slurm.
type lrms struct {
	folder, name string
	env          []string
	as           *syscall.Credential
	work         string // the folder in which jobs have their files
}

// call runs one script and returns its output and its cost.
func (l *lrms) call(b *bench, verb string, args ...string) (string, executed, error) {
	cmd := exec.CommandContext(b.ctx, filepath.Join(l.folder, l.name+"_"+verb+".sh"), args...)
	cmd.Env, cmd.Dir = l.env, l.work
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: l.as}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	err := cmd.Run()
	if err != nil {
		return "", executed{}, fmt.Errorf("%s %s: %w: %s%s", l.name, verb, err, out.String(), errs.String())
	}
	return out.String(), executed{time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// submit submits /bin/true in the same way as blahpd, and returns the id.
func (l *lrms) submit(b *bench, key string) (string, executed, error) {
	out, took, err := l.call(b, "submit", "-r", "no", "-s", "no", "-c", "/bin/true", "-T", l.work, "-w", l.work, "-i",
		"/dev/null",
		"-o", l.work+"/out."+key, "-e", l.work+"/err."+key, "-D", "home_bl_bench_"+key, "-n", "1")
	_, id, ok := strings.Cut(strings.TrimSpace(out), "BLAHP_JOBID_PREFIX")
	if err != nil {
		return id, took, err
	}
	if !ok {
		return id, took, fmt.Errorf("%s submit printed %q", l.name, out)
	}
	return id, took, nil
}

// blahp measures the cost of jjm behind HTCondor's gatekeeper, and compares it with HTCondor's own scripts on the same
// Slurm. It measures the CPU of a submission and of a status, and the rate at which grid jobs of one local job are
// submitted and run to their end.
func (b *bench) blahp() (err error) {
	condor, err := b.bed("condor", false) // only for HTCondor's scripts
	if errors.Is(err, errNoBed) {
		b.say("  %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	d, err := b.bed("slurm", true)
	if err != nil {
		return err
	}
	j, err := d.daemon(b, "slurm", d.bin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.sweep(b), j.close()) }()
	ours, theirs, err := b.lrmsOf(d, j, filepath.Join(filepath.Dir(condor.bin), "root"))
	if err != nil {
		return err
	}
	if err := b.blahpCosts(d, ours, theirs); err != nil {
		return err
	}
	return b.blahpRate(d, j, ours, theirs)
}

// lrmsOf prepares both sets of scripts.
func (b *bench) lrmsOf(d *bed, j *realDaemon, condor string) (ours, theirs *lrms, err error) {
	work := filepath.Join(j.state, "blahp")
	as := &syscall.Credential{Uid: uint32(d.uid), Gid: uint32(d.gid)}
	native := condor + "/usr/libexec/blahp"
	config := filepath.Join(j.state, "blah.config")
	text := fmt.Sprintf(
		"supported_lrms=slurm,jjm\nslurm_binpath=%s\nblah_libexec_directory=%s\nblah_shared_directories=/\nblah_disable_wn_proxy_renewal=yes\njjm_state=%s\n", d.bin, native, j.state)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "USER=" + d.user, "LC_ALL=C",
		"BLAHPD_CONFIG_LOCATION=" + config, "PYTHONPATH=" + native}
	for name, value := range d.env {
		env = append(env, name+"="+value)
	}
	scripts := filepath.Join(j.state, "scripts")
	found, err := filepath.Glob("scripts/blahp/*.sh")
	err = errors.Join(err, os.WriteFile(config, []byte(text), 0o644), os.Mkdir(work, 0o755), os.Chown(work, d.uid, d.gid),
		os.Mkdir(scripts, 0o755))
	for _, file := range append(found, filepath.Join(b.bin, "jjm-gatekeeper")) {
		content, rerr := os.ReadFile(file)
		err = errors.Join(err, rerr, os.WriteFile(filepath.Join(scripts, filepath.Base(file)), content, 0o755))
	}
	return &lrms{folder: scripts, name: "jjm", env: env, as: as, work: work},
		&lrms{folder: native, name: "slurm", env: env, as: as, work: work}, err
}

// blahpCosts compares single calls of jjm's scripts and of HTCondor's scripts, called in turn.
func (b *bench) blahpCosts(d *bed, ours, theirs *lrms) error {
	figures := map[string][]float64{}
	note := func(l *lrms, verb string, e executed) {
		figures[l.name+verb+"cpu"] = append(figures[l.name+verb+"cpu"], ms(e.cpu))
		figures[l.name+verb+"wall"] = append(figures[l.name+verb+"wall"], ms(e.wall))
	}
	for i := range b.size.calls {
		for _, l := range []*lrms{ours, theirs} {
			id, e, err := l.submit(b, fmt.Sprintf("cost%d", i))
			if err != nil {
				return err
			}
			note(l, "submit", e)
			if _, e, err = l.call(b, "status", id); err != nil {
				return err
			}
			note(l, "status", e)
		}
	}
	for _, verb := range []string{"submit", "status"} {
		for _, kind := range []string{"cpu", "wall"} {
			label := map[string]string{"cpu": ", CPU, median", "wall": ", wall, median"}[kind]
			b.beside("blahp", "jjm_"+verb+".sh"+label, median(figures["jjm"+verb+kind]), "ms", "HTCondor's slurm_"+verb+".sh",
				median(figures["slurm"+verb+kind]), 1)
		}
	}
	return d.quiet(b)
}

// quiet waits until the batch system has no job of the account.
func (d *bed) quiet(b *bench) error {
	return until(b.ctx, "squeue is empty", 10*time.Minute, func() (bool, error) {
		out, _, err := d.run(b, "", "squeue", "-h", "-u", d.user)
		time.Sleep(200 * time.Millisecond) // the CPU time of the polling must not affect the measurement
		return strings.TrimSpace(out) == "", err
	})
}

// blahpRate compares the time from the first submission of one-part jobs to the end of the last job.
func (b *bench) blahpRate(d *bed, j *realDaemon, ours, theirs *lrms) error {
	n := b.size.calls * blahpClients / 2
	rate := func(l *lrms, over func() error) (float64, float64, error) {
		began := time.Now()
		failed := make([]error, blahpClients)
		var wg sync.WaitGroup
		for c := range blahpClients {
			wg.Go(func() {
				for i := c; i < n && failed[c] == nil; i += blahpClients {
					_, _, failed[c] = l.submit(b, fmt.Sprintf("rate%d", i))
				}
			})
		}
		wg.Wait()
		submitted := time.Since(began)
		err := errors.Join(failed...)
		if err == nil {
			err = over()
		}
		return float64(n) / submitted.Seconds(), float64(n) / time.Since(began).Seconds(), err
	}
	theirSubmit, theirEnd, err := rate(theirs, func() error { return d.quiet(b) })
	if err != nil {
		return err
	}
	ourSubmit, ourEnd, err := rate(ours, func() error {
		return b.untilOf(j, "all grid jobs are over", blahpPatience, func() (bool, error) {
			time.Sleep(200 * time.Millisecond)
			a, err := client.Call(b.ctx, &j.client, wire.VerbList(), wire.ListRequest{List: &wire.List{Limit: 1}})
			return len(a.Status) == 0, err
		})
	})
	if err != nil {
		return err
	}
	a, err := client.Call(b.ctx, &j.client, wire.VerbList(),
		wire.ListRequest{List: &wire.List{All: true, Status: jjm.Done.String(), Limit: 4 * n}})
	if err != nil || len(a.Status) < n {
		return fmt.Errorf("of %d grid jobs %d are done: %w", n, len(a.Status), err)
	}
	name := fmt.Sprintf("%d jobs of one part, %d at once: ", n, blahpClients)
	b.beside("blahp", name+"ms per submission", 1000/ourSubmit, "ms", "HTCondor's slurm_submit.sh", 1000/theirSubmit, 1)
	b.beside("blahp", name+"ms per job to its end", 1000/ourEnd, "ms", "HTCondor's slurm_submit.sh", 1000/theirEnd, 0)
	b.tell("blahp", name+"to their end, per second", ourEnd, "")
	return nil
}
