package site

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Processes are the processes of an account whose program has a name (comm of
// proc(5), its first 15 bytes); "" means any.
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
		info, err := os.Stat("/proc/" + e.Name())
		if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != p.UID {
			continue
		}
		comm, err := os.ReadFile("/proc/" + e.Name() + "/comm")
		if err == nil && (name == "" || strings.TrimSpace(string(comm)) == name) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// KillAll kills all processes of an account, also those that it starts meanwhile.
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
