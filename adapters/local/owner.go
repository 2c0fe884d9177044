package local

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// identity is the account and the environment for the jobs of a bulk.
type identity struct {
	as  *run.Account // nil for the daemon's own account
	env []string
}

// lookUp returns the identity for an owner. If the machine does not know the owner's account, the jobs run with the
// owner's numeric ids only.
func lookUp(o jjm.Owner, uid int) *identity {
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
		who.as = &run.Account{UID: o.UID, GID: o.GID, Groups: groups}
	}
	return who
}

// checkPassable returns an error if other users cannot pass through a folder on the way to path. The jobs of these
// users then could not write end records, and jjm would not learn how jobs ended while it was down.
func checkPassable(path string) error {
	for dir := path; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf(
				"other users cannot pass through %s, so their jobs cannot say how they ended while jjm was down: chmod o+x it", dir)
		}
	}
	return nil
}

// openLog opens the log for jobs of the daemon's own account, for appending. Processes of other accounts open their log
// themselves (run.Detached), because an account can delay the opening of its own paths for any length of time.
func openLog(path string) (*os.File, error) {
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
