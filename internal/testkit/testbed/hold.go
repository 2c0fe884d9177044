package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Hold is a lock on a test bed that its users share. As long as anybody has one, no script
// removes the jobs of the bed or rebuilds it; see scripts/testbed/common.sh. It ends with
// the process at the latest.
type Hold struct {
	file *os.File
	name string
	// Alone is true while nobody else uses the bed.
	Alone bool
}

// Enter takes a lock on the bed. With alone it waits until there are no other users, else until nobody wants to be
// alone. A user who finds no other user is alone until Share.
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

// Share lets others use the bed too.
func (h *Hold) Share() error {
	err := h.lock(syscall.LOCK_SH)
	h.Alone = h.Alone && err != nil
	return err
}

// Leave releases the lock.
func (h *Hold) Leave() error { return h.file.Close() }

// Env returns the variables that tell the bed's script about the caller.
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

// lockFile returns the path that the scripts use too (scripts/testbed/common.sh). It does
// not lie in os.TempDir, which is another folder in each test run.
func lockFile(name string) string {
	dir := os.Getenv("JJM_TESTBED")
	if dir == "" {
		dir = "/tmp"
	}
	return filepath.Join(dir, "jjm-testbed-"+name+".lock")
}
