package acl

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Allows reports whether an account other than root has the permission want for an open file or folder. It uses the
// kernel's rules: the access control list decides, or the mode if there is no list (acl(5), "ACCESS CHECK ALGORITHM").
// uid is the account, gids are all its groups. The file may be open as O_PATH. The folders on the path to the file are
// not checked.
//
// If only a file server knows the list (NFS version 4), the mode that the server shows for the list decides.
func Allows(f *os.File, want Perm, uid int, gids []int) (bool, error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false, fmt.Errorf("access rights of %s: not known", f.Name())
	}
	list, err := listOf(f, info)
	if err != nil {
		return false, fmt.Errorf("access rights of %s: %w", f.Name(), err)
	}
	return allows(list, want, uid == int(st.Uid), uid, groupsIn(gids, int(st.Gid)), gids), nil
}

func groupsIn(gids []int, gid int) bool { return slices.Contains(gids, gid) }

// listOf returns the list of an open file. It reads the list through /proc, because the attributes of a file that is
// open as O_PATH can only be read there.
func listOf(f *os.File, info os.FileInfo) ([]entry, error) {
	buf := make([]byte, 4096)
	n, err := control(f, func(fd int) (int, error) {
		return unix.Getxattr("/proc/self/fd/"+strconv.Itoa(fd), attribute, buf)
	})
	switch {
	case err == nil:
		return decode(buf[:n])
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODATA):
		return ofMode(info.Mode()), nil
	}
	return nil, err
}

// allows is the kernel's algorithm. The first of owner, named account, groups and others that applies to the account
// decides. If the mask permits nothing, the mode shows no permissions for the group. Linux then does not read the list
// at all (acl_permission_check in fs/namei.c), and an account in the list is treated like other accounts.
func allows(list []entry, want Perm, owner bool, uid int, ownGroup bool, gids []int) bool {
	limit := Perm(7)
	for _, e := range list {
		if e.tag == mask {
			limit = e.perm
		}
	}
	unseen := limit == 0
	grouped := false
	for _, e := range list { // in the order of the tags
		switch {
		case e.tag == userObj && owner:
			return e.perm&want == want
		case unseen && (e.tag == user || e.tag == group):
		case e.tag == user && int(e.id) == uid:
			return e.perm&limit&want == want
		case e.tag == groupObj && ownGroup, e.tag == group && slices.Contains(gids, int(e.id)):
			if e.perm&limit&want == want {
				return true
			}
			grouped = true
		case e.tag == other && !grouped:
			return e.perm&want == want
		}
	}
	return false
}
