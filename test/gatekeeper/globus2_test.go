package gatekeeper_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jjm"
)

// The whole life of a job through the shell contract of Globus 2, to the byte,
// and what a daemon that is away changes: nothing.
func TestGlobus2_ALifeByShellScripts(t *testing.T) {
	t.Parallel()
	s := newSite(t, local, "")
	s.start()
	file := filepath.Join(s.dir, "args")
	write := func(uniq, shell, id string) {
		t.Helper()
		s.must(os.WriteFile(file, fmt.Appendf(nil, "grami_directory='%s'\ngrami_program='/bin/sh'\ngrami_args='\"-c\" \"%s\"'\ngrami_env='\"WORD\" \"a b\"'\n"+
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
	for range 2 { // its job manager was killed and submits again
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
	if out, _, _ := s.script("globus-script-jjm-rm", file); out != "GRAM_SCRIPT_SUCCESS:2\n" && out != "GRAM_SCRIPT_SUCCESS:8\n" {
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
