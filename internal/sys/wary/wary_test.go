package wary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"jjm/internal/testkit/needs"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The functions of this package must not call a file system that an account mounted. Here this file system is frozen,
// so the test would hang if a function called it.
func TestLooks_DoNotCallTheFileSystem(t *testing.T) {
	dir := needs.PublicDir(t)
	must(t, os.Mkdir(filepath.Join(dir, "theirs"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	must(t, os.Mkdir(filepath.Join(dir, "plain"), 0o755))
	folder := needs.MountFUSE(t, filepath.Join(dir, "theirs"), 1)
	on := needs.MountFUSE(t, filepath.Join(dir, "file"), 1)
	fd, err := unix.Open(filepath.Join(dir, "theirs/file"), unix.O_RDWR|unix.O_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { folder.End(); unix.Close(fd) })
	folder.Freeze()
	on.Freeze()
	m, err := MountOf(fd)
	must(t, err)
	if m.Flags&unix.O_ACCMODE != unix.O_RDWR {
		t.Errorf("flags %#o", m.Flags)
	}
	if err := CheckMount(m.ID); err == nil || !strings.Contains(err.Error(), "uid 1 ") {
		t.Errorf("its mount: %v", err)
	}
	if look, err := At(fd); err != nil || look.Kind() != unix.S_IFREG || look.UID != 1 {
		t.Errorf("%+v, %v", look, err)
	}
	for _, name := range []string{"theirs", "theirs/file", "file"} {
		if f, err := Open(dir, name, os.O_RDONLY); !errors.Is(err, ErrElsewhere) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	in, err := In(dir)
	must(t, err)
	defer in.Close()
	for _, name := range []string{"theirs", "file"} {
		if info, err := in.Lstat(name); !errors.Is(err, ErrElsewhere) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if err := in.RemoveAll(name); err == nil {
			t.Errorf("%s was removed", name)
		}
	}
	here, err := in.path("plain")
	must(t, err)
	defer here.Close()
	own, err := MountOf(int(here.Fd()))
	must(t, err)
	if err := CheckMount(own.ID); err != nil || own.ID == m.ID || own.Flags&unix.O_PATH == 0 {
		t.Errorf("%+v: %v", own, err)
	}
	if n := folder.Unanswered() + on.Unanswered(); n != 0 {
		t.Errorf("the file systems were asked %d times", n)
	}
}

func TestMountOf_RefusesWhatHasNoPath(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	must(t, err)
	defer unix.Close(ep)
	for _, fd := range []int{int(r.Fd()), ep, 1 << 20} {
		if m, err := MountOf(fd); err == nil {
			t.Errorf("%d: %+v", fd, m)
		}
	}
	if err := CheckMount(1 << 30); err == nil {
		t.Error("a mount that is none")
	}
}

func TestOpen_OpensRegularFilesAndFoldersOnly(t *testing.T) {
	dir := needs.PublicDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "a/b/f"), []byte("x"), 0o644))
	must(t, os.Symlink("b", filepath.Join(dir, "a/link")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "a/fifo"), 0o644))
	for _, c := range []struct {
		name string
		flag int
		ok   bool
	}{
		{"a/b/f", 0, true}, {"a/b", unix.O_DIRECTORY, true}, {"a/b", 0, false}, {"a/b/f", unix.O_DIRECTORY, false},
		{"a/link/f", 0, false}, {"a/link", 0, false}, {"a/fifo", 0, false}, {"a/fifo", unix.O_DIRECTORY, false},
		{"a/../a/b/f", 0, false}, {"", unix.O_DIRECTORY, false}, {"a/none", 0, false},
	} {
		f, err := Open(dir, c.name, c.flag)
		if (err == nil) != c.ok {
			t.Errorf("%s with %#x: %v", c.name, c.flag, err)
		}
		if f != nil {
			f.Close()
		}
	}
	if _, err := Open(dir, "a/none", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A process that holds a lease on a file (fcntl(2)) can make others wait that open the file. Open does not wait, but
// returns EWOULDBLOCK.
func TestOpen_DoesNotWaitForALease(t *testing.T) {
	dir := needs.PublicDir(t)
	path := filepath.Join(dir, "f")
	must(t, os.WriteFile(path, []byte("x"), 0o644))
	held, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer held.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := unix.FcntlInt(held.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		needs.Missing(t, "leases, and F_SETLEASE gives \""+err.Error()+"\"", "use a file system that has them")
	}
	if f, err := Open(dir, "f", os.O_RDONLY); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("%v, %v", f, err)
	}
	_, err = unix.FcntlInt(held.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	must(t, err)
}

func TestRemoveAll_RemovesAllAndFollowsNoLink(t *testing.T) {
	dir := needs.PublicDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "kept"), nil, 0o644))
	must(t, os.Symlink("../kept", filepath.Join(dir, "a/link")))
	must(t, os.Symlink("..", filepath.Join(dir, "a/b/up")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "a/fifo"), 0o644))
	for i := range 2500 {
		must(t, os.WriteFile(filepath.Join(dir, "a/b", strconv.Itoa(i)), nil, 0o644))
	}
	in, err := In(dir)
	must(t, err)
	defer in.Close()
	must(t, in.RemoveAll("a"))
	must(t, in.RemoveAll("a"))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "kept" {
		t.Errorf("left: %v, %v", left, err)
	}
	deep := filepath.Join(dir, "deep"+strings.Repeat("/d", maxDepth+5))
	must(t, os.MkdirAll(deep, 0o755))
	if err := in.RemoveAll("deep"); err == nil {
		t.Error("folders without end")
	}
}

func TestOfRoot(t *testing.T) {
	for line, ok := range map[string]bool{
		"36 35 98:0 / /w rw,noatime master:1 - ext4 /dev/root rw,errors=continue":         true,
		"36 35 0:50 / /w rw - fuse.sshfs host:/x rw,user_id=1000,group_id=1000":           false,
		"36 35 0:50 / /w rw - fuse x rw,user_id=1,group_id=0,allow_other":                 false,
		"36 35 0:50 / /w rw - fuse.glusterfs host:/v rw,user_id=0,group_id=0,allow_other": true,
		"36 35 0:50 / /w rw - fuseblk /dev/sdb1 rw,user_id=0,group_id=0":                  true,
		"36 35 0:50 / /w\\040-\\040x rw - nfs4 host:/ rw,vers=4.2":                        true,
		"36 35 0:50 / /proc/sys/fs rw - fusectl fusectl rw":                               true,
	} {
		if err := ofRoot(line); (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func FuzzParseInfo(f *testing.F) {
	f.Add("pos:\t0\nflags:\t02100000\nmnt_id:\t25\nino:\t7\n")
	f.Add("flags:\t9\nmnt_id:\t\n")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := parseInfo(text); err != nil && m != (Mount{}) {
			t.Errorf("%+v with %v", m, err)
		}
	})
}
