package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/sandbox"
)

// smallDisk returns a folder on a file system of a few megabytes.
func smallDisk(t *testing.T) string {
	t.Helper()
	return needs.Tmpfs(t, t.TempDir(), "size=8m")
}

func TestTrouble_ADiskFilledByTheApplicationIsReported(t *testing.T) {
	s := newSiteAt(t, smallDisk(t), `dd if=/dev/zero of=big bs=4096 2>dd.err; exit 3`)
	s.job.Outputs = []string{"big"}
	s.run(exitOK)
	r := s.result()
	if r.Exit != 3 || !strings.Contains(r.Error, "no space left") {
		t.Errorf("exit %d, error %q", r.Exit, r.Error)
	}
	if l := glf.Parse([]byte(r.GLF)); !l.Start || !l.End || l.AppExit != 3 || len(l.Terminals) != 1 {
		t.Errorf("the lines that did not fit on the disk are not in the result:\n%s", r.GLF)
	}
	if len(r.Outputs) != 1 || r.Outputs[0].Bytes == 0 {
		t.Errorf("outputs %+v", r.Outputs)
	}
}

func TestTrouble_AFullDiskLeavesNoHalfCopy(t *testing.T) {
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, make([]byte, 16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSiteAt(t, smallDisk(t), `$GBS_LOG RETURN_FILE `+big)
	s.run(exitOK)
	r := s.result()
	if len(r.Outputs) != 1 || !strings.Contains(r.Outputs[0].Absent, "no space left") ||
		!strings.Contains(r.Error, "no space left") {
		t.Errorf("outputs %+v, error %q", r.Outputs, r.Error)
	}
	if exists(filepath.Join(s.attemptDir(), "returned", "big")) {
		t.Error("half a copy is left")
	}
}

func TestTrouble_AFileSizeLimitLeavesNoHalfCopy(t *testing.T) {
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, `$GBS_LOG RETURN_FILE `+big)
	s.write()
	cmd := s.command(0)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `ulimit -f 128; exec "$0" "$@"`}, cmd.Args...)
	if code, stderr := runCommand(t, cmd); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	r := s.result()
	if len(r.Outputs) != 1 || !strings.Contains(r.Outputs[0].Absent, "file too large") ||
		!strings.Contains(r.Error, "file too large") {
		t.Errorf("outputs %+v, error %q", r.Outputs, r.Error)
	}
	if exists(filepath.Join(s.attemptDir(), "returned", "big")) {
		t.Error("half a copy is left")
	}
}

func TestTrouble_AnAreaWithoutRoomForTheClaimStartsNothing(t *testing.T) {
	dir := smallDisk(t)
	s := newSiteAt(t, dir, `echo ran`)
	s.write()
	fillDisk(t, dir)
	code, stderr := runCommand(t, s.command(0))
	if code != exitArea || !strings.Contains(stderr, "no space left") || !strings.Contains(stderr, "claims/0") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if c, err := s.area.ReadClaim(testTag, 0); c != nil || err != nil {
		t.Errorf("claim %v, %v", c, err)
	}
}

// fillDisk fills the disk.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

func TestTrouble_AnAreaThatVanishesWhileTheJobRunsExits93(t *testing.T) {
	s := newSite(t, sayPID+`while [ ! -e stop ]; do sleep 0.01; done; exit 6`)
	end := filepath.Join(t.TempDir(), "end")
	s.write()
	cmd := s.command(0, spoolEndEnv+"="+end)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(s.attemptDir(), "work")
	eventually(t, "the application starts", func() bool { return exists(filepath.Join(work, "pid")) })
	gone := s.area.Root() + ".gone"
	if err := os.Rename(s.area.Root(), gone); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(gone, "bulks")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(strings.Replace(work, s.area.Root(), gone, 1)+"/stop", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := wait(t, cmd); code != exitResult || !strings.Contains(stderr.String(), "done/0.json") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
	if b, err := os.ReadFile(end); err != nil || !strings.HasPrefix(string(b), "exit=93 ") {
		t.Errorf("end record %q, %v", b, err)
	}
}

func TestTrouble_AnAttemptFolderThatVanishesIsReported(t *testing.T) {
	s := newSite(t, `cd /; rm -r "$(dirname "$GBS_HOME")"; exit 6`)
	s.job.Outputs = []string{"*.root"}
	s.run(exitOK)
	r := s.result()
	if r.Exit != 6 || r.Error == "" {
		t.Errorf("exit %d, error %q", r.Exit, r.Error)
	}
	if l := glf.Parse([]byte(r.GLF)); !l.End || l.AppExit != 6 {
		t.Errorf("log:\n%s", r.GLF)
	}
}

func TestTrouble_AnUnwritableAttemptFolderIsReported(t *testing.T) {
	s := newSite(t, `echo ran`)
	// A file in place of a folder also stops the wrapper if root runs it.
	if err := os.MkdirAll(filepath.Join(s.area.Root(), "jobs", "17"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.area.Root(), "jobs", "17", "0xxx"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.run(exitOK)
	r := s.result()
	if r.Exit != 126 || !strings.Contains(r.Error, "not a directory") {
		t.Errorf("exit %d, error %q", r.Exit, r.Error)
	}
	if l := glf.Parse([]byte(r.GLF)); !l.Start || !l.End || l.AppExit != 126 {
		t.Errorf("log:\n%s", r.GLF)
	}
}

func TestTrouble_AnEnvironmentThatTheKernelRefusesIsReported(t *testing.T) {
	s := newSite(t, `echo ran`)
	s.as[0].Argv = append(s.as[0].Argv, strings.Repeat("x", 200_000)) // MAX_ARG_STRLEN is 128 KiB (execve(2))
	s.run(exitOK)
	if r := s.result(); r.Exit != 126 || !strings.Contains(r.Error, "longer than the kernel takes") {
		t.Errorf("exit %d, error %q", r.Exit, r.Error)
	}
	nul := newSite(t, `echo ran`)
	nul.as[0].Env = map[string]string{"A": "a\x00b"}
	nul.run(exitOK)
	if r := nul.result(); r.Exit != 126 || r.Error == "" {
		t.Errorf("exit %d, error %q", r.Exit, r.Error)
	}
}

func TestFit_ShortensUntilTheResultMayBePut(t *testing.T) {
	tests := map[string]jjm.Result{
		"small":      {GLF: "x"},
		"log of NUL": {GLF: "start\n" + strings.Repeat("\x00", 1<<20)},
		"long error": {Error: strings.Repeat("é", 1<<20)},
		"outputs":    {Outputs: make([]jjm.Output, 50_000)},
		"long names": {Outputs: slices.Repeat([]jjm.Output{{Name: strings.Repeat("x", 900)}}, 30_000)},
		"all of it": {GLF: strings.Repeat("\x01\n", 1<<20), Error: strings.Repeat("\x01", 1<<20),
			Outputs: make([]jjm.Output, 100_000)},
	}
	for name, r := range tests {
		t.Run(name, func(t *testing.T) {
			had := len(r.Outputs)
			fit(&r)
			told := 0
			for _, o := range r.Outputs {
				told += max(int(o.Files), 1)
			}
			if had > 0 && told != had {
				t.Errorf("%d of %d outputs are listed or counted", told, had)
			}
			if n := size(r.Outputs); n > sandbox.MaxOutputList || len(r.Outputs) > sandbox.MaxOutputs {
				t.Errorf("still %d outputs in %d bytes", len(r.Outputs), n)
			}
			if r.Outputs = nil; size(&r) > sandbox.MaxResult {
				t.Errorf("still %d bytes", size(&r))
			}
		})
	}
}
