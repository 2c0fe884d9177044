package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

// shared reports whether accounts other than the daemon's must be able to enter the state folder and the work areas.
func (c *Config) shared() bool { return c.RunAs == runAsOwner || c.Gate.Open() }

// stranger is the number of the account "nobody" on all Linux systems: it has no rights of its own.
const stranger = 65534

// adviceOnReach returns a note for each existing folder that other accounts cannot enter although the configuration
// permits them to. Only root can try the access of another account.
func (c *Config) adviceOnReach() (notes jjm.Problems) {
	if os.Geteuid() != 0 || !c.shared() {
		return nil
	}
	gid := stranger
	mode, group, err := c.Gate.Access()
	if err == nil && group > 0 {
		gid = group
	}
	told := map[string]bool{}
	for _, dir := range []struct{ field, path string }{
		{"state", c.State}, {"state", c.recordDir()}, {"work", c.Work}} {
		shut, err := refuses(dir.path, gid)
		if err != nil {
			notes = append(notes, jjm.Problem{Field: dir.field, Text: fmt.Sprintf("%s: cannot be tried as another: %v",
				dir.path, err)})
		}
		if shut == "" || told[shut] {
			continue
		}
		told[shut] = true
		text := shut
		if info, err := os.Stat(shut); err == nil {
			text = fmt.Sprintf("%s (uid %d, mode %v)", shut, ownerOf(info), info.Mode())
		}
		notes = append(notes, jjm.Problem{Field: dir.field, Text: fmt.Sprintf(
			"the folder %s lets no other account in, though "+
				"gate.mode is %04o and run_as is %q: chmod go+x %s", text, mode, c.RunAs, shut)})
	}
	return notes
}

// refuses returns the topmost folder of an absolute path that an account of a group cannot enter. It returns "" if the
// account can enter all folders, and treats missing folders as open. The error means that the process could not act as
// another account.
func refuses(path string, gid int) (shut string, err error) {
	err = asStranger(gid, func() {
		var folders []string
		for d := filepath.Clean(path); ; d = filepath.Dir(d) {
			folders = append(folders, d)
			if d == filepath.Dir(d) {
				break
			}
		}
		for i := len(folders) - 1; i >= 0; i-- {
			fd, err := unix.Open(folders[i]+"/.", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err == nil {
				_ = unix.Close(fd)
				continue
			}
			if errors.Is(err, unix.EACCES) {
				shut = folders[i]
			}
			return
		}
	})
	return shut, err
}

// asStranger calls fn with the effective ids of an account without rights. The raw system calls change only the current
// thread (credentials(7)), which gets root's ids back afterwards. The error means that fn was not called, because this
// process may not act as another account.
func asStranger(gid int, fn func()) error {
	groups, err := unix.Getgroups()
	if err != nil {
		return err
	}
	own := make([]uint32, len(groups)+1) // one element more, so that the slice has an address
	for i, g := range groups {
		own[i] = uint32(g)
	}
	const same = ^uintptr(0)
	runtime.LockOSThread()
	set := func(call, a, b, c uintptr) bool {
		_, _, errno := unix.RawSyscall(call, a, b, c)
		return errno == 0
	}
	became := set(unix.SYS_SETGROUPS, 0, 0, 0) && set(unix.SYS_SETRESGID, same, uintptr(gid), same) &&
		set(unix.SYS_SETRESUID, same, stranger, same)
	if became {
		fn()
	}
	back := set(unix.SYS_SETRESUID, same, 0, same) && set(unix.SYS_SETRESGID, same, uintptr(os.Getgid()), same)
	_, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&own[0])), 0)
	if !back || errno != 0 {
		panic("the rights of root do not come back") // nothing may continue with the rights of another account
	}
	runtime.UnlockOSThread()
	if !became {
		return errors.New("this process may not act as another account")
	}
	return nil
}
