package rights

import "golang.org/x/sys/unix"

// renameat2 exchanges two names in one step.
func renameat2(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
