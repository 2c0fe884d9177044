// Package acl sets POSIX access control lists, so that only certain accounts may
// read a file of another account. It also evaluates the lists ([Allows]).
//
// It sets the extended attribute system.posix_acl_access of an open file (acl(5); the
// layout is that of linux/posix_acl_xattr.h), so setfacl(1) is not needed. On file systems
// without such lists, for example NFS version 4, it returns [ErrUnsupported] and the mode
// of the file stays as it was.
package acl

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Perm is the set of permissions of an account: the bits of one digit of a mode.
type Perm uint16

// The permissions.
const (
	Search Perm = 1 // permission to search a folder
	Write  Perm = 2
	Read   Perm = 4
)

// ErrUnsupported means that the file system has no access control lists.
var ErrUnsupported = errors.New("the file system keeps no access lists")

// The tags of entries, in the order that the kernel requires in a list.
const (
	userObj  = 0x01 // the file's owner
	user     = 0x02 // an account
	groupObj = 0x04 // the file's group
	group    = 0x08 // a group
	mask     = 0x10 // the largest permissions that user, groupObj and group entries can have
	other    = 0x20
)

// attribute is the name under which the kernel stores the list. version is the version of the list's layout. none is
// the id of entries without an account or group. maxList is the maximum size of a list in bytes.
const (
	attribute = "system.posix_acl_access"
	version   = 2
	none      = 0xffffffff
	maxList   = 64 << 10 // XATTR_SIZE_MAX of Linux, limits.h
)

// entry is one entry of a list.
type entry struct {
	tag  uint16
	perm Perm
	id   uint32
}

// Grant sets the permissions of accounts on an open file or folder to exactly perm, and changes nothing for other
// accounts. The caller must own the file or be root. Root and the owner of the file need no grant; a grant for the
// owner does no harm.
func Grant(f *os.File, perm Perm, uids ...int) error {
	if len(uids) == 0 {
		return nil
	}
	list, err := read(f)
	if err != nil {
		return fmt.Errorf("access list of %s: %w", f.Name(), err)
	}
	for _, uid := range uids {
		if uid < 0 || int64(uid) >= none {
			return fmt.Errorf("access list of %s: uid %d is not an account", f.Name(), uid)
		}
		list = grant(list, perm, uint32(uid))
	}
	if err := write(f, encode(list)); err != nil {
		return fmt.Errorf("access list of %s: %w", f.Name(), err)
	}
	return nil
}

// GrantOwn does the same as Grant for a file or folder of this process's account. It returns an error for any other
// file, even for root.
func GrantOwn(f *os.File, perm Perm, uids ...int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !info.Mode().IsRegular() && !info.IsDir():
		return fmt.Errorf("access list of %s: want a regular file or a folder", f.Name())
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("access list of %s: it belongs to uid %d: want a file of uid %d: %w",
			f.Name(), st.Uid, os.Geteuid(), fs.ErrPermission)
	}
	return Grant(f, perm, uids...)
}

// grant sets the entry of one account and extends the mask by its permissions.
func grant(list []entry, perm Perm, uid uint32) []entry {
	list = slices.DeleteFunc(slices.Clone(list), func(e entry) bool {
		return e.tag == mask || e.tag == user && e.id == uid
	})
	list = append(list, entry{user, perm, uid})
	widest := Perm(0)
	for _, e := range list {
		if e.tag == user || e.tag == groupObj || e.tag == group {
			widest |= e.perm
		}
	}
	list = append(list, entry{mask, widest, none})
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.id, b.id)) })
	return list
}

// read returns the list of a file. If the file has no list, read returns the list that is equivalent to its mode.
func read(f *os.File) ([]entry, error) {
	buf := make([]byte, maxList)
	n, err := control(f, func(fd int) (int, error) { return unix.Fgetxattr(fd, attribute, buf) })
	switch {
	case err == nil:
		return decode(buf[:n])
	case errors.Is(err, unix.EOPNOTSUPP):
		return nil, ErrUnsupported
	case !errors.Is(err, unix.ENODATA):
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return ofMode(info.Mode()), nil
}

// ofMode returns the list that is equivalent to a mode.
func ofMode(m fs.FileMode) []entry {
	bits := Perm(m.Perm())
	return []entry{{userObj, bits >> 6 & 7, none}, {groupObj, bits >> 3 & 7, none}, {other, bits & 7, none}}
}

func write(f *os.File, list []byte) error {
	_, err := control(f, func(fd int) (int, error) { return 0, unix.Fsetxattr(fd, attribute, list, 0) })
	if errors.Is(err, unix.EOPNOTSUPP) {
		return ErrUnsupported
	}
	return err
}

// control calls do with the descriptor. If a signal interrupts do, control calls do again.
func control(f *os.File, do func(fd int) (int, error)) (n int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var result error
	err = raw.Control(func(fd uintptr) {
		for {
			if n, result = do(int(fd)); !errors.Is(result, unix.EINTR) {
				return
			}
		}
	})
	return n, errors.Join(err, result)
}

// encode returns a list in the kernel's layout: a word with the version, and then for each
// entry its tag, permissions and id, all little-endian.
func encode(list []entry) []byte {
	b := binary.LittleEndian.AppendUint32(nil, version)
	for _, e := range list {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, uint16(e.perm))
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

// decode parses a list.
func decode(b []byte) ([]entry, error) {
	if len(b) < 4 || len(b)%8 != 4 {
		return nil, fmt.Errorf("an access list of %d bytes: want 4, and 8 for each entry", len(b))
	}
	if v := binary.LittleEndian.Uint32(b); v != version {
		return nil, fmt.Errorf("an access list of layout %d: want %d", v, version)
	}
	var list []entry
	for b = b[4:]; len(b) > 0; b = b[8:] {
		e := entry{binary.LittleEndian.Uint16(b), Perm(binary.LittleEndian.Uint16(b[2:])), binary.LittleEndian.Uint32(b[4:])}
		if e.perm > 7 {
			return nil, fmt.Errorf("an access list with permissions %#o: want at most 7", e.perm)
		}
		list = append(list, e)
	}
	return list, nil
}
