package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// sessionOf returns the live processes of a session.
func sessionOf(sid int) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// Most processes belong to others. Getsid takes one system call; reading the state
		// takes three, and more text.
		if of, err := unix.Getsid(pid); err == nil && of == sid && !zombie(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// zombie reports whether a process has ended. It also returns true if the process does not exist.
func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The state follows the last ")".
	return err != nil || bytes.HasPrefix(text[bytes.LastIndexByte(text, ')')+1:], []byte(" Z"))
}

// killSession sends TERM to every process of a session. With hard set it sends KILL instead, and
// repeats that until none is left, because the processes may fork.
func killSession(sid int, hard bool) {
	signal, times := syscall.SIGTERM, 1
	if hard {
		signal, times = syscall.SIGKILL, 100
	}
	for range times {
		pids := sessionOf(sid)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, signal)
		}
	}
}

// resident returns the memory of a session, in bytes.
func resident(sid int) (sum int64) {
	for _, pid := range sessionOf(sid) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		var size, pages int64
		if n, _ := fmt.Sscan(string(text), &size, &pages); n == 2 {
			sum += pages * int64(os.Getpagesize())
		}
	}
	return sum
}
