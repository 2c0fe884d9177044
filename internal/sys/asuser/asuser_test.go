package asuser

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/sys/tree"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/sandbox"
)

func TestMain(m *testing.M) {
	if IsHelper(os.Args) {
		os.Exit(Main(os.Args))
	}
	if len(os.Args) == 3 && strings.HasPrefix(os.Args[1], "liar-") {
		if become(os.Args) != nil {
			os.Exit(1)
		}
		lie(os.Args[1])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// pool returns a pool that ends with the test.
func pool(t *testing.T, limits Limits) *Pool {
	t.Helper()
	needs.Root(t, "to become somebody else")
	p := NewPool(limits, slog.New(slog.NewTextHandler(io.Discard, nil)))
	t.Cleanup(func() { p.Close() })
	return p
}

// somebody returns an account by its name, which must be a name that every system has.
func somebody(t *testing.T, name string) jjm.Owner {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return jjm.Owner{UID: uid, GID: gid, User: name}
}

func area(t *testing.T, u *User, dir string) *sandbox.Area {
	t.Helper()
	root := filepath.Join(dir, u.owner.User)
	f, err := u.Area(root)
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.NewArea(root, f)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pid returns the process id of the account's helper; 0 if there is none.
func (u *User) pid() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.current == nil {
		return 0
	}
	return u.current.proc.PID
}

// hang is the deadline of commands that end by themselves.
var hang = await.Guard(5 * time.Minute)

func sh(u *User, script string) (run.Output, error) {
	return run.Run(run.WithRunner(context.Background(), u),
		run.Cmd{Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin", "HOME=/root", "GIVEN=yes"},
			Deadline: hang})
}

func TestRun_IsTheAccountAndInheritsNothing(t *testing.T) {
	t.Setenv("JJM_SECRET", "geheim")
	syscall.Umask(0o022)
	p := pool(t, Limits{})
	owner := somebody(t, "daemon")
	u := p.For(owner)
	out, err := sh(
		u, `id -u; id -g; id -G; umask; pwd; cat; echo err >&2; env; grep -E "^(CapEff|CapPrm|CapInh)" /proc/self/status; ls /proc/self/fd; exit 3`)
	must(t, err)
	text := string(out.Stdout)
	if want := fmt.Sprintf("%d\n%d\n%d\n0022\n/\n", owner.UID, owner.GID, owner.GID); !strings.HasPrefix(text, want) {
		t.Errorf("who and where:\n%s\nwant\n%s", text, want)
	}
	for _, want := range []string{"HOME=/usr/sbin", "USER=daemon", "LOGNAME=daemon", "GIVEN=yes",
		"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "geheim") || strings.Contains(text, "/root") || strings.Contains(text, "\n4\n") {
		t.Errorf("something of the daemon's:\n%s", text)
	}
	if out.Exit != 3 || string(out.Stderr) != "err\n" || run.UID(run.WithRunner(t.Context(), u)) != owner.UID ||
		run.UID(t.Context()) != 0 {
		t.Errorf("exit %d, stderr %q", out.Exit, out.Stderr)
	}
}

func TestRun_KeepsThePromisesOfRun(t *testing.T) {
	t.Parallel()
	u := pool(t, Limits{}).For(somebody(t, "bin"))
	ctx := run.WithRunner(t.Context(), u)
	big := bytes.Repeat([]byte("x"), 3<<20)
	out, err := run.Run(ctx, run.Cmd{Argv: []string{"/bin/cat"}, Stdin: big, MaxOutput: 1 << 20, Deadline: hang})
	if err != nil || !out.Truncated || len(out.Stdout) != 1<<20 {
		t.Errorf("%d bytes, truncated %v, %v", len(out.Stdout), out.Truncated, err)
	}
	long := strings.Repeat("y", 100<<10)
	if out, err = run.Run(ctx, run.Cmd{Argv: []string{"/bin/echo", long, long}, Deadline: hang}); err != nil ||
		len(out.Stdout) != 2*len(long)+2 {
		t.Errorf("long arguments: %d bytes, %v", len(out.Stdout), err)
	}
	if out, err = sh(u, "kill -9 $$"); err != nil || out.Exit != 137 || out.Signal != 9 {
		t.Errorf("killed: %+v, %v", out, err)
	}
	if _, err = run.Run(ctx, run.Cmd{Argv: []string{"/no/such/command"}, Deadline: hang}); jjm.KindOf(err) != jjm.Busy ||
		!errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such command: %v", err)
	}
	if _, err = run.Run(ctx, run.Cmd{Argv: []string{"/bin/cat", "/etc/shadow"}, Deadline: hang}); err != nil {
		t.Error(err)
	}
	out, err = run.Run(ctx, run.Cmd{Argv: []string{"/bin/sh", "-c", "echo begun; sleep 600 & sleep 600"},
		Deadline: await.Provoked(time.Second)})
	if jjm.KindOf(err) != jjm.Ambiguous || !errors.Is(err, context.DeadlineExceeded) || string(out.Stdout) != "begun\n" {
		t.Errorf("deadline: %q, %v", out.Stdout, err)
	}
	soon, cancel := context.WithTimeout(ctx, await.Provoked(time.Second))
	defer cancel()
	_, err = run.Run(soon, run.Cmd{Argv: []string{"/bin/sleep", "600"}, Deadline: hang})
	if jjm.KindOf(err) != jjm.Ambiguous || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("its caller had no time: %v", err)
	}
	if _, err = run.Run(soon, run.Cmd{Argv: []string{"/bin/true"}, Deadline: hang}); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("too late: %v", err)
	}
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			if out, err := sh(u, "echo "+strconv.Itoa(i)); err != nil || string(out.Stdout) != strconv.Itoa(i)+"\n" {
				t.Errorf("%d: %q, %v", i, out.Stdout, err)
			}
		})
	}
	wg.Wait()
}

func TestRun_RefusesRootAndUnknownAccounts(t *testing.T) {
	t.Parallel()
	p := pool(t, Limits{})
	for _, o := range []jjm.Owner{{User: "root"}, {UID: 1<<31 - 7, GID: 5, User: "ghost"}} {
		if _, err := sh(p.For(o), "id"); err == nil {
			t.Errorf("%+v ran", o)
		}
		if _, err := p.For(o).Area(filepath.Join(needs.PublicDir(t), o.User)); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("%+v has an area: %v", o, err)
		}
	}
}

func TestArea_WorksThroughTheHelper(t *testing.T) {
	t.Parallel()
	owner := somebody(t, "daemon")
	u := pool(t, Limits{}).For(owner)
	dir := needs.PublicDir(t)
	a := area(t, u, dir)
	must(t, a.WriteJob(sandbox.Job{Grid: 17, Result: "exit"}))
	if j, err := a.ReadJob(17); err != nil || j.Grid != 17 {
		t.Fatal(j, err)
	}
	if _, err := a.ReadJob(18); jjm.KindOf(err) != jjm.Gone || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such job: %v", err)
	}
	pkg, _, err := a.Pack(t.Context(), []jjm.Input{{Path: "x", Executable: true}}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("#!/bin/sh\necho ran\n")), nil
	})
	must(t, err)
	if out, err := sh(u, filepath.Join(dir, "daemon/packages", pkg, "x")); err != nil || string(out.Stdout) != "ran\n" {
		t.Errorf("what was packed: %q %q, %v", out.Stdout, out.Stderr, err)
	}
	exe, err := os.Executable()
	must(t, err)
	bin, err := a.InstallWrapper(exe)
	must(t, err)
	if _, err := os.Lstat(filepath.Join(bin, sandbox.LogHelper)); err != nil {
		t.Error(err)
	}
	tag := jjm.Tag("jabcd123")
	must(t, a.WriteAssignment(tag, []sandbox.Assignment{{Grid: 17, Argv: []string{"x"}}}))
	c, won, err := a.Claim(tag, 0, jjm.Claim{Holder: "daemon", Nonce: "n"})
	if err != nil || !won || c.Nonce != "n" {
		t.Errorf("claim %+v %v %v", c, won, err)
	}
	if _, won, err = a.Claim(tag, 0, jjm.Claim{Holder: "wrapper", Nonce: "m"}); err != nil || won {
		t.Errorf("a second claim: %v %v", won, err)
	}
	filepath.WalkDir(filepath.Join(dir, "daemon"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		must(t, err)
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != owner.UID {
			t.Errorf("%s: %+v", path, st)
		}
		return nil
	})
	// An application left a folder in which not even the account may write.
	attempt := jjm.AttemptID{LocalID: jjm.LocalID{Grid: 17}}
	readOnly := filepath.Join(dir, "daemon", sandbox.AttemptDir(attempt), "work", "sub")
	must(t, os.MkdirAll(filepath.Join(readOnly, "deep"), 0o700))
	must(t, filepath.WalkDir(filepath.Join(dir, "daemon", "jobs"), func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, owner.UID, owner.GID))
	}))
	must(t, errors.Join(os.Chmod(filepath.Join(readOnly, "deep"), 0), os.Chmod(readOnly, 0o555)))
	must(t, a.RemoveGrid(t.Context(), 17))
	if _, err := os.Lstat(filepath.Join(dir, "daemon", "jobs", "17")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the grid job is there: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "daemon")); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
}

// The account can put links and special files into its area. Root then opens only regular files inside the area, and
// changes nothing outside it.
func TestFiles_NamesDoNotLeaveTheArea(t *testing.T) {
	t.Parallel()
	u := pool(t, Limits{}).For(somebody(t, "daemon"))
	dir := needs.PublicDir(t)
	f, err := u.Area(filepath.Join(dir, "a"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("geheim"), 0o600))
	if out, err := sh(u, "cd "+dir+
		"/a && echo own >own && ln -s ../secret out && ln -s /etc/shadow abs && ln -s own in && mkfifo fifo && mkdir d && ln -s /dev/shm shm && ln -s /proc/self/environ env"); err != nil || out.Exit != 0 {
		t.Fatalf("%s %v", out.Stderr, err)
	}
	for name, ok := range map[string]bool{"own": true, "in": true, "d": false, "out": false, "abs": false,
		"../secret": false, "/etc/passwd": false, "shm": false, "env": false, "fifo": false} {
		g, err := f.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
		if g != nil {
			g.Close()
		}
	}
	if err := f.RemoveAll("../secret"); err == nil {
		t.Error("removed what lies outside")
	}
	if err := f.Rename("own", "../secret"); err == nil {
		t.Error("renamed to the outside")
	}
	if b, err := os.ReadFile(filepath.Join(dir, "secret")); err != nil || string(b) != "geheim" {
		t.Error("the secret is", b, err)
	}
	if st, err := f.Lstat("in"); err != nil || st.Mode()&fs.ModeSymlink == 0 || st.Name() != "in" {
		t.Error(st, err)
	}
}

func TestArea_RefusesAFolderThatOthersCanReplace(t *testing.T) {
	t.Parallel()
	owner := somebody(t, "daemon")
	u := pool(t, Limits{}).For(owner)
	dir := needs.PublicDir(t)
	for _, d := range []struct {
		name string
		mode os.FileMode
		uid  int
	}{{"writable", 0o777, 0}, {"sticky", 0o777 | os.ModeSticky, 0}, {"theirs", 0o755, owner.UID}, {"fine", 0o755, 0}} {
		path := filepath.Join(dir, d.name)
		must(t, os.Mkdir(path, 0o755))
		must(t, os.Chmod(path, d.mode))
		must(t, os.Chown(path, d.uid, -1))
		_, err := u.Area(filepath.Join(path, "daemon"))
		if (err == nil) != (d.name == "fine") {
			t.Errorf("%s: %v", d.name, err)
		}
	}
	must(t, os.Symlink("fine", filepath.Join(dir, "link")))
	must(t, os.Mkdir(filepath.Join(dir, "fine/others"), 0o755))
	must(t, os.Chown(filepath.Join(dir, "fine/others"), 2, 2))
	must(t, os.Symlink("/etc", filepath.Join(dir, "fine/link")))
	for _, name := range []string{"link/daemon", "fine/others", "fine/link"} {
		if _, err := u.Area(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s passed", name)
		}
	}
	if _, err := u.Area(filepath.Join(dir, "fine/daemon")); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestOpen_ReadsTheWholeFileOrFails(t *testing.T) {
	t.Parallel()
	u := pool(t, Limits{}).For(somebody(t, "daemon"))
	dir := needs.PublicDir(t)
	big := bytes.Repeat([]byte("0123456789"), 300_000)
	must(t, os.WriteFile(filepath.Join(dir, "big"), big, 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "secret"), big, 0o600))
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o666))
	f, err := u.Open(filepath.Join(dir, "big"))
	must(t, err)
	got, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(got, big) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	f.Close()
	for name, want := range map[string]error{"secret": fs.ErrPermission, "nothing": fs.ErrNotExist, "fifo": nil,
		".": nil} {
		if _, err := u.Open(filepath.Join(dir, name)); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err = u.Open(filepath.Join(dir, "big"))
	must(t, err)
	defer f.Close()
	must(t, syscall.Kill(u.pid(), syscall.SIGKILL)) // the account itself may kill its helper
	if got, err := io.ReadAll(f); err == nil {
		t.Errorf("a content that broke off after %d bytes passed as a whole", len(got))
	} else if jjm.KindOf(err) != jjm.Busy {
		t.Errorf("kind of %v", err)
	}
}

// A site's HOME for a command takes precedence over the account's, so that files in the
// account's home do not configure the command.
func TestRun_TheSitesHomeOutranksTheAccounts(t *testing.T) {
	p := pool(t, Limits{})
	u := p.For(somebody(t, "daemon"))
	out, err := run.Run(run.WithRunner(context.Background(), u),
		run.Cmd{Argv: []string{"/bin/sh", "-c", "echo $HOME"}, Env: []string{"PATH=/bin", "HOME=/root"}, Home: "/site",
			Deadline: hang})
	if err != nil || string(out.Stdout) != "/site\n" {
		t.Errorf("HOME is %q, %v", out.Stdout, err)
	}
}

// hoard is a shell script that waits until its memory is capped, and then allocates 256 MiB.
const hoard = `while [ "$(ulimit -d)" = unlimited ]; do :; done; exec dd bs=256M count=1 if=/dev/zero of=/dev/null`

func TestRun_CapsOutputAndMemory(t *testing.T) {
	t.Parallel()
	u := pool(t, Limits{}).For(somebody(t, "bin"))
	ctx := run.WithRunner(t.Context(), u)
	for _, script := range []string{"while :; do echo 0123456789; done",
		"trap '' TERM PIPE; while :; do echo 0123456789; done 2>/dev/null"} {
		out, err := run.Run(ctx, run.Cmd{Argv: []string{"/bin/sh", "-c", script}, MaxOutput: 1 << 20, EndAtMax: true,
			Deadline: await.Guard(time.Minute)})
		if err != nil || !out.Truncated || len(out.Stdout) != 1<<20 {
			t.Errorf("%s: %d bytes, truncated %v, %v", script, len(out.Stdout), out.Truncated, err)
		}
	}
	out, err := run.Run(ctx, run.Cmd{Argv: []string{"/bin/sh", "-c", hoard},
		Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, MaxMemory: 64 << 20, Deadline: await.Guard(time.Minute)})
	if err != nil || out.Exit == 0 || !strings.Contains(string(out.Stderr), "memory") {
		t.Errorf("exit %d, error %v, it said %q", out.Exit, err, out.Stderr)
	}
}

// A folder is read with the account's rights, completely or not at all. A folder that is too large is refused before
// any of its files is read.
func TestOpenTree_ReadsWithTheAccountsRights(t *testing.T) {
	u := pool(t, Limits{}).For(somebody(t, "daemon"))
	dir := needs.PublicDir(t)
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "sub/data": 0o644} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	src, err := u.OpenTree(dir, tree.Most{Entries: 3, Bytes: 14})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(src); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	_, err = io.Copy(io.Discard, src)
	if err != nil || src.Size() != 14 || strings.Join(names, " ") != "run.sh sub sub/data" {
		t.Errorf("%v, %d bytes, %v", names, src.Size(), err)
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
	for what, most := range map[string]tree.Most{"max_input_files": {Entries: 2}, "max_input_bytes": {Bytes: 13}} {
		if _, err := u.OpenTree(dir, most); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := u.Open(dir); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder as a file: %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := u.OpenTree(dir, tree.Most{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a folder of root's: %v", err)
	}
}
