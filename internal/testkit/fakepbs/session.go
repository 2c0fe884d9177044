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
func sessionOf(sid int) []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
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

// zombie reports whether a process has ended; true also for one that does not exist.
func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	// The state follows the last ")".
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	return len(fields) > 0 && string(fields[0]) == "Z"
}

// killSession signals every process of a session. With hard it sends KILL until none is
// left, because they may fork.
func killSession(sid int, hard bool) {
	if !hard {
		for _, pid := range sessionOf(sid) {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
		return
	}
	for range 100 {
		pids := sessionOf(sid)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// resident returns the memory of a session, in bytes.
func resident(sid int) int64 {
	var sum int64
	for _, pid := range sessionOf(sid) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			continue
		}
		var size, pages int64
		if _, err := fmt.Sscan(string(text), &size, &pages); err == nil {
			sum += pages * int64(os.Getpagesize())
		}
	}
	return sum
}
