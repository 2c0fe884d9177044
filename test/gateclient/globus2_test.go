package gateclient_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/jjm"
)

// During the whole life of a job, the test compares the answers of Globus 2's scripts byte by byte. The answers are the
// same while the daemon is away.
func TestGlobus2_ALifeByShellScripts(t *testing.T) {
	t.Parallel()
	s := newSite(t, local, "")
	s.start()
	file := filepath.Join(s.dir, "args")
	write := func(uniq, shell, id string) {
		t.Helper()
		s.must(os.WriteFile(file, fmt.Appendf(nil,
			"grami_directory='%s'\ngrami_program='/bin/sh'\ngrami_args='\"-c\" \"%s\"'\ngrami_env='\"WORD\" \"a b\"'\n"+
				"grami_stdout='%s/out.%s'\ngrami_stderr='err.%s'\ngrami_uniq_id='%s'\ngrami_job_id='%s'\ntouch %s/executed\ngrami_logfile=$(touch %s/executed)\n",
			s.dir, shell, s.dir, uniq, uniq, uniq, id, s.dir, s.dir), 0o644))
	}
	run := func(verb, want string) {
		t.Helper()
		out, _, code := s.script("globus-script-jjm-"+verb, file)
		if out != want || code != 0 {
			t.Errorf("%s printed %q, exit %d; want %q", verb, out, code, want)
		}
	}
	name := func(uniq string) string { return string(jjm.HandleOf(os.Geteuid(), "globus2-"+uniq)) }
	poll := func(want string) {
		t.Helper()
		s.await("poll gives "+want, func() bool {
			out, _, code := s.script("globus-script-jjm-poll", file)
			if code != 0 || strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "GRAM_SCRIPT_") {
				t.Fatalf("poll printed %q, exit %d", out, code)
			}
			return out == want
		})
	}
	read := func(name, want string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(s.dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}

	write("good", `echo \"$WORD\"; echo e >&2`, name("good"))
	for range 2 { // repeated, as if the job manager was killed
		run("submit", "GRAM_SCRIPT_JOB_ID:"+name("good")+"\nGRAM_SCRIPT_SUCCESS:1\n")
		if _, err := os.Stat(s.dir + "/err.good"); err != nil {
			t.Error("standard error is not there from the start")
		}
	}
	poll("GRAM_SCRIPT_SUCCESS:8\n")
	read("out.good", "a b\n")
	read("err.good", "e\n")

	write("bad", "echo before; exit 3", name("bad"))
	s.end(syscall.SIGTERM)
	run("submit", "GRAM_SCRIPT_JOB_ID:"+name("bad")+"\nGRAM_SCRIPT_SUCCESS:1\n")
	run("poll", "GRAM_SCRIPT_SUCCESS:1\n")
	s.start()
	poll("GRAM_SCRIPT_ERROR:17\n")
	read("out.bad", "before\n")

	write("long", "sleep 1000", name("long"))
	run("submit", "GRAM_SCRIPT_JOB_ID:"+name("long")+"\nGRAM_SCRIPT_SUCCESS:1\n")
	poll("GRAM_SCRIPT_SUCCESS:2\n")
	run("signal", "GRAM_SCRIPT_ERROR:108\n")
	if out, _, _ := s.script("globus-script-jjm-rm", file); out != "GRAM_SCRIPT_SUCCESS:2\n" &&
		out != "GRAM_SCRIPT_SUCCESS:8\n" {
		t.Errorf("rm printed %q", out)
	}
	poll("GRAM_SCRIPT_SUCCESS:8\n")
	run("rm", "GRAM_SCRIPT_SUCCESS:8\n")

	s.must(os.WriteFile(file, []byte("grami_directory='/'\n"), 0o644))
	run("submit", "GRAM_SCRIPT_ERROR:1\n")
	s.must(os.Remove(file))
	run("poll", "GRAM_SCRIPT_ERROR:17\n")
	if _, err := os.Stat(s.dir + "/executed"); err == nil {
		t.Error("the file of arguments was run")
	}
	if n := len(s.ran()); n != 0 {
		t.Errorf("%d in the ledger", n)
	}
}

// The complete tar of a grid job comes back through the gatekeeper to the requested place, also after a failure.
func TestGlobus2_TheTarOfAGridJobIsReturned(t *testing.T) {
	t.Parallel()
	s := newSite(t, local, "")
	s.start()
	at := func(name string) string { return filepath.Join(s.dir, name) }
	for name, test := range map[string]struct{ env, tar, stdout, last string }{
		"default": {"", "jjm-output.tar", "one\ntwo\n", "GRAM_SCRIPT_SUCCESS:8\n"},
		"named":   {` "JJM_TAR" "my.tar"`, "my.tar", "one\ntwo\n", "GRAM_SCRIPT_SUCCESS:8\n"},
		"stdout":  {` "JJM_STDOUT" "tar"`, "out", "", "GRAM_SCRIPT_SUCCESS:8\n"},
		"failed":  {"", "jjm-output.tar", "one\ntwo\n", "GRAM_SCRIPT_ERROR:17\n"},
	} {
		dir := at(name)
		s.must(os.Mkdir(dir, 0o755))
		code := 0
		if name == "failed" {
			code = 3
		}
		s.must(os.WriteFile(dir+"/job.toml", fmt.Appendf(nil, "type = \"script\"\nresult = \"exit\"\n[params]\n"+
			"args = [[\"one\"], [\"two\"]]\ncommand = [\"/bin/sh\", \"-c\", \"echo $0; exit %d\"]\n", code), 0o644))
		s.must(os.WriteFile(dir+"/args", fmt.Appendf(nil, "grami_directory='%s'\ngrami_stdout='out'\ngrami_uniq_id='%s'\n"+
			"grami_job_id='%s'\ngrami_env='\"JJM_JOB_FILE\" \"job.toml\"%s'\n",
			dir, name, jjm.HandleOf(os.Geteuid(), "globus2-"+name), test.env), 0o644))
		if out, _, _ := s.script("globus-script-jjm-submit", dir+"/args"); !strings.HasSuffix(out,
			"GRAM_SCRIPT_SUCCESS:1\n") {
			t.Fatalf("%s: submit printed %q", name, out)
		}
		s.await("it is over", func() bool {
			out, _, _ := s.script("globus-script-jjm-poll", dir+"/args")
			return out == test.last
		})
		list, err := exec.Command("tar", "-tf", filepath.Join(dir, test.tar)).CombinedOutput()
		if err != nil || !strings.Contains(string(list), "manifest") {
			t.Errorf("%s: %v\n%s", name, err, list)
		}
		if got, _ := os.ReadFile(dir + "/out"); test.stdout != "" && string(got) != test.stdout {
			t.Errorf("%s: standard output is %q", name, got)
		}
	}
}

// The job gets the proxy that its environment names, as a private copy. A newer proxy follows with a poll while the job
// runs. A proxy that others may read is refused.
func TestGlobus2_TheProxyFollows(t *testing.T) {
	t.Parallel()
	s := newSite(t, local, "")
	s.start()
	at := func(name string) string { return filepath.Join(s.dir, name) }
	renew := s.authority()
	s.must(os.WriteFile(at("watch.sh"), fmt.Appendf(nil, `look() { openssl x509 -in "$X509_USER_PROXY" -noout -checkend 400000 >/dev/null && echo long || echo short
stat -c %%a "$X509_USER_PROXY"; [ "$X509_USER_PROXY" != %[1]s/px ] || echo "not its own"; }
look; touch "%[1]s/started.$1"; while look | grep -q short; do sleep 0.5; done; look
`, s.dir), 0o644))
	s.must(os.WriteFile(at("job.toml"), fmt.Appendf(nil,
		"type = \"script\"\nresult = \"exit\"\ncredentials = [\"proxy\"]\n[params]\ncommand = [\"/bin/sh\", \"%s/watch.sh\", \"file\"]\n", s.dir), 0o644))
	for name, more := range map[string]string{
		"plain": fmt.Sprintf(
			"grami_program='/bin/sh'\ngrami_args='\"%s/watch.sh\" \"plain\"'\ngrami_env='\"X509_USER_PROXY\" \"px\"'\n", s.dir),
		"file": fmt.Sprintf("grami_env='\"X509_USER_PROXY\" \"%s/px\" \"JJM_JOB_FILE\" \"job.toml\"'\n", s.dir),
	} {
		t.Run(name, func(t *testing.T) {
			file := at("args." + name)
			s.must(os.WriteFile(file, fmt.Appendf(nil,
				"grami_directory='%s'\ngrami_stdout='out.%s'\ngrami_uniq_id='%[2]s'\ngrami_job_id='%s'\n%s",
				s.dir, name, jjm.HandleOf(os.Geteuid(), "globus2-"+name), more), 0o644))
			script := func(verb string) string { out, _, _ := s.script("globus-script-jjm-"+verb, file); return out }
			renew(at("px"), 1)
			s.must(os.Chmod(at("px"), 0o640))
			if out := script("submit"); out != "GRAM_SCRIPT_ERROR:30\n" {
				t.Errorf("a proxy that others read: %q", out)
			}
			s.must(os.Chmod(at("px"), 0o600))
			if out := script("submit"); !strings.HasSuffix(out, "GRAM_SCRIPT_SUCCESS:1\n") {
				t.Fatalf("submit printed %q", out)
			}
			s.await("the job has looked", func() bool {
				script("poll")
				_, err := os.Stat(at("started." + name))
				return err == nil
			})
			renew(at("px"), 9)
			s.await("the job has seen the newer proxy and is over", func() bool {
				return script("poll") == "GRAM_SCRIPT_SUCCESS:8\n"
			})
			if got, err := os.ReadFile(at("out." + name)); err != nil || string(got) != "short\n600\nlong\n600\n" {
				t.Errorf("the job saw %q, %v", got, err)
			}
		})
	}
	for _, left := range []string{at(".jjm-gatekeeper/*"), s.state + "/work/*/credentials/*"} {
		s.await("nothing is left: "+left, func() bool { found, _ := filepath.Glob(left); return len(found) == 0 })
	}
}
