package local

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"jjm"
)

// identity is as whom and with what environment the jobs of a bulk run.
type identity struct {
	credential *syscall.Credential // nil: as this daemon
	env        []string
}

// whoIs looks an owner up. Somebody unknown to the machine runs by the numbers
// alone.
func whoIs(o jjm.Owner, uid int) *identity {
	home, name := "/", o.User
	var groups []uint32
	if u, err := user.LookupId(strconv.Itoa(o.UID)); err == nil {
		home, name = u.HomeDir, u.Username
		ids, _ := u.GroupIds()
		for _, id := range ids {
			if g, err := strconv.ParseUint(id, 10, 32); err == nil {
				groups = append(groups, uint32(g))
			}
		}
	}
	who := &identity{env: []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "USER=" + name, "LANG=C.UTF-8", "TMPDIR=/tmp",
	}}
	if uid == 0 && o.UID != 0 {
		who.credential = &syscall.Credential{Uid: uint32(o.UID), Gid: uint32(o.GID), Groups: groups}
	}
	return who
}

// passable tells whether other users can reach what is theirs below path.
// Where they cannot, their jobs leave no end record, and how those ended that
// end while jjm is down is not known.
func passable(path string) error {
	for dir := path; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("other users cannot pass through %s, so their jobs cannot say how they ended while jjm was down: chmod o+x it", dir)
		}
	}
	return nil
}

// openAs opens a file for appending with the rights of the owner and no more:
// the path is the owner's, and may lead anywhere.
func openAs(path string, as *syscall.Credential) (*os.File, error) {
	open := func() (*os.File, error) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, err
		}
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			f.Close()
			return nil, fmt.Errorf("open %s: not a plain file", path)
		}
		return f, nil
	}
	if as == nil {
		return open()
	}
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened)
	go func() {
		// setfsuid(2) concerns one thread. This one is never unlocked, so the
		// runtime ends it with the goroutine.
		runtime.LockOSThread()
		f, err := (*os.File)(nil), becomeForFiles(as)
		if err == nil {
			f, err = open()
		}
		done <- opened{f, err}
	}()
	o := <-done
	return o.f, o.err
}

// becomeForFiles gives the calling thread the owner's rights over files. Going
// from user 0 to another drops the capabilities over files as well,
// capabilities(7).
func becomeForFiles(as *syscall.Credential) error {
	groups := append([]uint32{as.Gid}, as.Groups...)
	if err := setThreadGroups(groups); err != nil {
		return err
	}
	_, _ = unix.SetfsgidRetGid(int(as.Gid))
	_, _ = unix.SetfsuidRetUid(int(as.Uid))
	// Neither tells its failure: an impossible id makes both tell the present one.
	gid, _ := unix.SetfsgidRetGid(-1)
	uid, _ := unix.SetfsuidRetUid(-1)
	if gid != int(as.Gid) || uid != int(as.Uid) {
		return errors.New("take the owner's rights over files: not permitted")
	}
	return nil
}
