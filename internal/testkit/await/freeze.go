package await

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Freeze stops a process with SIGSTOP and returns when all its threads are stopped. On a busy machine this takes some
// time after the signal was sent.
func Freeze(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatalf("freeze process %d: %v", pid, err)
	}
	for end := time.Now().Add(Guard(time.Minute)); ; time.Sleep(time.Millisecond) {
		still, err := frozen(pid)
		if still {
			return
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("process %d still runs long after SIGSTOP: %v", pid, err)
		}
	}
}

// frozen reports whether all threads of a process are stopped: state T in proc(5).
func frozen(pid int) (bool, error) {
	files, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
	if err != nil || len(files) == 0 {
		return false, fmt.Errorf("it has no threads: %v", err)
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the thread has ended
		}
		if err != nil {
			return false, err
		}
		// The name is in parentheses and may contain anything.
		if _, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" ")); len(rest) == 0 || rest[0] != 'T' {
			return false, nil
		}
	}
	return true, nil
}
