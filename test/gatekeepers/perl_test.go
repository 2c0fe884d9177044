package gatekeepers_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/jjm"
)

// script is one of the long-lived Perl processes that a job manager calls (the first tier). The test writes to its
// input and reads its output in the same way as a job manager.
type script struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs string // the path of the file with its standard error
}

// scripts holds the settings that all script processes share.
type scripts struct {
	owner jjm.Owner
	dir   string // the folder of the jobs' folders
	conf  string // the path of globus-jjm.conf
}

// newScripts writes a configuration that names the programs and the state of a site.
func newScripts(t testing.TB, owner jjm.Owner, dir, programs, state string) *scripts {
	t.Helper()
	s := &scripts{owner: owner, dir: dir, conf: filepath.Join(dir, "globus-jjm.conf")}
	write(t, s.conf, fmt.Sprintf("programs=%q\nstate=%q\n", programs, state), 0o644)
	return s
}

// start starts a Perl process of jjm's module.
func (s *scripts) start(t testing.TB) *script {
	t.Helper()
	errs, err := os.CreateTemp(s.dir, "stderr-*")
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	p := &script{t: t, errs: errs.Name()}
	p.cmd = exec.Command("/usr/share/globus/globus-job-manager-script.pl", "-m", "jjm", "-c", "interactive")
	p.cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + s.dir, "LOGNAME=" + s.owner.User, "JJM_GRAM_CONF=" + s.conf}
	p.cmd.Dir, p.cmd.Stderr = "/", errs
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential(s.owner)}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.in.Close()
		_ = p.cmd.Wait()
	})
	return p
}

// gramJob is a job as its job manager stores it.
type gramJob struct {
	dir  string
	attr map[string]string // the Perl text of each attribute's values
}

// job returns a job with an id of the job manager.
func (s *scripts) job(t testing.TB, id string) *gramJob {
	t.Helper()
	j := &gramJob{dir: filepath.Join(s.dir, id)}
	for _, err := range []error{os.MkdirAll(j.dir, 0o755), os.Chown(j.dir, s.owner.UID, s.owner.GID)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	j.attr = map[string]string{
		"uniqid": quoted(id), "jobdir": quoted(j.dir), "directory": quoted(j.dir), "executable": "'/bin/true'",
		"count": "'1'",
		"stdin": "'/dev/null'", "stdout": quoted(j.dir + "/stdout"), "stderr": quoted(j.dir + "/stderr"),
		"jobtype":            "'multiple'",
		"savejobdescription": "'no'", "environment": "['HOME', " + quoted(s.dir) +
			"], ['GLOBUS_GASS_CACHE_DEFAULT', '/nonexistent']",
	}
	return j
}

// quoted returns words in Perl syntax.
func quoted(words ...string) string {
	var out []string
	for _, w := range words {
		out = append(out, "'"+strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(w)+"'")
	}
	return strings.Join(out, ", ")
}

// ask runs a verb and returns the lines of its answer, sorted and without lines for the log. An answer must end with
// one blank line.
func (p *script) ask(verb string, j *gramJob) []string {
	p.t.Helper()
	p.tell(verb, j)
	var lines []string
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			said, _ := os.ReadFile(p.errs)
			p.t.Fatalf("%s: the script ended after %q: %v\n%s", verb, lines, err, said)
		}
		if line == "\n" {
			break
		}
		if !strings.HasPrefix(line, "GRAM_SCRIPT_") {
			p.t.Fatalf("%s: a line that is not GRAM's: %q", verb, line)
		}
		if !strings.HasPrefix(line, "GRAM_SCRIPT_LOG:") {
			lines = append(lines, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "GRAM_SCRIPT_"))
		}
	}
	slices.Sort(lines)
	return lines
}

// tell calls a verb as a job manager does, and does not wait for the answer.
func (p *script) tell(verb string, j *gramJob) {
	p.t.Helper()
	var text strings.Builder
	text.WriteString(verb + "\n$description = {\n")
	for name, perl := range j.attr {
		fmt.Fprintf(&text, "'%s' => [ %s ],\n", name, perl)
	}
	text.WriteString("};\n\n")
	if _, err := io.WriteString(p.in, text.String()); err != nil {
		p.t.Fatalf("%s: %v", verb, err)
	}
}

// kill kills the process and returns the answers that it had written.
func (p *script) kill() string {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	said, err := io.ReadAll(p.out)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(said)
}

// wantLines calls a verb and compares the whole answer.
func (p *script) wantLines(verb string, j *gramJob, want ...string) {
	p.t.Helper()
	if got := p.ask(verb, j); !slices.Equal(got, want) {
		said, _ := os.ReadFile(p.errs)
		p.t.Errorf("%s: %q, want %q\n%s", verb, got, want, said)
	}
}

// submit submits a job that must be accepted, and returns its id.
func (p *script) submit(j *gramJob) string {
	p.t.Helper()
	lines := p.ask("submit", j)
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "JOB_ID:g") || lines[1] != "JOB_STATE:1" {
		said, _ := os.ReadFile(p.errs)
		p.t.Fatalf("submit: %q, want an id and the state 1\n%s", lines, said)
	}
	id := strings.TrimPrefix(lines[0], "JOB_ID:")
	j.attr["jobid"] = quoted(id)
	return id
}

// end polls until the job is neither pending nor active, and returns that answer.
func (p *script) end(j *gramJob) []string {
	p.t.Helper()
	var lines []string
	await(p.t, "the job "+j.dir+" is over", func() bool {
		lines = p.ask("poll", j)
		return len(lines) > 0 && !slices.Contains([]string{"JOB_STATE:1", "JOB_STATE:2"}, lines[0])
	})
	return lines
}
