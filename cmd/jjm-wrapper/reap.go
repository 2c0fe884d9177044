package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// siginfo is the structure that waitid(2) fills in on 64-bit Linux. The field si_pid follows the three words that all
// signals have, and one word of padding.
type siginfo struct {
	_   [4]int32
	pid int32
	_   [27]int32
}

// awaitEnd waits until the child pid has ended, and leaves it a zombie, so that no other process gets its number, which
// is also the number of its process group. Meanwhile it reaps other children that end; these are orphans of the
// application.
func awaitEnd(pid int) {
	for {
		var info siginfo
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&info)),
			unix.WEXITED|unix.WNOWAIT, 0, 0)
		switch {
		case errno == syscall.EINTR:
		case errno != 0, info.pid == int32(pid):
			return
		default:
			_, _ = reap(int(info.pid))
		}
	}
}

// reap waits for the end of a child, removes it from the process table, and returns its exit status.
func reap(pid int) (status syscall.WaitStatus, err error) {
	for {
		_, err = syscall.Wait4(pid, &status, 0, nil)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("wait for process %d: %w", pid, err)
	}
	return status, err
}

// numbered returns process ids as a list for a message.
func numbered(pids []int) string {
	var words []string
	for _, pid := range pids {
		words = append(words, strconv.Itoa(pid))
	}
	return strings.Join(words, ", ")
}

// stragglerTime is how long processes may take to end after SIGKILL.
const stragglerTime = 2 * time.Second

// endStragglers kills and reaps all remaining children of the wrapper. These are processes that the application left
// behind, including processes outside its process group, because the wrapper is their subreaper (see launch). It
// returns an error if processes are left after stragglerTime.
func endStragglers() error {
	for deadline := now().Add(stragglerTime); ; {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR || err == nil && pid > 0:
			continue
		case err != nil: // ECHILD: no child is left
			return nil
		}
		left := children()
		if now().After(deadline) {
			return fmt.Errorf("processes of the application are still there after KILL: %s", numbered(left))
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // an error is ignored: the process may have ended by itself
		}
		time.Sleep(time.Millisecond)
	}
}

// children returns the process ids of the children of this process (proc(5), /proc/pid/task/tid/children). On a kernel
// without CONFIG_PROC_CHILDREN it returns none.
func children() []int {
	var pids []int
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		b, _ := os.ReadFile("/proc/self/task/" + t.Name() + "/children")
		for _, w := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(w); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
