package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

func TestRun_SuccessIsReportedInFull(t *testing.T) {
	s := newSite(t, `echo out; echo err >&2; echo data > a.root; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done`)
	s.job.Outputs = []string{"*.root"}
	s.run(exitOK)
	r := s.result()
	if r.Exit != 0 || r.Signal != 0 || r.Error != "" || r.Grid != 17 || r.Local != 3 || r.Attempt != 0 ||
		r.Tag != testTag || r.Pos != 0 || r.Version != 1 {
		t.Errorf("result: %+v", r)
	}
	if r.Claim.Holder != jjm.HolderWrapper || r.Claim.Batch != "4711_0" || r.Claim.PID == 0 || r.Claim.Host == "" ||
		r.Claim.BootID == "" {
		t.Errorf("claim: %+v", r.Claim)
	}
	if r.Started == 0 || r.Ended < r.Started || r.RSSKB < 500 || r.UserMS+r.SysMS == 0 || r.WallMS == 0 {
		t.Errorf("times and use: %+v", r)
	}
	want := []jjm.Output{{Name: "work/a.root", Bytes: 5,
		SHA256: "6667b2d1aab6a00caa5aee5af8ad9f1465e567abf1c209d15727d57b3e8f6e5f"}}
	if diff := cmp.Diff(want, r.Outputs); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"SUCCEEDED a.root"}, terminals(r)); diff != "" {
		t.Error(diff)
	}
	l := glf.Parse([]byte(r.GLF))
	if !l.Start || !l.End || l.AppExit != 0 || l.Bad != 0 || !strings.Contains(r.GLF, "attempt=0 host="+r.Claim.Host) {
		t.Errorf("log:\n%s", r.GLF)
	}
	if s.file("stdout") != "out\n" || s.file("stderr") != "err\n" || s.file("job.glf") != r.GLF ||
		s.file("heartbeat") == "" {
		t.Error("files of the attempt differ from what was written")
	}
}

func TestRun_ExitCodesAndSignalsOfTheApplication(t *testing.T) {
	tests := []struct {
		name, script, result string
		exit, signal         int
		terminals            []string
	}{
		{"nothing to collect", "true", jjm.ResultExit, 0, 0, []string{"SUCCEEDED -"}},
		{"exit 7", "exit 7", jjm.ResultExit, 7, 0, []string{"FAILED exit=7"}},
		{"killed by a signal", "kill -SEGV $$", jjm.ResultExit, 139, 11, []string{"FAILED exit=139"}},
		{"KILL of the application", "kill -KILL $$", jjm.ResultExit, 137, 9, []string{"FAILED exit=137"}},
		{"said it itself", "$GBS_LOG FAILED no calibration; exit 3", jjm.ResultExit, 3, 0, []string{"FAILED no calibration"}},
		{"glf: nothing is added", "exit 0", jjm.ResultGLF, 0, 0, nil},
		{"glf: nothing is added to a failure", "exit 2", jjm.ResultGLF, 2, 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.script)
			s.job.Result = tt.result
			s.run(exitOK)
			r := s.result()
			if r.Exit != tt.exit || r.Signal != tt.signal || r.Error != "" {
				t.Errorf("exit %d signal %d error %q", r.Exit, r.Signal, r.Error)
			}
			if diff := cmp.Diff(tt.terminals, terminals(r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if l := glf.Parse([]byte(r.GLF)); !l.End || l.AppExit != tt.exit {
				t.Errorf("log:\n%s", r.GLF)
			}
		})
	}
}

func TestRun_TheApplicationFindsItsEnvironment(t *testing.T) {
	s := newSite(t, `env; pwd; ls -l in.dat; cat in.dat`)
	s.pack(map[string]string{"in.dat": "content\n"})
	var err error
	if s.job.Package, s.job.Files, err = s.packed(); err != nil {
		t.Fatal(err)
	}
	s.job.Mode = "Test"
	s.job.Env = map[string]string{"A": "job", "B": "job", "GBS_MODE": "forged"}
	s.as[0].Env = map[string]string{"B": "part"}
	s.as[0].Attempt = 2
	s.as[0].RetryArgs = []string{"from scratch", "3"}
	s.run(exitOK, "INHERITED=yes", "A=inherited", "GBS_RETRY_ARG_3=stale", "JJM_RESTARTS=1")
	work := filepath.Join(s.attemptDir(), "work")
	out := s.file("stdout")
	for _, want := range []string{
		"A=job", "B=part", "INHERITED=yes", "GBS_MODE=Test", "GBS_RETRY_COUNT=2", "GBS_RETRY_ARG_1=from scratch",
		"GBS_RETRY_ARG_2=3",
		"JJM_ATTEMPT=2", "JJM_JOBID=17.3", "JJM_TASKID=17", "JJM_FIRST_EVENT=1001", "JJM_EVENTS=250", "JJM_SERIAL=5",
		"GBS_HOME=" + work, "PWD=" + work, "GBS_LOG=" + s.bin + "/gbs_log", "JJM_PROGRESS=" + s.bin + "/jjm_progress", work,
		"content",
	} {
		if !strings.Contains(out, "\n"+want+"\n") && !strings.HasPrefix(out, want+"\n") {
			t.Errorf("%q is not in the application's output:\n%s", want, out)
		}
	}
	for _, not := range []string{"GBS_RETRY_ARG_3", "forged"} {
		if strings.Contains(out, not) {
			t.Errorf("%q is in the application's output", not)
		}
	}
	if r := s.result(); r.Claim.Restarts != 1 || r.Attempt != 2 {
		t.Errorf("result: %+v", r)
	}
}

func TestRun_FirstAttemptHasNoRetryArguments(t *testing.T) {
	s := newSite(t, `env | grep GBS_RETRY`)
	s.as[0].RetryArgs = []string{"x"}
	s.run(exitOK)
	if got := s.file("stdout"); got != "GBS_RETRY_COUNT=0\n" {
		t.Errorf("got %q", got)
	}
}

func TestRun_WordsReachTheApplicationUnchanged(t *testing.T) {
	s := newSite(t, "")
	words := []string{"a b", "*", "$HOME", `"q"`, "", "ünï", "-n"}
	s.as[0].Argv = append([]string{"/bin/sh", "-c", `for w in "$@"; do printf '%s|' "$w"; done`, "sh"}, words...)
	s.run(exitOK)
	if got, want := s.file("stdout"), strings.Join(words, "|")+"|"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRun_TheProgramIsLookedUpAmongTheInputsFirst(t *testing.T) {
	tests := []struct {
		name   string
		files  map[string]string
		plain  bool // whether the file lacks the permission to execute
		argv   []string
		exit   int
		stdout string
		says   string
	}{
		{"an input", map[string]string{"sim": "#!/bin/sh\necho mine $1\n"}, false, []string{"sim", "x"}, 0, "mine x\n", ""},
		{"an input before PATH", map[string]string{"date": "#!/bin/sh\necho mine\n"}, false, []string{"date"}, 0, "mine\n",
			""},
		{"a data file does not hide a program", map[string]string{"echo": "data"}, true, []string{"echo", "hi"}, 0, "hi\n",
			""},
		{"a relative path", map[string]string{"sim": "#!/bin/sh\necho mine\n"}, false, []string{"./sim"}, 0, "mine\n", ""},
		{"on PATH", nil, false, []string{"echo", "hi"}, 0, "hi\n", ""},
		{"missing", nil, false, []string{"no-such-program"}, 127, "", "not among the inputs and not on PATH"},
		{"missing path", nil, false, []string{"/no/such/program"}, 127, "", "no such file"},
		{"no command", nil, false, nil, 127, "", "no command"},
		{"not executable", map[string]string{"sim": "#!/bin/sh\n"}, true, []string{"sim"}, 126, "", "executable = true"},
		{"a directory", nil, false, []string{"/usr"}, 126, "", "not a file"},
		{"interpreter missing", map[string]string{"sim": "#!/no/such/interpreter\n"}, false, []string{"sim"}, 127, "",
			"interpreter"},
		{"no first line", map[string]string{"sim": "echo hi\n"}, false, []string{"sim"}, 126, "", "#!"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, "")
			s.as[0].Argv = tt.argv
			if tt.files != nil {
				s.pack(tt.files)
				if tt.plain {
					for i := range s.inputs {
						s.inputs[i].Executable = false
					}
				}
				var err error
				if s.job.Package, s.job.Files, err = s.packed(); err != nil {
					t.Fatal(err)
				}
			}
			s.run(exitOK)
			r := s.result()
			if r.Exit != tt.exit || !strings.Contains(r.Error, tt.says) || tt.says == "" && r.Error != "" {
				t.Errorf("exit %d, error %q", r.Exit, r.Error)
			}
			if tt.exit == 0 && s.file("stdout") != tt.stdout {
				t.Errorf("stdout %q", s.file("stdout"))
			}
			if l := glf.Parse([]byte(r.GLF)); !l.Start || !l.End || l.AppExit != tt.exit {
				t.Errorf("log:\n%s", r.GLF)
			}
		})
	}
}

func TestRun_OfManyWrappersOneRuns(t *testing.T) {
	const n = 20
	s := newSite(t, `echo ran; sleep 0.2`)
	s.write()
	codes := make([]int, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { codes[i], _ = runCommand(t, s.command(0, "JJM_BATCH_ID="+strconv.Itoa(i))) })
	}
	all.Wait()
	slices.Sort(codes)
	want := append([]int{exitOK}, slices.Repeat([]int{exitLost}, n-1)...)
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Errorf("exit codes (-want +got):\n%s", diff)
	}
	if got := s.file("stdout"); got != "ran\n" {
		t.Errorf("stdout %q", got)
	}
	l := glf.Parse([]byte(s.result().GLF))
	if l.Lines != 3 {
		t.Errorf("the losers wrote to the log: %+v", l)
	}
}

func TestRun_LoserTouchesNothingAndNamesTheHolder(t *testing.T) {
	for _, holder := range []string{jjm.HolderDaemon, jjm.HolderWrapper} {
		t.Run(holder, func(t *testing.T) {
			s := newSite(t, `echo ran`)
			s.write()
			c := jjm.Claim{Holder: holder, Host: "wn7", Batch: "4699", Nonce: "x"}
			if _, won, err := s.area.Claim(testTag, 0, c); err != nil || !won {
				t.Fatalf("claim: %t %v", won, err)
			}
			end := filepath.Join(t.TempDir(), "end")
			stderr := s.run(exitLost, spoolEndEnv+"="+end)
			if !strings.Contains(stderr, holder) || !strings.Contains(stderr, "wn7") || !strings.Contains(stderr, "4699") {
				t.Errorf("stderr %q", stderr)
			}
			if exists(s.attemptDir()) {
				t.Error("the attempt's folder exists")
			}
			if b, err := os.ReadFile(end); err != nil || !strings.HasPrefix(string(b), "exit=91 ") {
				t.Errorf("end record %q, %v", b, err)
			}
		})
	}
}

func TestRun_AnAttemptThatWasRunIsLeftAsItIs(t *testing.T) {
	s := newSite(t, `echo again`)
	s.run(exitOK)
	if err := s.area.RemoveBulk(t.Context(), testTag); err != nil {
		t.Fatal(err)
	}
	s.run(exitOK) // a new bulk with the same attempt
	r := s.result()
	if !strings.Contains(r.Error, "was run before") || r.Exit != 126 || s.file("stdout") != "again\n" {
		t.Errorf("result: %+v, stdout %q", r, s.file("stdout"))
	}
}

func TestRun_TroubleBeforeTheClaimExits92(t *testing.T) {
	t.Run("no area", func(t *testing.T) {
		s := newSite(t, "")
		s.write()
		cmd := s.command(0)
		cmd.Args[2] = filepath.Join(s.area.Root(), "gone")
		if code, stderr := runCommand(t, cmd); code != exitArea || !strings.Contains(stderr, "gone") {
			t.Errorf("exit %d: %s", code, stderr)
		}
		if exists(cmd.Args[2]) {
			t.Error("the wrapper made an area")
		}
	})
	t.Run("position out of range", func(t *testing.T) {
		s := newSite(t, "")
		s.write()
		if code, stderr := runCommand(t, s.command(1)); code != exitArea || !strings.Contains(stderr, "positions 0 to 0") {
			t.Errorf("exit %d: %s", code, stderr)
		}
	})
	t.Run("no job file", func(t *testing.T) {
		s := newSite(t, "")
		s.write()
		if err := s.area.RemoveGrid(t.Context(), 17); err != nil {
			t.Fatal(err)
		}
		if code, stderr := runCommand(t, s.command(0)); code != exitArea || !strings.Contains(stderr, "job.json") {
			t.Errorf("exit %d: %s", code, stderr)
		}
		if c, err := s.area.ReadClaim(testTag, 0); c != nil || err != nil {
			t.Errorf("claim %v, %v", c, err)
		}
	})
}

func TestMain_RefusesWrongCallsAndExplainsItself(t *testing.T) {
	s := newSite(t, "")
	s.write()
	tests := []struct {
		name string
		edit func(cmd *exec.Cmd)
		want int
	}{
		{"no arguments", func(c *exec.Cmd) { c.Args = c.Args[:1] }, exitUsage},
		{"unknown verb", func(c *exec.Cmd) { c.Args[1] = "stop" }, exitUsage},
		{"bad tag", func(c *exec.Cmd) { c.Args[3] = "../../x" }, exitUsage},
		{"no index", func(c *exec.Cmd) { c.Env = append(c.Env, "JJM_INDEX=") }, exitUsage},
		{"negative index", func(c *exec.Cmd) { c.Env = append(c.Env, "JJM_INDEX=-1") }, exitUsage},
		{"bad restarts", func(c *exec.Cmd) { c.Env = append(c.Env, "JJM_RESTARTS=x") }, exitUsage},
		{"relative area", func(c *exec.Cmd) { c.Args[2] = "alice" }, exitArea},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := s.command(0)
			tt.edit(cmd)
			if code, stderr := runCommand(t, cmd); code != tt.want || stderr == "" {
				t.Errorf("exit %d, want %d: %q", code, tt.want, stderr)
			}
		})
	}
	out, err := exec.Command(wrapperBinary, "--help").Output()
	if err != nil || !strings.Contains(string(out), "Exit codes:") {
		t.Errorf("--help: %v\n%s", err, out)
	}
}

func TestRun_EndRecordIsTheLastAct(t *testing.T) {
	s := newSite(t, `env | grep SPOOL; true`)
	end := filepath.Join(t.TempDir(), "end")
	s.run(exitOK, spoolEndEnv+"="+end)
	b, err := os.ReadFile(end)
	if err != nil || !strings.HasPrefix(string(b), "exit=0 ") || !strings.Contains(string(b), " rss_kb=") ||
		!strings.HasSuffix(string(b), "\n") {
		t.Errorf("end record %q, %v", b, err)
	}
	if s.file("stdout") != "" {
		t.Error("the application saw the variable")
	}
	left, err := os.ReadDir(filepath.Dir(end))
	if err != nil || len(left) != 1 {
		t.Errorf("left beside it: %v, %v", left, err)
	}
}

func TestRun_TheStandardInputIsEmpty(t *testing.T) {
	s := newSite(t, `cat; echo end`)
	s.write()
	cmd := s.command(0)
	cmd.Stdin = strings.NewReader("secret")
	if code, stderr := runCommand(t, cmd); code != 0 || s.file("stdout") != "end\n" {
		t.Errorf("exit %d, stdout %q, %s", code, s.file("stdout"), stderr)
	}
}

func TestRun_AVeryLongLineOnStdoutGoesToTheFile(t *testing.T) {
	s := newSite(t, `head -c 100000000 /dev/zero | tr '\0' x`)
	s.run(exitOK)
	info, err := os.Stat(filepath.Join(s.attemptDir(), "stdout"))
	if err != nil || info.Size() != 100_000_000 || s.result().Exit != 0 {
		t.Errorf("%v %v", info, err)
	}
}

func TestRun_OneOfManyPositionsRuns(t *testing.T) {
	s := newSite(t, "")
	s.as = nil
	for i := range 100 {
		s.as = append(s.as, sandbox.Assignment{Grid: 17, Local: int32(3000 + i),
			Argv: []string{"/bin/echo", strconv.Itoa(i)}})
	}
	s.write()
	for _, pos := range []int{0, 57, 99} {
		if code, stderr := runCommand(t, s.command(pos)); code != 0 {
			t.Fatalf("position %d: exit %d: %s", pos, code, stderr)
		}
		out, err := os.ReadFile(filepath.Join(s.area.Root(), fmt.Sprintf("jobs/17/3xxx/%d/attempt.0/stdout", 3000+pos)))
		if err != nil || string(out) != strconv.Itoa(pos)+"\n" {
			t.Errorf("position %d: %q %v", pos, out, err)
		}
	}
}

// The wrapper limits the processor time of each process of the application, which gets SIGXCPU at the limit. The batch
// system need not limit it.
func TestRun_ProcessorTimeIsLimited(t *testing.T) {
	s := newSite(t, `while :; do :; done`)
	s.job.CPUTime = jjm.Duration(time.Second)
	s.write()
	s.run(exitOK)
	if r := s.result(); r.Signal != int(syscall.SIGXCPU) {
		t.Errorf("signal %d after %d ms of processor time", r.Signal, r.UserMS+r.SysMS)
	}
}

// docs/JOB-TYPES.md names every variable that an application gets.
func TestEnvironment_IsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/JOB-TYPES.md")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, `env`)
	s.as[0].Attempt, s.as[0].RetryArgs = 1, []string{"again"}
	s.run(exitOK)
	named := 0
	for line := range strings.Lines(s.file("stdout")) {
		name, _, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, "GBS_") && !strings.HasPrefix(name, "JJM_") || name == batchEnv {
			continue
		}
		if named++; !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
	if named < 12 {
		t.Errorf("the application has %d variables:\n%s", named, s.file("stdout"))
	}
}
