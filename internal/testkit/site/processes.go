package site

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Processes returns the processes of an account whose program has this name (comm of proc(5), its first 15 bytes); ""
// means any name. The result includes processes that the account cannot inspect (PR_SET_DUMPABLE of prctl(2)), whose
// files in /proc belong to root.
func (p Person) Processes(name string) []int {
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
		if uidOf(e.Name()) != p.UID {
			continue
		}
		comm, err := os.ReadFile("/proc/" + e.Name() + "/comm")
		if err == nil && (name == "" || strings.TrimSpace(string(comm)) == name) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// uidOf returns the real user id of a process, -1 if the process has ended.
func uidOf(pid string) int {
	text, _ := os.ReadFile("/proc/" + pid + "/status")
	_, rest, _ := strings.Cut(string(text), "\nUid:\t")
	word, _, _ := strings.Cut(rest, "\t")
	uid, err := strconv.Atoi(word)
	if err != nil {
		return -1
	}
	return uid
}

// KillAll kills all processes of an account, including processes that the account starts meanwhile.
func (p Person) KillAll() {
	for range 100 {
		pids := p.Processes("")
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(pids) == 0 {
			return
		}
	}
}
