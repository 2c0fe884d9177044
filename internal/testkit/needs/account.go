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

// As runs a function with only the file access rights of an account, and returns the function's error. The account has
// the user id uid, the group of the same number, and no other groups. Only root can call As. The function runs in a
// separate goroutine, because setfsuid(2) changes one thread; therefore the function must not end the test. Goroutines
// that the function starts have the rights of root.
func As(uid int, do func() error) error {
	asksMachine()
	err := errors.New("the function that ran with the rights of another account ended its goroutine instead of returning")
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

// become changes the rights to files of only the current thread. It uses raw system calls, because the functions of
// package syscall would change every thread.
func become(uid int) error {
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
		return os.NewSyscallError("setgroups", e)
	}
	_, _ = unix.SetfsgidRetGid(uid)
	_, _ = unix.SetfsuidRetUid(uid)
	// These calls return no error, only the previous id. With -1 they change nothing.
	gid, _ := unix.SetfsgidRetGid(-1)
	if now, _ := unix.SetfsuidRetUid(-1); now != uid || gid != uid {
		return fmt.Errorf("become uid %d: it is still uid %d, gid %d", uid, now, gid)
	}
	return nil
}

// Unprivileged runs a function with an ordinary account's rights to files, because root can read every file. If the
// test runs as root, the function has the rights of the account nobody, as with [As].
func Unprivileged(t testing.TB, do func()) {
	t.Helper()
	asksMachine()
	if os.Geteuid() != 0 {
		do()
		return
	}
	if err := As(nobody, func() error { do(); return nil }); err != nil {
		t.Fatalf("as nobody: %v", err)
	}
}

// PublicDir returns an empty folder that every account can enter and list; it is removed at
// the end of the test. Other accounts cannot reach the folder of t.TempDir.
func PublicDir(t testing.TB) string {
	t.Helper()
	asksMachine()
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
