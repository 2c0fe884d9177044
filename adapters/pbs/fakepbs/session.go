package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// sessionOf lists the live processes of a session.
func sessionOf(sid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		// After the last ")": state, parent, group, session.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) > 3 && string(fields[3]) == strconv.Itoa(sid) && string(fields[0]) != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killSession signals every process of a session; with KILL again and again
// until none is left, because they may fork.
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

// resident is the memory of a session, in bytes.
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
