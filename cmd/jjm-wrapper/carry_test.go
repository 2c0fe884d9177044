package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/credential"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// carried runs a job in the same way as a batch system that transfers files. It transfers the files of the site to a
// new folder with bring, runs the wrapper there, checks its exit code, and transfers the parcel (the file with the
// results) back.
func (s *site) carried(want int, bring func(dir string, box sandbox.Box)) (stderr string) {
	s.t.Helper()
	s.write()
	box, err := s.area.WriteBox(testTag, []jjm.GridID{17})
	if err != nil {
		s.t.Fatal(err)
	}
	dir := s.t.TempDir()
	bring(dir, box)
	cmd := exec.Command("./"+sandbox.WrapperName, "carry", string(testTag))
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=/nowhere", indexEnv + "=0", batchEnv + "=4711.0"}, s.env...)
	code, stderr := runCommand(s.t, cmd)
	if code != want {
		s.t.Fatalf("wrapper: exit %d, want %d: %s", code, want, stderr)
	}
	if exists(filepath.Join(dir, sandbox.ParcelName)) {
		copyAll(s.t, filepath.Join(s.area.BackDir(testTag), "0"), filepath.Join(dir, sandbox.ParcelName))
	}
	return stderr
}

// bringAll transfers all files, as a correct batch system does.
func (s *site) bringAll(dir string, box sandbox.Box) {
	s.t.Helper()
	for _, from := range append([]string{filepath.Join(s.bin, sandbox.WrapperName), box.File}, box.Packages...) {
		copyAll(s.t, filepath.Join(dir, filepath.Base(from)), from)
	}
}

func copyAll(t testing.TB, to, from string) {
	t.Helper()
	if out, err := exec.Command("cp", "-r", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestCarry_RunsWithoutSeeingTheArea(t *testing.T) {
	s := newSite(
		t, `cat input; echo "$JJM_JOBID"; "$JJM_PROGRESS" sim 1 2 && echo data >out.dat && "$GBS_LOG" SUCCEEDED out.dat
echo '<host id="n1"/>' | "$JJM_RECORD"`)
	s.pack(map[string]string{"input": "from the package\n"})
	pkg, files, err := s.packed()
	if err != nil {
		t.Fatal(err)
	}
	s.job.Package, s.job.Files, s.job.Result = pkg, files, jjm.ResultGLF
	s.carried(exitOK, s.bringAll)
	r, err := s.area.TakeParcel(testTag, 0, s.as[0].AttemptID(), 0)
	if err != nil || r == nil {
		t.Fatalf("parcel: %+v, %v", r, err)
	}
	if r.Exit != 0 || r.Error != "" || r.Claim.Batch != "4711.0" || len(r.Outputs) != 1 || r.Outputs[0].SHA256 == "" {
		t.Errorf("result %+v", r)
	}
	if len(r.Phases) != 1 || r.Phases[0].Progress != (jjm.Progress{Phase: "sim", Done: 1, Total: 2}) {
		t.Errorf("phases %+v", r.Phases)
	}
	if want := `<fragment job="17.3"><host id="n1"/></fragment>`; r.Fragment != want {
		t.Errorf("the parcel brings %q, want %q", r.Fragment, want)
	}
	if out := s.file("stdout"); out != "from the package\n17.3\n" {
		t.Errorf("stdout %q, stderr %q", out, s.file("stderr"))
	}
	if s.file("work/out.dat") != "data\n" || !strings.Contains(s.file("job.glf"), "SUCCEEDED out.dat") {
		t.Errorf("output %q, log %q", s.file("work/out.dat"), s.file("job.glf"))
	}
	if got := s.result(); got.Claim != r.Claim {
		t.Errorf("the done folder has %+v", got)
	}
	claim, err := s.area.ReadClaim(testTag, 0)
	if err != nil || claim == nil || *claim != r.Claim {
		t.Errorf("claim %+v, %v", claim, err)
	}
	// The daemon takes the parcel a second time, as it does after a crash.
	if again, err := s.area.TakeParcel(testTag, 0, s.as[0].AttemptID(), 0); err != nil || again == nil {
		t.Errorf("the second time %+v, %v", again, err)
	}
}

// If the batch system itself transfers the proxy, it also transfers renewed proxies. Therefore the application gets the
// path of this file, and not of the copy in the box. A variable with another path is ignored.
func TestCarry_TheProxyThatTheBatchSystemBringsIsTheJobs(t *testing.T) {
	for _, ours := range []bool{true, false} {
		s := newSite(t, `cat "$X509_USER_PROXY"; chmod 600 "$X509_USER_PROXY"`)
		handle, proxy := jjm.HandleOf(1, "k"), jjm.Credential{Kind: jjm.ProxyKind, Secret: "from the box"}
		if _, err := s.area.PutCredential(handle, credential.Parse(proxy)); err != nil {
			t.Fatal(err)
		}
		s.job.Credentials = map[string]string{"X509_USER_PROXY": sandbox.CredentialPath(handle, jjm.ProxyKind)}
		s.job.Env = map[string]string{"X509_USER_PROXY": "/of/the/user"}
		want := "from the box"
		s.carried(exitOK, func(dir string, box sandbox.Box) {
			s.bringAll(dir, box)
			file := filepath.Join(t.TempDir(), "proxy")
			if ours {
				file, want = filepath.Join(dir, "proxy"), "brought"
			}
			if err := os.WriteFile(file, []byte("brought"), 0o600); err != nil {
				t.Fatal(err)
			}
			s.env = []string{"X509_USER_PROXY=" + file}
		})
		r, err := s.area.TakeParcel(testTag, 0, s.as[0].AttemptID(), 0)
		if err != nil || r == nil || r.Exit != 0 || s.file("stdout") != want {
			t.Errorf("brought: %v; the job saw %q, %+v, %v", ours, s.file("stdout"), r, err)
		}
	}
}

func TestCarry_AFailureIsToldToo(t *testing.T) {
	s := newSite(t, "echo no >&2; exit 7")
	s.carried(exitOK, s.bringAll)
	r, err := s.area.TakeParcel(testTag, 0, s.as[0].AttemptID(), 0)
	if err != nil || r == nil || r.Exit != 7 || s.file("stderr") != "no\n" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCarry_WhatWasNotBroughtIsNamed(t *testing.T) {
	s := newSite(t, "exit 0")
	s.pack(map[string]string{"input": "x"})
	pkg, files, err := s.packed()
	if err != nil {
		t.Fatal(err)
	}
	s.job.Package, s.job.Files = pkg, files
	for name, c := range map[string]struct {
		but  string
		says string
	}{
		"no box":     {sandbox.BoxName, "box"},
		"no package": {pkg, "inputs"},
	} {
		stderr := s.carried(exitArea, func(dir string, box sandbox.Box) {
			s.bringAll(dir, box)
			if err := os.RemoveAll(filepath.Join(dir, c.but)); err != nil {
				t.Fatal(err)
			}
		})
		if !strings.Contains(stderr, "did not bring the "+c.says) {
			t.Errorf("%s: %s", name, stderr)
		}
	}
}

func TestCarry_TheDaemonsClaimOutranksAParcel(t *testing.T) {
	s := newSite(t, "exit 0")
	s.carried(exitOK, s.bringAll)
	mine := jjm.Claim{Holder: jjm.HolderDaemon, Nonce: "mine"}
	if _, won, err := s.area.Claim(testTag, 0, mine); err != nil || !won {
		t.Fatal(won, err)
	}
	r, err := s.area.TakeParcel(testTag, 0, s.as[0].AttemptID(), 0)
	rs, _, err2 := s.results()
	if r != nil || len(rs) != 0 || errors.Join(err, err2) != nil {
		t.Errorf("%+v, %d results, %v, %v", r, len(rs), err, err2)
	}
}
