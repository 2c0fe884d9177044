package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/testbed"
)

// lrms is a set of blahp's scripts: jjm's, or HTCondor's own for Slurm.
type lrms struct {
	b            *bench
	folder, name string
	env          []string
	as           *syscall.Credential
	work         string // where jobs have their files
}

// call runs one script and returns its output and its cost.
func (l lrms) call(verb string, args ...string) (string, cost) {
	cmd := exec.CommandContext(l.b.ctx, filepath.Join(l.folder, l.name+"_"+verb+".sh"), args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = l.env, l.work, &syscall.SysProcAttr{Credential: l.as}
	return spend(cmd)
}

// submit submits /bin/true in the same way as blahpd, and returns the id.
func (l lrms) submit(key string) (string, cost) {
	out, took := l.call("submit", "-r", "no", "-s", "no", "-c", "/bin/true", "-T", l.work, "-w", l.work, "-i", "/dev/null",
		"-o", l.work+"/out."+key, "-e", l.work+"/err."+key, "-D", "home_bl_bench_"+key, "-n", "1")
	_, id, ok := strings.Cut(strings.TrimSpace(out), "BLAHP_JOBID_PREFIX")
	if !ok {
		check(fmt.Errorf("%s submit printed %q", l.name, out))
	}
	return id, took
}

// blahp measures the cost of jjm behind HTCondor's gatekeeper, and compares it with HTCondor's own scripts on the same
// Slurm. It measures the CPU of a submission and of a status, and the rate at which grid jobs of one local job are
// submitted and run to their end.
func blahp(b *bench) {
	native := filepath.Join(filepath.Dir(testbed.Start(b, "condor").Bin), "root/usr/libexec/blahp")
	d := b.alone("slurm")
	d.onDaemon(func(j *daemon) {
		ours, theirs := d.lrmsOf(j, native)
		d.blahpCosts(ours, theirs)
		d.blahpRate(j, ours, theirs)
	})
}

// lrmsOf prepares both sets of scripts.
func (d bed) lrmsOf(j *daemon, native string) (ours, theirs lrms) {
	work, scripts := filepath.Join(j.state, "blahp"), filepath.Join(j.state, "scripts")
	config := filepath.Join(j.state, "blah.config")
	text := fmt.Sprintf("supported_lrms=slurm,jjm\nslurm_binpath=%s\nblah_libexec_directory=%s\n"+
		"blah_shared_directories=/\nblah_disable_wn_proxy_renewal=yes\njjm_state=%s\n", d.Bin, native, j.state)
	check(errors.Join(os.WriteFile(config, []byte(text), 0o644), os.Mkdir(work, 0o755),
		os.Chown(work, d.Owner.UID, d.Owner.GID), os.Mkdir(scripts, 0o755)))
	for _, file := range append(must(filepath.Glob("scripts/blahp/*.sh")), filepath.Join(d.b.bin, "jjm-gatekeeper")) {
		check(os.WriteFile(filepath.Join(scripts, filepath.Base(file)), must(os.ReadFile(file)), 0o755))
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "USER=" + d.Owner.User, "LC_ALL=C",
		"BLAHPD_CONFIG_LOCATION=" + config, "PYTHONPATH=" + native}
	for name, value := range d.Env {
		env = append(env, name+"="+value)
	}
	as := credential(d.Owner)
	return lrms{d.b, scripts, "jjm", env, as, work}, lrms{d.b, native, "slurm", env, as, work}
}

// blahpCosts compares single calls of jjm's scripts and of HTCondor's scripts, called in turn.
func (d bed) blahpCosts(ours, theirs lrms) {
	s := series{}
	for i := range d.b.size.calls {
		for _, l := range []lrms{ours, theirs} {
			id, submit := l.submit(fmt.Sprintf("cost%d", i))
			_, status := l.call("status", id)
			for verb, c := range map[string]cost{"submit": submit, "status": status} {
				s.add(l.name+"_"+verb+".sh, CPU, median", c.cpu)
				s.add(l.name+"_"+verb+".sh, wall, median", c.wall)
			}
		}
	}
	for _, what := range []string{"_submit.sh, CPU, median", "_submit.sh, wall, median", "_status.sh, CPU, median",
		"_status.sh, wall, median"} {
		script, _, _ := strings.Cut(what, ",")
		d.b.beside("jjm"+what, s.median("jjm"+what), "ms", "HTCondor's slurm"+script, s.median("slurm"+what), 1)
	}
	d.quiet()
}

// quiet waits until the batch system has no job of the account. It asks rarely, so that the CPU time of its questions
// does not affect the measurement.
func (d bed) quiet() {
	d.b.until("squeue is empty", func() bool {
		time.Sleep(200 * time.Millisecond)
		return d.jobs() == ""
	})
}

// blahpRate compares the time from the first submission of one-part jobs to the end of the last job.
func (d bed) blahpRate(j *daemon, ours, theirs lrms) {
	n := d.b.size.calls * clients / 2
	rate := func(l lrms, over func()) (submitted, ended float64) {
		began := time.Now()
		together(n, func(i int) { l.submit(fmt.Sprintf("rate%d", i)) })
		submitted = ms(time.Since(began)) / float64(n)
		over()
		return submitted, ms(time.Since(began)) / float64(n)
	}
	list := func(l wire.List) int { return len(request(j, wire.VerbList(), wire.ListRequest{List: &l}).Status) }
	theirSubmit, theirEnd := rate(theirs, d.quiet)
	ourSubmit, ourEnd := rate(ours, func() {
		d.b.until("all grid jobs are over", func() bool {
			time.Sleep(200 * time.Millisecond)
			return list(wire.List{Limit: 1}) == 0
		})
	})
	if done := list(wire.List{All: true, Status: jjm.Done.String(), Limit: 4 * n}); done < n {
		check(fmt.Errorf("of %d grid jobs %d are done", n, done))
	}
	name := fmt.Sprintf("%d jobs of one part, %d at once: ", n, clients)
	d.b.beside(name+"ms per submission", ourSubmit, "ms", "HTCondor's slurm_submit.sh", theirSubmit, 1)
	d.b.beside(name+"ms per job to its end", ourEnd, "ms", "HTCondor's slurm_submit.sh", theirEnd, 0)
	d.b.tell(name+"to their end, per second", 1000/ourEnd, "")
}
