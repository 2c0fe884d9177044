package rights

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"jjm/internal/sys/acl"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

// mallory is the account that tries to read files of other accounts.
var mallory = Who{UID: 70002, GIDs: []int{70002, 70020}}

// house makes a folder with files of mallory and of other accounts, and returns its path.
func house(t *testing.T) string {
	t.Helper()
	needs.Root(t, "to make files of several accounts")
	dir := needs.PublicDir(t)
	for _, d := range []struct {
		name     string
		mode     os.FileMode
		uid, gid int
	}{
		{"hers/", 0o700, 70002, 70002}, {"hers/own", 0o600, 70002, 70002}, {"hers/dir/", 0o755, 70002, 70002},
		{"hers/dir/x", 0o644, 70002, 70002},
		{"hers/shut", 0o044, 70002, 70002},
		{"secret/", 0o700, 0, 0}, {"secret/x", 0o644, 0, 0}, {"secret/hers", 0o644, 70002, 70002},
		{"open/", 0o755, 0, 0}, {"open/secret", 0o600, 0, 0}, {"open/all", 0o644, 0, 0},
		{"open/group", 0o640, 0, 70020}, {"open/notgroup", 0o604, 0, 70020}, {"open/listed", 0o600, 0, 0},
		{"pass/", 0o711, 0, 0}, {"pass/all", 0o644, 0, 0},
	} {
		path := filepath.Join(dir, d.name)
		if strings.HasSuffix(d.name, "/") {
			must(t, os.Mkdir(path, d.mode))
		} else {
			must(t, os.WriteFile(path, []byte(d.name), d.mode))
		}
		must(t, os.Chmod(path, d.mode))
		must(t, os.Chown(path, d.uid, d.gid))
	}
	f, err := os.Open(filepath.Join(dir, "open/listed"))
	must(t, err)
	defer f.Close()
	must(t, acl.Grant(f, acl.Read, mallory.UID))
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpen_OpensOnlyWhatTheAccountCanRead(t *testing.T) {
	dir := house(t)
	for name, target := range map[string]string{
		"ok": "../open/all", "abs": dir + "/open/all", "out": "../secret/x", "passwd": "/etc/shadow",
		"loop": "loop", "todir": "dir", "far": "todir/../../open/all", "dangling": "nothing", "env": "/proc/self/environ",
	} {
		must(t, os.Symlink(target, filepath.Join(dir, "hers", name)))
	}
	must(t, os.Link(filepath.Join(dir, "open/secret"), filepath.Join(dir, "hers/hard")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "hers/fifo"), 0o666))
	must(t, syscall.Mknod(filepath.Join(dir, "hers/null"), syscall.S_IFCHR|0o666, 1<<8|3))
	l, err := net.Listen("unix", filepath.Join(dir, "hers/socket"))
	must(t, err)
	defer l.Close()
	long := strings.Repeat("./", 1500)
	for name, want := range map[string]string{ // "" means that mallory may read it; else part of the error
		"hers/own": "", "hers/dir/x": "", "hers/../open/all": "", "open/all": "", "pass/all": "", "open/group": "",
		"open/listed": "",
		"hers/ok":     "", "hers/abs": "", "hers/todir/x": "", "hers/far": "", long + "hers/own": "",
		"hers/shut": "denied", "secret/x": "denied", "secret/hers": "denied", "open/secret": "denied",
		"open/notgroup": "denied",
		"hers/out":      "denied", "hers/passwd": "denied", "hers/hard": "denied", "hers/../secret/x": "denied",
		"hers/env":  "denied",
		"hers/loop": "too many levels", "hers/dangling": "no such file", "hers/nothing": "no such file",
		"hers/own/x": "denied",
		"hers/fifo":  "not a regular", "hers/null": "not a regular", "hers/socket": "not a regular",
		"hers/dir": "is a directory", "hers/": "is a directory",
	} {
		f, err := Open(dir+"/"+name, mallory)
		switch {
		case want == "" && err != nil:
			t.Errorf("%.60s: %v", name, err)
		case want == "denied" && !errors.Is(err, fs.ErrPermission), want != "" && want != "denied" &&
			(err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if f != nil {
			f.Close()
		}
	}
	if _, err := Open("hers/own", mallory); err == nil {
		t.Error("a relative path passed")
	}
}

// Mallory exchanges files and folders while Open opens them. The opened file must never be a file that she cannot read.
func TestOpen_IsSafeWhileFilesAreExchanged(t *testing.T) {
	dir := house(t)
	must(t, os.Symlink("../secret", filepath.Join(dir, "hers/evildir")))
	must(t, os.Symlink("../open/secret", filepath.Join(dir, "hers/evil")))
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		swap := func(a, b string) {
			_ = renameat2(filepath.Join(dir, "hers", a), filepath.Join(dir, "hers", b))
		}
		for !stop.Load() {
			swap("own", "evil")
			swap("dir", "evildir")
		}
	}()
	read, refused := 0, 0
	for range 1500 {
		for _, name := range []string{"hers/own", "hers/dir/x"} {
			f, err := Open(filepath.Join(dir, name), mallory)
			if err != nil {
				refused++
				continue
			}
			b, err := io.ReadAll(f)
			f.Close()
			if got := string(b); err != nil || got != "hers/own" && got != "hers/dir/x" {
				t.Fatalf("%s gave %q, %v", name, got, err)
			}
			read++
		}
	}
	stop.Store(true)
	<-done
	if read == 0 || refused == 0 {
		t.Errorf("read %d, refused %d: the race did not take place", read, refused)
	}
}

func TestRegular_OpensOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o666))
	must(t, os.WriteFile(filepath.Join(dir, "x"), []byte("x"), 0o600))
	must(t, os.Symlink("x", filepath.Join(dir, "link")))
	for name, ok := range map[string]bool{"x": true, "link": true, "fifo": false, ".": false, "none": false,
		"/dev/null": false} {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		f, err := Regular(name)
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
		if f != nil {
			f.Close()
		}
	}
}

// On the path lies a file system of mallory that never answers. Open must not enter this file system, because it would
// hang.
func TestOpen_DoesNotEnterAFileSystemOfAnAccount(t *testing.T) {
	dir := house(t)
	theirs := needs.MountFUSE(t, filepath.Join(dir, "hers/dir"), mallory.UID)
	theirs.Freeze()
	opened := make(chan error, 1)
	go func() {
		_, err := Open(filepath.Join(dir, "hers/dir/file"), mallory)
		opened <- err
	}()
	select {
	case err := <-opened:
		if err == nil || !strings.Contains(err.Error(), "a file system of uid 70002") || theirs.Unanswered() != 0 {
			t.Errorf("%v; %d questions", err, theirs.Unanswered())
		}
	case <-time.After(await.Guard(time.Minute)):
		t.Error("it does not come back")
	}
}
