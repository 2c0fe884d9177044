package hostile_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
	"jjm/internal/testkit/testbed"
)

// droppedLine is the text with which the daemon logs a dropped report about another account's jobs.
const droppedLine = "made as an account reports jobs of other accounts: that part is dropped"

// namesFile is the file that contains the attacker's account and the account whose jobs are reported as failed.
const namesFile = "names"

// forgeListings takes over, like a debugger, every command of mallory's account that lists jobs. It makes the command
// print the batch system's lines about the other account's jobs as if these jobs were mallory's and had failed.
func forgeListings(folder string) {
	text, _ := os.ReadFile(filepath.Join(folder, namesFile))
	her, other, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	runtime.LockOSThread() // ptrace(2) belongs to a thread
	forged := 0
	tried := map[int]bool{}
	others(func(pid int) {
		if tried[pid] {
			tried[pid] = syscall.Kill(pid, 0) == nil // the id of an ended process may be reused
			return
		}
		argv := strings.Split(strings.TrimSuffix(readProc(pid, "cmdline"), "\x00"), "\x00")
		if !lists(pid, argv) || syscall.PtraceAttach(pid) != nil {
			return
		}
		tried[pid] = true
		if takeOver(pid, untrue(argv, readProc(pid, "environ"), her, other)) == nil {
			forged++
			count(folder, "forged", forged)
		}
	})
}

func readProc(pid int, name string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	return string(text)
}

// lists reports whether a process is a command that lists jobs, not the script around it.
func lists(pid int, argv []string) bool {
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	listing := slices.ContainsFunc(argv[:min(len(argv), 4)], func(a string) bool {
		return slices.Contains([]string{"squeue", "condor_q", "condor_history"}, filepath.Base(a))
	})
	base := filepath.Base(exe)
	return listing && (base == "squeue" || strings.HasPrefix(base, "ld-linux"))
}

// untrue runs the same listing for the other account, and changes its jobs to failed jobs.
func untrue(argv []string, environ, her, other string) string {
	asked := slices.Clone(argv)
	for i := range asked {
		asked[i] = strings.ReplaceAll(asked[i], her, other)
	}
	cmd := exec.Command(asked[0], asked[1:]...)
	cmd.Env = strings.Split(strings.TrimSuffix(environ, "\x00"), "\x00")
	out, _ := cmd.Output()
	var lines []string
	for line := range strings.Lines(string(out)) {
		lines = append(lines, worse(strings.ReplaceAll(line, other, her)))
	}
	return strings.Join(lines, "")
}

// worse changes a line of a listing so that its job has failed.
func worse(line string) string {
	if fields := strings.Split(line, "\t"); len(fields) > 11 && fields[0] == "jjm-job" {
		fields[3], fields[10], fields[11] = "4", "false", "9" // completed, with exit code 9
		return strings.Join(fields, "\t")
	}
	for _, state := range []string{"RUNNING", "PENDING", "COMPLETED"} {
		line = strings.ReplaceAll(line, state, "FAILED")
	}
	return line
}

// takeOver makes a traced process write a text to its standard output and exit with 0, as if it did nothing else.
func takeOver(pid int, text string) error {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		return errors.Join(err, errors.New("it does not stop"))
	}
	defer func() { _ = syscall.PtraceDetach(pid) }()
	out, err := outputOf(pid)
	if err != nil {
		return err
	}
	defer out.Close()
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(pid, &regs); err != nil {
		return err
	}
	setExit(&regs)
	if _, err := syscall.PtracePokeText(pid, uintptr(regs.PC()), []byte{0x0f, 0x05}); err != nil { // syscall
		return err
	}
	if err := syscall.PtraceSetRegs(pid, &regs); err != nil {
		return err
	}
	_, err = out.WriteString(text)
	return err
}

// outputOf returns the standard output of a process that may be traced. The output is a pipe of another account, which
// cannot be opened but can be copied (pidfd_getfd(2)).
func outputOf(pid int) (*os.File, error) {
	p, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(p)
	fd, err := unix.PidfdGetfd(p, 1, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "output"), nil
}

// Mallory's listings report bob's jobs as her own failed jobs. Bob's jobs are nevertheless done, and each ran once;
// only mallory's jobs fail.
func TestForged_WhatHerListingSaysOfOthersIsDropped(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	if runtime.GOARCH != "amd64" {
		needs.Gap(t, "a listing that its account forges", "run this on amd64")
	}
	if text, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil &&
		strings.TrimSpace(string(text)) != "0" {
		needs.Gap(t, "a listing that its account forges", "sysctl kernel.yama.ptrace_scope=0")
	}
	for _, kind := range []string{"slurm", "condor"} {
		t.Run(kind, func(t *testing.T) {
			b := testbed.Start(t, kind)
			s := besiege(t, site.Settings{RunAs: "owner", Clusters: site.OnBed(b, kind)})
			s.knownOn(b, kind)
			f := &planted{siege: s, bed: b}
			s.Must(os.WriteFile(filepath.Join(s.Home(s.mallory), namesFile), []byte(s.mallory.Name+" "+s.bob.Name), 0o644))
			var bobs, runs []string
			var stop func()
			forged, lasts := 0, ""
			s.withstands(attack{
				name: kind + ": her listings say that his jobs have failed",
				begin: func() {
					for range 2 {
						s.Submit(s.mallory, site.Script("sleep 600"))
					}
					lasts = s.Submit(s.bob, site.Script("sleep 600")) // this job's state is to be forged
					bobs, runs = f.jobs(s.bob, full(10, 4))
					stop = s.attacker("attack-forge-listings")
				},
				inForce: func() error {
					s.Until("one more of her listings is forged", func() bool { return s.counted("forged") > forged })
					forged = s.counted("forged")
					return nil
				},
				end: func() { stop() },
			})
			f.once("bob's", bobs, runs)
			if out, err := s.JJM(s.bob, "kill", lasts); err != nil {
				t.Errorf("bob's grid job that lasts: kill: %q, %v", out, err)
			}
			s.Final(lasts, "aborted")
			if log, err := os.ReadFile(s.Dir + "/log"); err != nil || !strings.Contains(string(log), droppedLine) {
				t.Errorf("the log does not say that something was dropped (%v)", err)
			}
		})
	}
}
