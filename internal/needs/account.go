package needs

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// nobody is the account without rights on every Linux.
const nobody = 65534

// As runs do with an account's rights to files and no others, and gives its
// error: the user id, the group of the same number, no further groups. Only root
// can become another. It is a goroutine of its own that does it (setfsuid(2) is
// the thread's), so do may not end the test; and those that it starts are root's.
func As(uid int, do func() error) error {
	err := errors.New("what ran with the rights of another ended its goroutine instead of returning")
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if e := become(uid); e != nil {
			err = e
			return
		}
		err = do()
	}()
	<-done
	return err
}

// become changes the rights to files of this thread alone: the raw call does,
// where that of package syscall would change every thread.
func become(uid int) error {
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
		return os.NewSyscallError("setgroups", e)
	}
	_, _ = unix.SetfsgidRetGid(uid)
	_, _ = unix.SetfsuidRetUid(uid)
	// They tell no error, but who it was before; of -1 they make nothing.
	gid, _ := unix.SetfsgidRetGid(-1)
	if now, _ := unix.SetfsuidRetUid(-1); now != uid || gid != uid {
		return fmt.Errorf("become uid %d: it is still uid %d, gid %d", uid, now, gid)
	}
	return nil
}

// Unprivileged runs do with the rights that an ordinary account has to files: as
// root, with those of nobody, as [As] does, since nothing is unreadable to root.
func Unprivileged(t testing.TB, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	if err := As(nobody, func() error { do(); return nil }); err != nil {
		t.Fatalf("as nobody: %v", err)
	}
}

// PublicDir returns an empty folder that every account can enter and list, until
// the end of the test: where t.TempDir lies, others cannot go.
func PublicDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "jjm-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove %s: %v", dir, err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
