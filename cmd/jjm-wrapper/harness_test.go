package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/sandbox"
)

// wrapperBinary is the path of the program under test: $JJM_BIN or, if that is not set, a program that the tests build
// once.
var wrapperBinary string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	if bin := os.Getenv("JJM_BIN"); bin != "" {
		wrapperBinary = filepath.Join(bin, sandbox.WrapperName)
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "jjm-wrapper-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	wrapperBinary = filepath.Join(dir, sandbox.WrapperName)
	build := exec.Command("go", "build", "-o", wrapperBinary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the wrapper: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

const testTag = jjm.Tag("jtest7k2m9q4abc")

// site is a work area with one bulk, for whose jobs the tests run the wrapper.
type site struct {
	t    testing.TB
	area *sandbox.Area
	bin  string
	job  sandbox.Job
	as   []sandbox.Assignment

	inputs []jjm.Input
	env    []string // further variables that a batch system sets for carried jobs
}

// newSite returns a site whose one attempt runs a shell script.
func newSite(t testing.TB, script string) *site {
	t.Helper()
	return newSiteAt(t, t.TempDir(), script)
}

func newSiteAt(t testing.TB, dir, script string) *site {
	t.Helper()
	area, err := sandbox.OpenArea(filepath.Join(dir, "alice"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { area.Close() })
	bin, err := area.InstallWrapper(wrapperBinary)
	if err != nil {
		t.Fatal(err)
	}
	return &site{t: t, area: area, bin: bin,
		job: sandbox.Job{Grid: 17, Result: jjm.ResultExit},
		as: []sandbox.Assignment{{Grid: 17, Local: 3, Argv: []string{"/bin/sh", "-c", script},
			Part: jjm.Part{Unit: jjm.UnitEvent, First: 1001, Count: 250, Serial: 5}}},
	}
}

// write writes the job and assignment files.
func (s *site) write() {
	s.t.Helper()
	if err := errors.Join(s.area.WriteJob(s.job), s.area.WriteAssignment(testTag, s.as)); err != nil {
		s.t.Fatal(err)
	}
}

// pack makes the package of inputs of the job, from files by name. All files are executable.
func (s *site) pack(files map[string]string) {
	s.t.Helper()
	dir := s.t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			s.t.Fatal(err)
		}
		s.inputs = append(s.inputs, jjm.Input{Path: p, Executable: true})
	}
}

func (s *site) packed() (pkg string, files []string, err error) {
	return s.area.Pack(s.t.Context(), s.inputs, func(p string) (io.ReadCloser, error) { return os.Open(p) })
}

// command returns the command that runs the wrapper for the job at a position of the bulk.
func (s *site) command(pos int, env ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, sandbox.WrapperName), "run", s.area.Root(), string(testTag))
	cmd.Dir = filepath.Join(s.area.Root(), sandbox.BulkDir(testTag))
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=/nowhere", indexEnv + "=" + strconv.Itoa(pos),
		batchEnv + "=4711_" + strconv.Itoa(pos)}, env...)
	return cmd
}

// run writes the files of the site, runs the wrapper for position 0, checks its exit code, and returns its standard
// error.
func (s *site) run(want int, env ...string) (stderr string) {
	s.t.Helper()
	s.write()
	code, stderr := runCommand(s.t, s.command(0, env...))
	if code != want {
		s.t.Fatalf("wrapper: exit %d, want %d: %s", code, want, stderr)
	}
	return stderr
}

// runCommand runs a command to its end, for at most a minute.
func runCommand(t testing.TB, cmd *exec.Cmd) (int, string) {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return wait(t, cmd), errs.String()
}

// wait waits for a started command, kills it after a minute, and returns its exit code.
func wait(t testing.TB, cmd *exec.Cmd) int {
	t.Helper()
	timer := time.AfterFunc(await.Guard(time.Minute), func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if st := cmd.ProcessState.Sys().(syscall.WaitStatus); st.Signaled() {
		return 128 + int(st.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// result returns the only result of the bulk.
func (s *site) result() jjm.Result {
	s.t.Helper()
	rs, problems, err := s.results()
	if err != nil || len(problems) > 0 || len(rs) != 1 {
		s.t.Fatalf("want one result, got %d, problems %v, error %v", len(rs), problems, err)
	}
	return rs[0]
}

// results returns all results of the bulk.
func (s *site) results() (rs []jjm.Result, problems []jjm.Problem, err error) {
	_, problems, err = s.area.Results(context.Background(), testTag, sandbox.Look{N: 1000}, func(r *jjm.Result) bool {
		rs = append(rs, *r)
		return true
	})
	return rs, problems, err
}

func (s *site) attemptDir() string {
	return filepath.Join(s.area.Root(), sandbox.AttemptDir(s.as[0].AttemptID()))
}

// file reads a file of the attempt.
func (s *site) file(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.attemptDir(), name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// eventually waits until ok returns true. If that takes too long, the test fails with a message that contains what.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	await.True(t, what, ok)
}

// exists reports whether a path exists.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// alive reports whether a process is running. A zombie is not running.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// terminals returns the keywords and data of the log records that say how the attempt ended.
func terminals(r jjm.Result) []string {
	var list []string
	for _, t := range glf.Parse([]byte(r.GLF)).Terminals {
		list = append(list, t.Keyword+" "+t.Data)
	}
	return list
}
