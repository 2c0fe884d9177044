package gatekeeper

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

// asOwner runs functions with the rights of an account. If the process is root and the account is another account, the
// functions run on a thread that has only the rights of the account. So nothing in the owner's folders (links, pipes,
// files that change meanwhile) can give access to files that the owner cannot access.
type asOwner struct {
	// owner is the owner of the files. nil means the account of the process.
	owner *jjm.Owner
}

// do runs fn with the rights of the owner.
func (c asOwner) do(fn func() error) error {
	if c.owner == nil || c.owner.UID == os.Geteuid() {
		return fn()
	}
	done := make(chan error, 1)
	go func() {
		// The thread is never unlocked. It ends with the goroutine, so no other goroutine
		// runs on it with the owner's rights.
		runtime.LockOSThread()
		err := become(*c.owner)
		if err == nil {
			err = fn()
		}
		done <- err
	}()
	return <-done
}

// become gives the current thread the rights of an account. Raw system calls change only one thread ("a per-thread
// attribute", credentials(7)); the functions of package syscall would change all threads.
func become(o jjm.Owner) error {
	if o.UID <= 0 || o.GID <= 0 {
		return jjm.Errorf(jjm.Denied, "files for uid %d, gid %d: want an ordinary account", o.UID, o.GID)
	}
	const same = ^uintptr(0)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return os.NewSyscallError("setgroups", errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, same, uintptr(o.GID), same); errno != 0 {
		return os.NewSyscallError("setresgid", errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(o.UID), same); errno != 0 {
		return os.NewSyscallError("setresuid", errno)
	}
	return nil
}

// file is a file that is being written under a temporary name. It appears under its final name complete or not at all.
// An existing file under that name is replaced, so that a link is never followed.
type file struct {
	*os.File
	tmp, to string
}

// create creates a file that will get the absolute path to. The folder must exist.
func create(to string) (*file, error) {
	if !filepath.IsAbs(to) || filepath.Base(to) == ".." {
		return nil, jjm.Errorf(jjm.Invalid, "deliver to %.200q: want an absolute path", to)
	}
	var word [6]byte
	if _, err := rand.Read(word[:]); err != nil {
		return nil, err
	}
	tmp := filepath.Join(filepath.Dir(to), ".jjm-"+hex.EncodeToString(word[:]))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("deliver to %s: %w", to, err)
	}
	return &file{File: f, tmp: tmp, to: to}, nil
}

// rename sets the time of a complete file, unless when is zero, and gives the file its final name.
func (f *file) rename(when time.Time) error {
	if !when.IsZero() {
		if err := os.Chtimes(f.tmp, when, when); err != nil {
			return err
		}
	}
	return os.Rename(f.tmp, f.to)
}

// publish sets the mode and the time of the file and gives it its final name.
func (f *file) publish(mode os.FileMode, when time.Time) error {
	err := f.Chmod(mode.Perm() &^ 0o022)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = f.rename(when)
	}
	if err != nil {
		_ = os.Remove(f.tmp)
		return fmt.Errorf("deliver to %s: %w", f.to, err)
	}
	return nil
}

// discard closes and removes a file that will not be delivered.
func (f *file) discard() {
	_ = f.Close()
	_ = os.Remove(f.tmp)
}

// isDelivered reports whether a file was already delivered: there is a regular file with this size and time.
func isDelivered(to string, size int64, when time.Time) bool {
	info, err := os.Lstat(to)
	return err == nil && info.Mode().IsRegular() && info.Size() == size && info.ModTime().Equal(when)
}

// createEmpty creates an empty file, unless a regular file exists.
func createEmpty(to string) error {
	if info, err := os.Lstat(to); err == nil && info.Mode().IsRegular() {
		return nil
	}
	f, err := create(to)
	if err != nil {
		return err
	}
	return f.publish(0o644, time.Time{})
}
