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

	"jjm"
)

// carry writes files for somebody: complete or not at all, and never through a
// link, for what stands under a name is replaced, not followed.
//
// Where the process is root and the owner is not, all is done by a thread that
// has the rights of the owner and no others: what the owner's folders hold -
// links, pipes, races - reaches no farther than the owner does.
type carry struct {
	// owner of the files; nil: whoever runs the process.
	owner *jjm.Owner
}

// do runs fn with the owner's rights.
func (c carry) do(fn func() error) error {
	if c.owner == nil || c.owner.UID == os.Geteuid() {
		return fn()
	}
	done := make(chan error, 1)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and nobody else
		// gets it with rights that are not the process's.
		runtime.LockOSThread()
		err := become(*c.owner)
		if err == nil {
			err = fn()
		}
		done <- err
	}()
	return <-done
}

// become returns the rights of an account to the thread. The system calls of
// package syscall would change every thread; these change the caller's alone
// (credentials(7), "a per-thread attribute" of the kernel).
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

// file is one that is being written under another name.
type file struct {
	*os.File
	tmp, to string
}

// create begins a file that will be at the absolute path to. Its folder must be
// there.
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

// name gives a file that is written its time, unless that is zero, and its name.
func (f *file) name(when time.Time) error {
	if !when.IsZero() {
		if err := os.Chtimes(f.tmp, when, when); err != nil {
			return err
		}
	}
	return os.Rename(f.tmp, f.to)
}

// settle gives the file its mode, its time and its name.
func (f *file) settle(mode os.FileMode, when time.Time) error {
	err := f.Chmod(mode.Perm() &^ 0o022)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = f.name(when)
	}
	if err != nil {
		_ = os.Remove(f.tmp)
		return fmt.Errorf("deliver to %s: %w", f.to, err)
	}
	return nil
}

// drop closes and removes the file that is not delivered.
func (f *file) drop() {
	_ = f.Close()
	_ = os.Remove(f.tmp)
}

// there reports whether a file was delivered already: a plain one of this size
// and time.
func there(to string, size int64, when time.Time) bool {
	info, err := os.Lstat(to)
	return err == nil && info.Mode().IsRegular() && info.Size() == size && info.ModTime().Equal(when)
}

// touch makes an empty file unless something is there.
func touch(to string) error {
	if info, err := os.Lstat(to); err == nil && info.Mode().IsRegular() {
		return nil
	}
	f, err := create(to)
	if err != nil {
		return err
	}
	return f.settle(0o644, time.Time{})
}
