package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Hold is a lock on a test bed that several users of the bed can have at the same time. As long as a user has the lock,
// no script removes the jobs of the bed or rebuilds it; see scripts/testbed/common.sh. The lock is released by Leave,
// or when the process ends.
type Hold struct {
	file *os.File
	name string
	// Alone is true while the bed has no other user.
	Alone bool
}

// Enter takes a lock on the bed. If alone is set, it waits until the bed has no other users; otherwise it waits only
// while another user is alone. A user who finds no other user on the bed is alone until Share is called.
func Enter(name string, alone bool) (*Hold, error) {
	f, err := os.OpenFile(lockFile(name), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, fmt.Errorf("lock of the test bed %s: %w", name, err)
	}
	h := &Hold{file: f, name: name, Alone: true}
	if h.lock(syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		return h, nil
	}
	if alone {
		err = h.lock(syscall.LOCK_EX)
	} else {
		err = h.Share()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return h, nil
}

// Share lets other users use the bed too.
func (h *Hold) Share() error {
	err := h.lock(syscall.LOCK_SH)
	h.Alone = h.Alone && err != nil
	return err
}

// Leave releases the lock.
func (h *Hold) Leave() error { return h.file.Close() }

// Env returns the variables for the bed's script: JJM_BED_ALONE=1 if the caller is alone, otherwise nil.
func (h *Hold) Env() []string {
	if h.Alone {
		return []string{"JJM_BED_ALONE=1"}
	}
	return nil
}

func (h *Hold) lock(how int) error {
	for {
		err := syscall.Flock(int(h.file.Fd()), how)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("lock of the test bed %s: %w", h.name, err)
		}
		return nil
	}
}

// lockFile returns the path of the lock, which the scripts use too (scripts/testbed/common.sh). It is not in
// os.TempDir, because os.TempDir is another folder in each test run.
func lockFile(name string) string {
	dir := os.Getenv("JJM_TESTBED")
	if dir == "" {
		dir = "/tmp"
	}
	return filepath.Join(dir, "jjm-testbed-"+name+".lock")
}
