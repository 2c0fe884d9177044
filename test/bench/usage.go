package main

import (
	"fmt"
	"os"
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
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func processCPU() time.Duration { return cpuOf(syscall.RUSAGE_SELF) }

// threadCPU returns the CPU time of this thread. The goroutine must be locked to its thread.
func threadCPU() time.Duration { return cpuOf(rusageThread) }

// peakMB returns the peak of the resident memory of a process, in 10^6 bytes.
func peakMB(pid string) (float64, error) {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0, err
	}
	return parsePeak(string(text))
}

// parsePeak parses VmHWM of /proc/PID/status (proc(5)), which is in KiB.
func parsePeak(status string) (float64, error) {
	for line := range strings.Lines(status) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kib * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("VmHWM: not in the status of the process")
}

// procTimes are the CPU times of a process, and of the children for which it has waited.
type procTimes struct{ own, children time.Duration }

func (t procTimes) minus(o procTimes) procTimes {
	return procTimes{t.own - o.own, t.children - o.children}
}

func timesOf(pid int) (procTimes, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procTimes{}, err
	}
	return parseStat(string(text))
}

// tick is the unit of /proc/PID/stat: USER_HZ is 100 on every Linux that Go supports.
const tick = 10 * time.Millisecond

// parseStat parses fields 14 to 17 of /proc/PID/stat (proc(5)). The second field, the name of the program, may contain
// anything, but ends with the last parenthesis.
func parseStat(text string) (procTimes, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const state = 3 // the number of the field in fields[0]
	if len(fields) <= 17-state {
		return procTimes{}, fmt.Errorf("stat of a process has %d fields", len(fields)+state-1)
	}
	var t [4]time.Duration
	for i := range t {
		n, err := strconv.ParseInt(fields[14-state+i], 10, 64)
		if err != nil {
			return procTimes{}, fmt.Errorf("stat of a process: %w", err)
		}
		t[i] = time.Duration(n) * tick
	}
	return procTimes{own: t[0] + t[1], children: t[2] + t[3]}, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
