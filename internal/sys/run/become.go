package run

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

// Account holds the numeric ids of the account that a process becomes. All functions refuse UID 0.
type Account struct {
	UID, GID int
	// Groups are the supplementary groups; GID need not be among them.
	Groups []uint32
}

// maxGroups is the largest number of supplementary groups of a process (NGROUPS_MAX of
// credentials(7)).
const maxGroups = 65536

// String returns the account as one word for a command line, such as "1000:100:100,27" (UID:GID:GROUPS). ParseAccount
// parses this word.
func (a Account) String() string {
	groups := make([]string, len(a.Groups))
	for i, g := range a.Groups {
		groups[i] = strconv.FormatUint(uint64(g), 10)
	}
	return fmt.Sprintf("%d:%d:%s", a.UID, a.GID, strings.Join(groups, ","))
}

// ParseAccount parses the result of Account.String. The error is of kind Invalid if the word has another form, or if
// the UID is 0.
func ParseAccount(word string) (Account, error) {
	bad := func() (Account, error) {
		return Account{}, jjm.Errorf(jjm.Invalid, "account %.60q: want UID:GID:GROUP,GROUP, and not root's", word)
	}
	f := strings.Split(word, ":")
	if len(f) != 3 {
		return bad()
	}
	uid, err1 := strconv.ParseUint(f[0], 10, 32)
	gid, err2 := strconv.ParseUint(f[1], 10, 32)
	if errors.Join(err1, err2) != nil || uid == 0 {
		return bad()
	}
	a := Account{UID: int(uid), GID: int(gid)}
	if f[2] == "" {
		return a, nil
	}
	for _, g := range strings.Split(f[2], ",") {
		n, err := strconv.ParseUint(g, 10, 32)
		if err != nil || len(a.Groups) == maxGroups {
			return bad()
		}
		a.Groups = append(a.Groups, uint32(n))
	}
	return a, nil
}

// Become changes the whole process to the account, irrevocably; only root can do this. Before the change the process
// becomes undumpable (PR_SET_DUMPABLE of prctl(2)), so that only root can trace it or take its descriptors. After an
// error the process must end, because only some of its ids may have changed.
func (a Account) Become() error {
	if a.UID == 0 {
		return jjm.Errorf(jjm.Denied, "become root: want an ordinary account")
	}
	groups := make([]int, len(a.Groups))
	for i, g := range a.Groups {
		groups[i] = int(g)
	}
	// The calls of package syscall change every thread (since Go 1.16). setresuid(2) resets the
	// dumpable flag to fs.suid_dumpable of proc(5), hence the second prctl.
	steps := []func() error{
		func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) },
		func() error { return syscall.Setgroups(groups) },
		func() error { return syscall.Setresgid(a.GID, a.GID, a.GID) },
		func() error { return syscall.Setresuid(a.UID, a.UID, a.UID) },
		func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("become uid %d: %w", a.UID, err)
		}
	}
	return a.check()
}

// check returns an error unless all ids of this process are the account's and the process cannot become root again.
func (a Account) check() error {
	ruid, euid, suid := unix.Getresuid()
	rgid, egid, sgid := unix.Getresgid()
	got, err := syscall.Getgroups()
	if err != nil {
		return fmt.Errorf("become uid %d: %w", a.UID, err)
	}
	uids := ruid == a.UID && euid == a.UID && suid == a.UID
	gids := rgid == a.GID && egid == a.GID && sgid == a.GID
	for _, g := range got {
		gids = gids && (g == a.GID || slices.Contains(a.Groups, uint32(g)))
	}
	if !uids || !gids || syscall.Setuid(0) == nil {
		return fmt.Errorf("become uid %d: the process could become root again: %w", a.UID, syscall.EPERM)
	}
	return nil
}
