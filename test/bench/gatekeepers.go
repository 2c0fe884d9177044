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

	"jjm/internal/jjm"
	"jjm/internal/testkit/testbed"
)

// gatekeepers measures the cost of a submission and of a status query through jjm for a gatekeeper, and compares it
// with the gatekeeper's own fork job manager, which starts the job as a process and asks the kernel whether it lives.
// Only the programs that the gatekeeper runs are measured; certificates and networks are the same for both.
func gatekeepers(b *bench) {
	b.behindGatekeeper("gram", b.gram)
	b.behindGatekeeper("arc", b.arc)
}

// behindGatekeeper starts a daemon as an ordinary account, for a gatekeeper's scripts.
func (b *bench) behindGatekeeper(name string, do func(as jjm.Owner, d *daemon, dir string)) {
	d, dir := testbed.Start(b, name), b.folder("/tmp")
	b.onDaemon(dir, "[[cluster]]\nname = \"local\"\nkind = \"local\"\n", credential(d.Owner), func(j *daemon) {
		do(d.Owner, j, dir)
	})
}

// gram measures GRAM. It runs the Perl process of a job manager in the same way as the job manager.
func (b *bench) gram(as jjm.Owner, d *daemon, dir string) {
	conf := filepath.Join(dir, "globus-jjm.conf")
	check(os.WriteFile(conf, fmt.Appendf(nil, "programs=%q\nstate=%q\n", b.bin, d.state), 0o644))
	jobs := filepath.Join(dir, "jobs")
	check(errors.Join(os.Mkdir(jobs, 0o755), os.Chown(jobs, as.UID, as.GID)))
	figures := map[string]map[string]float64{}
	for _, kind := range []string{"jjm", "fork"} {
		p := &perl{kind: kind, dir: jobs}
		p.cmd = exec.CommandContext(b.ctx, "/usr/share/globus/globus-job-manager-script.pl", "-m", kind, "-c", "interactive")
		p.cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + jobs, "JJM_GRAM_CONF=" + conf}
		p.cmd.Dir, p.cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: credential(as)}
		p.in, p.out = must(p.cmd.StdinPipe()), bufio.NewReader(must(p.cmd.StdoutPipe()))
		check(p.cmd.Start())
		err := try(func() { figures[kind] = p.measure(b.size.rounds * 20) })
		check(errors.Join(err, p.in.Close(), p.cmd.Wait()))
	}
	for _, verb := range []string{"submit", "poll"} {
		b.beside("GRAM5: "+verb+" through jjm, CPU", figures["jjm"][verb], "ms", "the fork job manager",
			figures["fork"][verb], 0)
	}
}

// perl is a job manager's Perl process.
type perl struct {
	cmd       *exec.Cmd
	in        io.WriteCloser
	out       *bufio.Reader
	kind, dir string
}

// measure submits jobs and then polls each once. It returns the CPU time per job in ms, of the Perl process and of
// the programs that it ran. The first job is not measured, because it also loads the modules.
func (p *perl) measure(n int) map[string]float64 {
	jobs, costs := make([]string, n+1), map[string]float64{}
	for i := range jobs {
		jobs[i] = p.job(i)
	}
	verbs := []struct {
		name string
		do   func(i int)
	}{
		{"submit", func(i int) { jobs[i] += fmt.Sprintf(", 'jobid' => ['%s']", p.submit(jobs[i])) }},
		{"poll", func(i int) { p.ask("poll", jobs[i]) }},
	}
	for _, verb := range verbs {
		verb.do(0)
		before := timesOf(p.cmd.Process.Pid)
		for i := 1; i <= n; i++ {
			verb.do(i)
		}
		used := timesOf(p.cmd.Process.Pid).minus(before)
		costs[verb.name] = ms(used.own+used.children) / float64(n)
	}
	return costs
}

// job returns the description of a job in the form that the job manager passes.
func (p *perl) job(i int) string {
	id := fmt.Sprintf("%s-%d", p.kind, i)
	return fmt.Sprintf("'uniqid' => ['%[1]s'], 'jobdir' => ['%[2]s/%[1]s'], 'directory' => ['%[2]s'], "+
		"'executable' => ['/bin/sleep'], 'arguments' => ['30'], 'count' => ['1'], 'stdin' => ['/dev/null'], "+
		"'stdout' => ['%[2]s/%[1]s/out'], 'stderr' => ['%[2]s/%[1]s/err'], 'jobtype' => ['single'], "+
		"'savejobdescription' => ['no'], 'environment' => [['HOME', '/']]", id, p.dir)
}

// submit submits a job and returns its id.
func (p *perl) submit(job string) string {
	answer := p.ask("submit", job)
	_, rest, ok := strings.Cut(answer, "GRAM_SCRIPT_JOB_ID:")
	if !ok {
		check(fmt.Errorf("job manager %s: submit answered %q", p.kind, answer))
	}
	id, _, _ := strings.Cut(rest, "\n")
	return id
}

// ask sends a request and returns the lines of the answer up to an empty line.
func (p *perl) ask(verb, job string) (answer string) {
	must(fmt.Fprintf(p.in, "%s\n{ %s }\n\n", verb, job))
	for {
		line := must(p.out.ReadString('\n'))
		if line == "\n" {
			return answer
		}
		answer += line
	}
}

// arc measures ARC. It runs A-REX's scripts in the same way as A-REX. It compares only CPU time, because A-REX's
// scan-fork-job sleeps for ten seconds at its end.
func (b *bench) arc(as jjm.Owner, d *daemon, dir string) {
	jobs, s := b.size.calls, series{}
	for _, kind := range []string{"jjm", "fork"} {
		c := arcControl{b: b, as: as, kind: kind, dir: filepath.Join(dir, kind), state: d.state}
		for i := range jobs {
			s.add(kind+" submit", c.submit(fmt.Sprintf("%s%d", kind, i)))
		}
		for range b.size.rounds { // all jobs still run
			s.add(kind+" scan", c.script("scan", c.dir, nil)/float64(jobs))
		}
	}
	b.beside("ARC: submit through jjm, CPU, median", s.median("jjm submit"), "ms", "ARC's fork scripts",
		s.median("fork submit"), 0)
	b.beside(fmt.Sprintf("ARC: scan of %d jobs through jjm, CPU, per job", jobs), s.median("jjm scan"), "ms",
		"ARC's fork scripts", s.median("fork scan"), 0)
}

// arcControl is a control folder, in which A-REX keeps a few files for each job. No A-REX runs.
type arcControl struct {
	b                *bench
	as               jjm.Owner
	kind, dir, state string
}

// script runs one of A-REX's scripts and returns its CPU time, children included.
func (c arcControl) script(verb, arg string, as *syscall.Credential) float64 {
	argv := []string{"/usr/share/arc/" + verb + "-" + c.kind + "-job", "--config", "/var/lib/jjm-testbed/arc/run/arex.cfg",
		arg}
	if c.kind == "jjm" {
		argv = []string{filepath.Join(c.b.bin, "jjm-gatekeeper"), "arc", verb, arg}
	}
	cmd := exec.CommandContext(c.b.ctx, argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/root", "JJM_STATE=" + c.state}
	// The jobs of the fork scripts signal their process group when they end.
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: as, Setpgid: true}
	cmd.WaitDelay = time.Second // provoked: the fork script's jobs keep its output open
	_, took := spend(cmd)
	return took.cpu
}

// submit submits a job that runs for a while, and returns the cost.
func (c arcControl) submit(id string) float64 {
	session, control := filepath.Join(c.dir, "session", id), filepath.Join(c.dir, "job."+id)
	grami := fmt.Sprintf("joboption_directory='%[1]s'\njoboption_controldir='%[2]s'\njoboption_gridid='%[3]s'\n"+
		"joboption_arg_0='/bin/sleep'\njoboption_arg_1='30'\njoboption_stdout='%[1]s/out'\n"+
		"joboption_stderr='%[1]s/err'\njoboption_count=1\njoboption_queue='main'\n", session, c.dir, id)
	status := filepath.Join(c.dir, "processing", "job."+id+".status")
	check(errors.Join(os.MkdirAll(filepath.Dir(status), 0o755), os.MkdirAll(filepath.Dir(session), 0o755),
		os.Mkdir(session, 0o700), os.Chown(session, c.as.UID, c.as.GID), os.WriteFile(status, []byte("INLRMS\n"), 0o644)))
	for path, text := range map[string]string{control + ".grami": grami, control + ".local": "subject=/CN=x\n",
		control + ".errors": "", control + ".diag": "", session + ".diag": "", session + ".comment": ""} {
		check(errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chown(path, c.as.UID, c.as.GID)))
	}
	return c.script("submit", control+".grami", credential(c.as))
}
