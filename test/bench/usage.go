package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// rusageThread is RUSAGE_THREAD (getrusage(2)), which package syscall lacks.
const rusageThread = 1

// cpuOf returns user and system time of this process or thread.
func cpuOf(who int) time.Duration {
	var u syscall.Rusage
	check(syscall.Getrusage(who, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func processCPU() time.Duration { return cpuOf(syscall.RUSAGE_SELF) }

// threadCPU returns the CPU time of this thread. The goroutine must be locked to its thread.
func threadCPU() time.Duration { return cpuOf(rusageThread) }

// peakMB returns the peak of the resident memory of a process, in 10^6 bytes.
func peakMB(pid string) float64 {
	return must(parsePeak(string(must(os.ReadFile("/proc/" + pid + "/status")))))
}

// parsePeak parses VmHWM of /proc/PID/status (proc(5)), which is in KiB.
func parsePeak(status string) (float64, error) {
	_, rest, _ := strings.Cut(status, "\nVmHWM:")
	value, _, _ := strings.Cut(rest, "kB")
	kib, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return kib * 1024 / 1e6, err
}

// procTimes are the CPU times of a process, and of the children for which it has waited.
type procTimes struct{ own, children time.Duration }

func (t procTimes) minus(o procTimes) procTimes {
	return procTimes{t.own - o.own, t.children - o.children}
}

func timesOf(pid int) procTimes {
	return must(parseStat(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))))))
}

// tick is the unit of /proc/PID/stat: USER_HZ is 100 on every Linux that Go supports.
const tick = 10 * time.Millisecond

// parseStat parses fields 14 to 17 of /proc/PID/stat (proc(5)). The second field, the name of the program, may contain
// anything, but ends with the last parenthesis.
func parseStat(text string) (procTimes, error) {
	const behind = 11 // fields between the name and field 14
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	var t [4]time.Duration
	for i := range t {
		if len(fields) <= behind+i {
			return procTimes{}, errors.New("the stat of a process is too short")
		}
		n, err := strconv.ParseInt(fields[behind+i], 10, 64)
		if err != nil {
			return procTimes{}, fmt.Errorf("stat of a process: %w", err)
		}
		t[i] = time.Duration(n) * tick
	}
	return procTimes{own: t[0] + t[1], children: t[2] + t[3]}, nil
}

// cost holds what one run of a program, with the children for which it waited, took in milliseconds.
type cost struct{ wall, cpu float64 }

// spend runs a program to its end, and returns its standard output and its cost.
func spend(cmd *exec.Cmd) (string, cost) {
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	began := time.Now()
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		check(fmt.Errorf("%s: %w: %.400s%.400s", strings.Join(cmd.Args, " "), err, said.String(), out.String()))
	}
	return out.String(), cost{ms(time.Since(began)), ms(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
