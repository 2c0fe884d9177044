package main

import (
	"os"
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

// startJob starts the wrapper and waits until the application has written its process id to work/pid.
func (s *site) startJob(env ...string) (wrapper *running, app int) {
	s.t.Helper()
	s.write()
	cmd := s.command(0, env...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill() })
	file := filepath.Join(s.attemptDir(), "work", "pid")
	eventually(s.t, "the application starts", func() bool {
		b, _ := os.ReadFile(file)
		app, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return strings.HasSuffix(string(b), "\n") && app > 0
	})
	return &running{s.t, cmd.Process, func() int { return wait(s.t, cmd) }}, app
}

type running struct {
	t    testing.TB
	proc *os.Process
	wait func() int
}

func (r *running) signal(sig syscall.Signal) {
	r.t.Helper()
	if err := r.proc.Signal(sig); err != nil {
		r.t.Fatal(err)
	}
}

const sayPID = `echo $$ > pid.tmp; mv pid.tmp pid; `

func TestSignals_ArePassedOnToTheApplication(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1,
		"USR2": syscall.SIGUSR2, "QUIT": syscall.SIGQUIT, "XCPU": syscall.SIGXCPU} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, `trap 'echo got; exit 9' `+name+`; `+sayPID+`while :; do sleep 0.01; done`)
			w, _ := s.startJob()
			w.signal(sig)
			if code := w.wait(); code != exitOK {
				t.Errorf("wrapper exit %d", code)
			}
			if r := s.result(); r.Exit != 9 || s.file("stdout") != "got\n" {
				t.Errorf("exit %d, stdout %q", r.Exit, s.file("stdout"))
			}
		})
	}
}

func TestSignals_TermGivesTheApplicationTimeToEnd(t *testing.T) {
	s := newSite(t, `trap 'echo saving; sleep 0.2; $GBS_LOG RETRY from checkpoint; exit 0' TERM; `+sayPID+
		`while :; do sleep 0.01; done`)
	s.job.Result = jjm.ResultGLF
	w, _ := s.startJob()
	w.signal(syscall.SIGTERM)
	w.signal(syscall.SIGTERM)
	w.wait()
	r := s.result()
	if r.Exit != 0 || len(terminals(r)) != 1 || terminals(r)[0] != "RETRY from checkpoint" {
		t.Errorf("exit %d, log:\n%s", r.Exit, r.GLF)
	}
}

func TestSignals_KillFollowsTermAfterTheGracePeriod(t *testing.T) {
	s := newSite(t, `trap '' TERM; (trap '' TERM; `+sayPID+
		` while :; do sleep 0.01; done) & wait; while :; do sleep 0.01; done`)
	s.job.Grace = jjm.Duration(200 * time.Millisecond)
	w, app := s.startJob()
	start := time.Now()
	w.signal(syscall.SIGTERM)
	w.wait()
	if took := time.Since(start); took < s.job.Grace.D() { // provoked: KILL never comes before the grace time
		t.Errorf("KILL came after %v", took)
	}
	r := s.result()
	if r.Exit != 137 || r.Signal != 9 {
		t.Errorf("exit %d signal %d", r.Exit, r.Signal)
	}
	eventually(t, "the whole group is gone", func() bool { return !alive(app) })
	if l := glf.Parse([]byte(r.GLF)); !l.End || l.AppExit != 137 {
		t.Errorf("log:\n%s", r.GLF)
	}
}

// A batch system that has forgotten the job sends no signal. The daemon's order in the work area ends the application
// as TERM and, after the grace period, KILL do.
func TestSignals_AnOrderInTheWorkAreaEndsTheApplication(t *testing.T) {
	for name, script := range map[string]string{
		"it ends":    `trap 'echo saving; exit 3' TERM; ` + sayPID + `while :; do sleep 0.01; done`,
		"it refuses": `trap '' TERM; ` + sayPID + `while :; do sleep 0.01; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, script)
			s.job.Heartbeat, s.job.Grace = jjm.Duration(20*time.Millisecond), jjm.Duration(await.Provoked(time.Second))
			w, app := s.startJob()
			if err := s.area.OrderEnd(testTag, 0); err != nil {
				t.Fatal(err)
			}
			if code := w.wait(); code != exitOK {
				t.Errorf("wrapper exit %d", code)
			}
			r := s.result()
			if saved := r.Exit == 3 && s.file("stdout") == "saving\n"; saved != (name == "it ends") || !saved && r.Signal != 9 {
				t.Errorf("exit %d, signal %d, stdout %q", r.Exit, r.Signal, s.file("stdout"))
			}
			eventually(t, "the process is gone", func() bool { return !alive(app) })
		})
	}
}

func TestSignals_AnOrderThatWasThereBeforeTheStart(t *testing.T) {
	s := newSite(t, `sleep 1000`)
	s.write()
	if err := s.area.OrderEnd(testTag, 0); err != nil {
		t.Fatal(err)
	}
	s.run(exitOK)
	if r := s.result(); r.Signal != int(syscall.SIGTERM) {
		t.Errorf("exit %d, signal %d", r.Exit, r.Signal)
	}
}

func TestSignals_TermBeforeTheStartReachesTheApplication(t *testing.T) {
	box := catchSignals(time.Minute)
	defer box.stop()
	box.send(syscall.SIGTERM)
	if len(box.pending) != 1 || box.pending[0] != syscall.SIGTERM {
		t.Errorf("pending %v", box.pending)
	}
}

func TestRun_WhatTheApplicationLeavesRunningIsEnded(t *testing.T) {
	tests := map[string]string{
		"in its group":          `(sleep 300 & echo $! > pid)`,
		"in a session":          `setsid sh -c 'echo $$ > pid; exec sleep 300' & while [ ! -s pid ]; do sleep 0.01; done`,
		"orphans, two deep":     `setsid sh -c 'setsid sh -c "echo \$\$ > pid; exec sleep 300" & exit 0'; while [ ! -s pid ]; do sleep 0.01; done`,
		"holding stdout, stdin": `setsid sh -c 'trap "" TERM HUP; echo $$ > pid; while :; do sleep 1; done' & while [ ! -s pid ]; do sleep 0.01; done`,
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, script)
			s.run(exitOK)
			pid, err := strconv.Atoi(strings.TrimSpace(s.file("work/pid")))
			if err != nil {
				t.Fatal(err)
			}
			if alive(pid) {
				t.Errorf("process %d still runs", pid)
			}
			if r := s.result(); r.Exit != 0 || r.Error != "" {
				t.Errorf("result: %+v", r)
			}
		})
	}
}

func TestRun_ManyOrphansAreReapedWhileTheApplicationRuns(t *testing.T) {
	s := newSite(t, `i=0; while [ $i -lt 50 ]; do (true & ); i=$((i+1)); done; `+sayPID+`sleep 0.3; exit 4`)
	w, _ := s.startJob()
	eventually(t, "no zombies", func() bool {
		list, _ := os.ReadFile("/proc/" + strconv.Itoa(w.proc.Pid) + "/task/" + strconv.Itoa(w.proc.Pid) + "/children")
		return len(strings.Fields(string(list))) <= 1
	})
	w.wait()
	if r := s.result(); r.Exit != 4 {
		t.Errorf("exit %d", r.Exit)
	}
}

func TestRun_KilledWrapperTakesTheApplicationAlongAndKeepsTheClaim(t *testing.T) {
	s := newSite(t, sayPID+`exec sleep 300`)
	w, app := s.startJob()
	w.signal(syscall.SIGKILL)
	if code := w.wait(); code != 137 {
		t.Errorf("wrapper exit %d", code)
	}
	eventually(t, "the application is gone", func() bool { return !alive(app) })
	rs, problems, err := s.results()
	if len(rs) != 0 || len(problems) != 0 || err != nil {
		t.Errorf("results %v, %v, %v", rs, problems, err)
	}
	c, err := s.area.ReadClaim(testTag, 0)
	if err != nil || c == nil || c.Holder != jjm.HolderWrapper {
		t.Errorf("claim %+v, %v", c, err)
	}
	text, ok, err := s.area.ReadGLF(s.as[0].AttemptID())
	if l := glf.Parse([]byte(text)); !ok || err != nil || !l.Start || l.End {
		t.Errorf("log %q, %t, %v", text, ok, err)
	}
	if code, _ := runCommand(t, s.command(0, "JJM_RESTARTS=1")); code != exitLost {
		t.Errorf("a second life of the batch job: exit %d, want %d", code, exitLost)
	}
}

func TestRun_HeartbeatIsTouchedAgainAndAgain(t *testing.T) {
	s := newSite(t, sayPID+`while [ ! -e stop ]; do sleep 0.01; done`)
	s.job.Heartbeat = jjm.Duration(20 * time.Millisecond)
	w, _ := s.startJob()
	file := filepath.Join(s.attemptDir(), sandbox.HeartbeatName)
	first, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a second beat", func() bool {
		info, err := os.Stat(file)
		return err == nil && info.ModTime().After(first.ModTime())
	})
	now := time.Now()
	age, ok, err := s.area.HeartbeatAge(s.as[0].AttemptID(), now)
	if err != nil || !ok || age > now.Sub(first.ModTime()) { // figure: both ages are at the same moment
		t.Errorf("age %v, %t, %v", age, ok, err)
	}
	if err := os.WriteFile(filepath.Join(s.attemptDir(), "work", "stop"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.wait()
	if r := s.result(); r.Error != "" {
		t.Errorf("error %q", r.Error)
	}
}
