package rights

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Holders are the accounts that may change a file. The zero value permits only root.
type Holders struct {
	// UIDs are the accounts. Root is always permitted.
	UIDs []int
	// Group is a group whose members may write too; 0 means none.
	Group int
	// NoLinks makes symbolic links an error; otherwise they are followed.
	NoLinks bool
	// Instead describes, for the error, how the owner of a folder could do harm: "put something else in its place".
	Instead string
}

// Held returns an error unless only the holders can change or replace the file or folder at an absolute path. The file,
// every folder above it, and the targets of symbolic links must belong to the holders, and no other account may write
// them. A folder with the sticky bit may be above the path, because other accounts can replace only their own files
// there. The error names the file or folder, its owner and mode, and the remedy. It wraps fs.ErrNotExist if there is no
// such file.
func Held(path string, by Holders) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q: want an absolute path", path)
	}
	left := strings.Split(filepath.Clean(path), "/")[1:]
	left = slices.DeleteFunc(left, func(name string) bool { return name == "" })
	at := "/"
	top, err := os.Lstat(at)
	if err == nil {
		err = by.holds(at, top, len(left) == 0)
	}
	if err != nil {
		return err
	}
	shared := false // others can write the current folder, and it has the sticky bit
	for links := 0; len(left) > 0; {
		name := left[0]
		left = left[1:]
		next := filepath.Join(at, name) // ".." of a link leads to a folder that was checked
		info, err := os.Lstat(next)
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if len(left) > 0 && !info.IsDir() {
				return fmt.Errorf("%s is no folder", next)
			}
			if err := by.holds(next, info, len(left) == 0); err != nil {
				return err
			}
			at, shared = next, by.writable(info)
			continue
		}
		if links++; links > maxLinks {
			return fmt.Errorf("%s: too many symbolic links", path)
		}
		if by.NoLinks {
			return fmt.Errorf("%s is no folder: give the path without symbolic links", next)
		}
		if uid := uidOf(info); shared && !by.has(uid) {
			return fmt.Errorf("the link %s belongs to uid %d, who could %s: chown -h %d %s", next, uid, by.instead(),
				by.first(), next)
		}
		to, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if filepath.IsAbs(to) {
			at, shared = "/", false
		}
		left = append(slices.DeleteFunc(strings.Split(to, "/"), func(n string) bool { return n == "" || n == "." }), left...)
	}
	return nil
}

// holds returns an error if another account than the holders can change a file, or the content of a folder. last is set
// at the end of the path, where the sticky bit does not help: others could add names to the folder.
func (by Holders) holds(path string, info fs.FileInfo, last bool) error {
	what := "the file"
	if info.IsDir() {
		what = "the folder"
	}
	uid, mode := uidOf(info), info.Mode()
	switch {
	case !by.has(uid):
		return fmt.Errorf("%s %s belongs to uid %d (mode %v), who could %s: chown %d %s", what, path, uid, mode,
			by.instead(), by.first(), path)
	case by.writable(info) && (last || mode&fs.ModeSticky == 0):
		return fmt.Errorf("others than its owner may write it: %s %s (uid %d, mode %v); they could %s: chmod go-w %s",
			what, path, uid, mode, by.instead(), path)
	}
	return nil
}

// writable reports whether another account than the holders can write a file or folder.
func (by Holders) writable(info fs.FileInfo) bool {
	bits := info.Mode().Perm() & 0o022
	if st, ok := info.Sys().(*syscall.Stat_t); ok && by.Group != 0 && int(st.Gid) == by.Group {
		bits &^= 0o020
	}
	return bits != 0
}

func (by Holders) has(uid int) bool { return uid == 0 || slices.Contains(by.UIDs, uid) }

// first returns the account that the remedy names as the new owner of a file.
func (by Holders) first() int {
	if len(by.UIDs) == 0 {
		return 0
	}
	return by.UIDs[0]
}

func (by Holders) instead() string {
	if by.Instead == "" {
		return "put something else in its place"
	}
	return by.Instead
}

func uidOf(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
