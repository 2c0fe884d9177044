package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Hold is a place among the users of a bed. As long as anybody has one no script
// empties the bed or makes it anew; see scripts/testbed/common.sh. It ends with
// the program at the latest.
type Hold struct {
	file *os.File
	name string
	// Alone: nobody else uses the bed.
	Alone bool
}

// Enter waits for a place among the users of the bed: with alone until there
// are no others, and else while somebody wants to be alone there. Who finds
// nobody there is alone until Share.
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

// Share lets others in.
func (h *Hold) Share() error {
	err := h.lock(syscall.LOCK_SH)
	h.Alone = h.Alone && err != nil
	return err
}

// Leave ends it.
func (h *Hold) Leave() error { return h.file.Close() }

// Env is what the bed's script is to know of the caller.
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

// lockFile is where the scripts have it, too (scripts/testbed/common.sh): not
// in the folder for temporary files, which is another one in each test run.
func lockFile(name string) string {
	dir := os.Getenv("JJM_TESTBED")
	if dir == "" {
		dir = "/tmp"
	}
	return filepath.Join(dir, "jjm-testbed-"+name+".lock")
}
