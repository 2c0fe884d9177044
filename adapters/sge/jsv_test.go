package sge

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// A job submission verifier is a script that qsub runs on the host of qsub, with the rights of the account. The test
// first shows that qsub itself runs such a script. Then a job file requests the script in each spelling of the option,
// and jjm must not run it.
func TestJSV_AJobFileRunsNothingOnTheSubmitHost(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	bed := testbed.Start(t, "sge")
	a := onBed(t, bed, bed.Bin, func(c *Config) { c.AllowDirectives = true })
	if err := a.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := bed.Dir(t)
	mark, script := filepath.Join(dir, "mark"), filepath.Join(dir, "verify")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho ran >"+mark+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ran := func() bool { _, err := os.Stat(mark); return err == nil }
	qsub := exec.Command(filepath.Join(bed.Bin, "qsub"), "-h", "-b", "y", "-jsv", script, "/bin/true")
	qsub.Env = os.Environ()
	for key, value := range bed.Env {
		qsub.Env = append(qsub.Env, key+"="+value)
	}
	printed, err := qsub.CombinedOutput() // qsub fails, because the script does not follow the protocol
	if !ran() {
		t.Fatalf("qsub does not run a verifier, so this test proves nothing: %v\n%s", err, printed)
	}
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"-jsv " + script, "-jsv  " + script + " ", "-jsv=" + script, "-jsv\t" + script,
		"-jsv shell:" + bed.Owner.User + "@" + script,
		`"-jsv" ` + script, "-js -jsv", "-l arch=lx-amd64 -jsv " + script, "-l arch=lx-amd64\n-jsv " + script,
		"#$ -jsv " + script,
		"-p -jsv", "-hard -jsv " + script, "-@ " + script, "-S " + script, "-JSV " + script, "--jsv " + script,
	} {
		b := bulkOf(t, bed, dir, 1, "true")
		b.Request = jjm.Request{Directives: line}
		receipt, err := a.Submit(t.Context(), b)
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "request.directives") {
			t.Errorf("%q: receipt %+v, error %v", line, receipt, err)
		}
		if ran() {
			t.Fatalf("%q: the job file's program ran on the submit host", line)
		}
	}
}
