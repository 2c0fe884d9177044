package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// gatekeepers measures the cost of a submission and of a status query through jjm for a gatekeeper, and compares it
// with the gatekeeper's own fork job manager, which starts the job as a process and asks the kernel whether it lives.
// Only the programs that the gatekeeper runs are measured; certificates and networks are the same for both.
func (b *bench) gatekeepers() error {
	for _, measure := range []func() error{b.gram, b.arc} {
		if err := measure(); errors.Is(err, errNoBed) {
			b.say("  %v", err)
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// gatekeeperSite starts a daemon as an ordinary account, for a gatekeeper's scripts.
func (b *bench) gatekeeperSite(name string) (*bed, *realDaemon, string, error) {
	d, err := b.bed(name, false)
	if err != nil {
		return nil, nil, "", err
	}
	dir, err := os.MkdirTemp("/tmp", "jjm-bench-")
	if err != nil {
		return nil, nil, "", err
	}
	b.made = append(b.made, dir)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "jobs"), 0o755),
		os.Chown(filepath.Join(dir, "jobs"), d.uid, d.gid)); err != nil {
		return nil, nil, "", err
	}
	daemon, err := b.startDaemonAs(dir, "log = \"error\"\n[[cluster]]\nname = \"local\"\nkind = \"local\"\n",
		d.credential())
	return d, daemon, dir, err
}

func (d *bed) credential() *syscall.Credential {
	return &syscall.Credential{Uid: uint32(d.uid), Gid: uint32(d.gid)}
}

// gram measures GRAM. It runs the Perl process of a job manager in the same way as the job manager.
func (b *bench) gram() error {
	d, daemon, dir, err := b.gatekeeperSite("gram")
	if err != nil {
		return err
	}
	defer func() { _ = daemon.close() }()
	conf := filepath.Join(dir, "globus-jjm.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "programs=%q\nstate=%q\n", b.bin, daemon.state), 0o644); err != nil {
		return err
	}
	figures := map[string]map[string]float64{}
	for _, kind := range []string{"jjm", "fork"} {
		p, err := b.perl(d, kind, dir, conf)
		if err != nil {
			return err
		}
		figures[kind], err = p.measure(b.size.rounds * 20)
		if err = errors.Join(err, p.close()); err != nil {
			return fmt.Errorf("job manager %s: %w", kind, err)
		}
	}
	for _, verb := range []string{"submit", "poll"} {
		b.beside("gatekeepers", "GRAM5: "+verb+" through jjm, CPU", figures["jjm"][verb], "ms",
			"the fork job manager", figures["fork"][verb], 0)
	}
	return nil
}

// perl is a job manager's Perl process.
type perl struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	kind string
	dir  string
}

func (b *bench) perl(d *bed, kind, dir, conf string) (*perl, error) {
	p := &perl{kind: kind, dir: filepath.Join(dir, "jobs")}
	p.cmd = exec.CommandContext(b.ctx, "/usr/share/globus/globus-job-manager-script.pl", "-m", kind, "-c", "interactive")
	p.cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + p.dir, "JJM_GRAM_CONF=" + conf}
	p.cmd.Dir, p.cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: d.credential()}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p, p.cmd.Start()
}

func (p *perl) close() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }

// measure submits jobs and then polls each once. It returns the CPU time per job in ms, of the Perl process and of
// the programs that it ran.
func (p *perl) measure(n int) (map[string]float64, error) {
	jobs := make([]string, n+1)
	cost := map[string]float64{}
	for _, verb := range []string{"submit", "poll"} {
		var before procTimes
		for i := range jobs {
			if i == 1 { // the first job also loads the modules
				var err error
				if before, err = timesOf(p.cmd.Process.Pid); err != nil {
					return nil, err
				}
			}
			if verb == "submit" {
				jobs[i] = p.job(i)
			}
			answer, err := p.ask(verb, jobs[i])
			if err != nil {
				return nil, err
			}
			if verb == "submit" {
				_, rest, ok := strings.Cut(answer, "GRAM_SCRIPT_JOB_ID:")
				batch, _, _ := strings.Cut(rest, "\n")
				if !ok {
					return nil, fmt.Errorf("submit answered %q", answer)
				}
				jobs[i] += ", 'jobid' => ['" + batch + "']"
			}
		}
		after, err := timesOf(p.cmd.Process.Pid)
		if err != nil {
			return nil, err
		}
		used := after.minus(before)
		cost[verb] = ms(used.own+used.children) / float64(n)
	}
	return cost, nil
}

// job returns the description of a job in the form that the job manager passes.
func (p *perl) job(i int) string {
	id := fmt.Sprintf("%s-%d", p.kind, i)
	return fmt.Sprintf(
		"'uniqid' => ['%[1]s'], 'jobdir' => ['%[2]s/%[1]s'], 'directory' => ['%[2]s'], 'executable' => ['/bin/sleep'], 'arguments' => ['30'], "+
			"'count' => ['1'], 'stdin' => ['/dev/null'], 'stdout' => ['%[2]s/%[1]s/out'], 'stderr' => ['%[2]s/%[1]s/err'], 'jobtype' => ['single'], "+
			"'savejobdescription' => ['no'], 'environment' => [['HOME', '/']]", id, p.dir)
}

func (p *perl) ask(verb, job string) (string, error) {
	if _, err := fmt.Fprintf(p.in, "%s\n{ %s }\n\n", verb, job); err != nil {
		return "", err
	}
	var answer strings.Builder
	for {
		line, err := p.out.ReadString('\n')
		if err != nil || line == "\n" {
			return answer.String(), err
		}
		answer.WriteString(line)
	}
}

// arc measures ARC. It runs A-REX's scripts in the same way as A-REX. It compares only CPU time, because A-REX's
// scan-fork-job sleeps for ten seconds at its end.
func (b *bench) arc() error {
	d, daemon, dir, err := b.gatekeeperSite("arc")
	if err != nil {
		return err
	}
	defer func() { _ = daemon.close() }()
	jobs := b.size.calls
	type figure struct{ submit, scan float64 }
	figures := map[string]figure{}
	for _, kind := range []string{"jjm", "fork"} {
		c := &arcControl{bench: b, bed: d, kind: kind, dir: filepath.Join(dir, kind), state: daemon.state}
		var f figure
		if f.submit, err = c.submit(jobs); err == nil {
			f.scan, err = c.scan()
		}
		if err != nil {
			return fmt.Errorf("arc, %s: %w", kind, err)
		}
		figures[kind] = f
	}
	b.beside("gatekeepers", "ARC: submit through jjm, CPU, median", figures["jjm"].submit, "ms", "ARC's fork scripts",
		figures["fork"].submit, 0)
	b.beside("gatekeepers", fmt.Sprintf("ARC: scan of %d jobs through jjm, CPU, per job", jobs),
		figures["jjm"].scan/float64(jobs), "ms",
		"ARC's fork scripts", figures["fork"].scan/float64(jobs), 0)
	return nil
}

// arcControl is a control folder, in which A-REX keeps a few files for each job. No A-REX runs.
type arcControl struct {
	bench            *bench
	bed              *bed
	kind, dir, state string
}

// script runs one of A-REX's scripts and returns its CPU time, children included.
func (c *arcControl) script(verb, arg string, as *syscall.Credential) (float64, error) {
	argv := []string{"/usr/share/arc/" + verb + "-" + c.kind + "-job", "--config", "/var/lib/jjm-testbed/arc/run/arex.cfg",
		arg}
	if c.kind == "jjm" {
		argv = []string{filepath.Join(c.bench.bin, "jjm-gatekeeper"), "arc", verb, arg}
	}
	cmd := exec.CommandContext(c.bench.ctx, argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/root", "JJM_STATE=" + c.state}
	// The jobs of the fork scripts signal their process group when they end.
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: as, Setpgid: true}
	var said strings.Builder
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second // provoked: the fork script's jobs keep its output open
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, fmt.Errorf("%s: %w: %.400s", strings.Join(argv, " "), err, said.String())
	}
	return ms(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()), nil
}

// submit submits jobs that run for a while, and returns the median of the cost.
func (c *arcControl) submit(n int) (float64, error) {
	for _, sub := range []string{"", "processing", "session"} {
		if err := os.MkdirAll(filepath.Join(c.dir, sub), 0o755); err != nil {
			return 0, err
		}
	}
	var took []float64
	for i := range n {
		id := fmt.Sprintf("%s%d", c.kind, i)
		session, file := filepath.Join(c.dir, "session", id), func(ending string) string {
			return filepath.Join(c.dir, "job."+id+ending)
		}
		grami := fmt.Sprintf(
			"joboption_directory='%[1]s'\njoboption_controldir='%[2]s'\njoboption_gridid='%[3]s'\njoboption_arg_0='/bin/sleep'\n"+
				"joboption_arg_1='30'\njoboption_stdout='%[1]s/out'\njoboption_stderr='%[1]s/err'\njoboption_count=1\njoboption_queue='main'\n", session, c.dir, id)
		for _, err := range []error{
			os.Mkdir(session, 0o700), os.WriteFile(file(".grami"), []byte(grami), 0o600),
			os.WriteFile(file(".local"), []byte("subject=/CN=x\n"), 0o600),
			os.WriteFile(file(".errors"), nil, 0o600), os.WriteFile(file(".diag"), nil, 0o600),
			os.WriteFile(session+".diag", nil, 0o600),
			os.WriteFile(session+".comment", nil, 0o600),
			os.WriteFile(filepath.Join(c.dir, "processing", "job."+id+".status"), []byte("INLRMS\n"), 0o644),
		} {
			if err != nil {
				return 0, err
			}
		}
		for _, name := range []string{session, file(".grami"), file(".local"), file(".errors"), file(".diag"),
			session + ".diag", session + ".comment"} {
			if err := os.Chown(name, c.bed.uid, c.bed.gid); err != nil {
				return 0, err
			}
		}
		cost, err := c.script("submit", file(".grami"), c.bed.credential())
		if err != nil {
			return 0, err
		}
		took = append(took, cost)
	}
	return median(took), nil
}

// scan scans all jobs while they run, and returns the median of the cost.
func (c *arcControl) scan() (float64, error) {
	var took []float64
	for range c.bench.size.rounds {
		cost, err := c.script("scan", c.dir, nil)
		if err != nil {
			return 0, err
		}
		took = append(took, cost)
	}
	return median(took), nil
}
