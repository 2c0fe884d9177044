package asuser

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
	"jjm/internal/sys/acl"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/sandbox"
)

// quick are limits that are so short that a hanging helper is detected soon. A busy machine can make any helper hang so
// long. So a test with these limits repeats what must succeed.
var quick = Limits{Silence: await.Provoked(time.Second), Act: await.Provoked(2 * time.Second),
	Aside: await.Provoked(300 * time.Millisecond)}

// until waits until ok returns true. what describes the awaited condition in the message of a failure.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	await.True(t, what, ok)
}

// The limits are so long that the daemon still waits for the stopped helper when the other account's work is done.
func TestHelper_StoppedHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	p := pool(t, Limits{Silence: hang, Act: hang, Aside: time.Millisecond})
	bad, good := p.For(somebody(t, "daemon")), p.For(somebody(t, "bin"))
	dir := needs.PublicDir(t)
	f, err := bad.Area(filepath.Join(dir, "daemon"))
	must(t, err)
	ours, err := good.Area(filepath.Join(dir, "bin"))
	must(t, err)
	_, err = sh(bad, "true")
	must(t, err)
	old := bad.pid()
	await.Freeze(t, old)
	acts := make(chan error, 1)
	go func() { acts <- f.Mkdir("x", 0o700) }()
	for i := range 20 {
		_, err := sh(good, "true")
		must(t, err)
		must(t, ours.Mkdir("d"+string(rune('a'+i)), 0o700))
	}
	select {
	case err := <-acts:
		t.Errorf("the act on files did not wait for the stopped helper: %v", err)
	default:
	}
	must(t, syscall.Kill(old, syscall.SIGKILL))
	if await.Receive(t, "the act on files ends", acts) == nil {
		t.Error("a killed helper made a folder")
	}
}

func TestHelper_StoppedIsReplaced(t *testing.T) {
	t.Parallel()
	p := pool(t, Limits{Silence: quick.Silence, Act: quick.Act, Aside: hang})
	bad := p.For(somebody(t, "daemon"))
	f, err := bad.Area(filepath.Join(needs.PublicDir(t), "daemon"))
	must(t, err)
	served := func() bool {
		bad.mu.Lock()
		bad.asideUntil = time.Time{} // as if the time had passed
		bad.mu.Unlock()
		_, err := sh(bad, "true")
		return err == nil
	}
	until(t, "the helper runs", served)
	old := bad.pid()
	await.Freeze(t, old)
	acts, runs := make(chan error, 1), make(chan error, 1)
	go func() { acts <- f.Mkdir("x", 0o700) }()
	go func() {
		_, err := run.Run(run.WithRunner(context.Background(), bad), run.Cmd{Argv: []string{"/bin/true"}, Deadline: hang})
		runs <- err
	}()
	if err := <-acts; jjm.KindOf(err) != jjm.Busy {
		t.Errorf("an act on files: %v", err)
	}
	if err := <-runs; jjm.KindOf(err) != jjm.Ambiguous && jjm.KindOf(err) != jjm.Busy {
		t.Errorf("a command: %v", err)
	}
	if err := f.Mkdir("y", 0o700); jjm.KindOf(err) != jjm.Busy || !strings.Contains(err.Error(), "set aside") {
		t.Errorf("right after: %v", err)
	}
	until(t, "the account is served again", served)
	if bad.pid() == old || syscall.Kill(old, 0) == nil {
		t.Error("the stopped helper lives on")
	}
}

func TestHelper_KilledIsReplacedAndItsCommandsEnd(t *testing.T) {
	t.Parallel()
	p := pool(t, Limits{})
	u := p.For(somebody(t, "daemon"))
	dir := needs.PublicDir(t)
	must(t, os.Chmod(dir, 0o777))
	ended := make(chan error, 1)
	go func() {
		_, err := sh(u, "echo $$ >"+dir+"/pid.new && mv "+dir+"/pid.new "+dir+"/pid && exec sleep 600")
		ended <- err
	}()
	var pid int
	until(t, "the command runs", func() bool {
		b, err := os.ReadFile(filepath.Join(dir, "pid"))
		return err == nil && json.Unmarshal(b, &pid) == nil
	})
	must(t, syscall.Kill(u.pid(), syscall.SIGKILL))
	if err := <-ended; jjm.KindOf(err) != jjm.Ambiguous {
		t.Errorf("its command: %v", err)
	}
	until(t, "the command ends", func() bool { return syscall.Kill(pid, 0) != nil })
	until(t, "the helper is replaced", func() bool { _, err := sh(u, "true"); return err == nil })
}

func TestHelper_EndsWhenIdleOldAndWithTheDaemon(t *testing.T) {
	t.Parallel()
	p := pool(t, Limits{Idle: 200 * time.Millisecond})
	u := p.For(somebody(t, "daemon"))
	_, err := sh(u, "true")
	must(t, err)
	first := u.pid()
	until(t, "the idle helper ends", func() bool { return syscall.Kill(first, 0) != nil })
	aged := pool(t, Limits{Life: 50 * time.Millisecond, Idle: time.Minute})
	v := aged.For(somebody(t, "bin"))
	slow := make(chan error, 1)
	_, err = sh(v, "true")
	must(t, err)
	first = v.pid()
	go func() { _, err := sh(v, "sleep 0.3"); slow <- err }()
	until(t, "it is replaced", func() bool { _, err := sh(v, "true"); return err == nil && v.pid() != first })
	if err := <-slow; err != nil {
		t.Errorf("what the old one did: %v", err)
	}
	_, err = sh(v, "true")
	must(t, err)
	last := v.pid()
	must(t, aged.Close())
	until(t, "the last helper ends", func() bool { return syscall.Kill(last, 0) != nil })
	if _, err := sh(v, "true"); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("after the end: %v", err)
	}
}

// lie runs a helper that misbehaves in the way that word names.
func lie(word string) {
	c, err := net.FileConn(os.NewFile(socketFD, "daemon"))
	if err != nil {
		return
	}
	conn := c.(*net.UnixConn)
	buf := make([]byte, maxPacket+1)
	for {
		var req request
		files, err := receive(conn, buf, &req)
		if err != nil {
			return
		}
		closeAll(files)
		if req.Op == "ping" {
			_ = send(conn, reply{ID: req.ID})
			continue
		}
		switch strings.TrimPrefix(word, "liar-") {
		case "lazy": // answers only pings
		case "flood":
			for range 10 {
				_ = send(conn, reply{ID: req.ID, Started: true})
			}
		case "garbage":
			_, _ = conn.Write([]byte(`{"id":"x"`))
		case "long":
			_ = conn.SetWriteBuffer(1 << 20)
			_, _ = conn.Write([]byte(`{"id":1,"err":{"text":"` + strings.Repeat("x", 60<<10) + `"}}`))
		case "error":
			_ = send(conn, reply{ID: req.ID, Err: &failure{Errno: 1 << 30, Text: strings.Repeat("x", 5000)}})
		case "nofile":
			_ = send(conn, reply{ID: req.ID})
		case "unasked": // a reply to no request, with files, and then the reply
			for range 3 {
				_ = send(conn, reply{ID: req.ID + 1000}, unasked()...)
			}
			_ = send(conn, reply{ID: req.ID})
		default:
			if f := lure(strings.TrimPrefix(word, "liar-")); f != nil {
				_ = send(conn, reply{ID: req.ID}, f)
				f.Close()
			}
		}
	}
}

// unasked opens files of kinds that the daemon never requests from a helper.
func unasked() []*os.File {
	var all []*os.File
	for _, what := range []string{"pipe", "device", "memory"} {
		if f := lure(what); f != nil {
			all = append(all, f)
		}
	}
	return all
}

// lure opens a file that the daemon must not accept from a helper. what is the kind of the file. For the kinds at, read
// and name, the path follows: "name:/x".
func lure(what string) *os.File {
	what, path, _ := strings.Cut(what, ":")
	open := func(flag int) *os.File {
		fd, err := unix.Open(path, flag|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil
		}
		return os.NewFile(uintptr(fd), path)
	}
	switch what {
	case "at":
		return open(unix.O_RDWR)
	case "read":
		return open(unix.O_RDONLY)
	case "name":
		return open(unix.O_PATH)
	case "pipe":
		r, _, _ := os.Pipe()
		return r
	case "device":
		f, _ := os.OpenFile("/dev/zero", os.O_RDWR, 0)
		return f
	case "proc":
		f, _ := os.Open("/proc/self/status")
		return f
	case "memory":
		fd, err := unix.MemfdCreate("x", 0)
		if err != nil {
			return nil
		}
		return os.NewFile(uintptr(fd), "x")
	}
	return nil
}

func TestHelper_ALiarGetsNothingAndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	dir := needs.PublicDir(t)
	for _, liar := range []string{"lazy", "flood", "garbage", "long", "error", "nofile", "pipe", "device", "proc",
		"memory", "unasked"} {
		t.Run(liar, func(t *testing.T) {
			t.Parallel()
			p := pool(t, quick)
			p.word = "liar-" + liar
			u := p.For(somebody(t, "daemon"))
			f, err := u.Area(filepath.Join(dir, liar))
			must(t, err)
			if g, err := f.OpenFile("x", os.O_RDWR|os.O_CREATE, 0o600); err == nil {
				g.Close()
				t.Error("a file was opened")
			} else if len(err.Error()) > 2000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if _, err := f.Stat("x"); err == nil {
				t.Error("an answer about a file")
			}
			until(t, "an input is refused", func() bool {
				g, err := u.Open("/etc/passwd")
				if err == nil {
					g.Close()
				}
				return err != nil
			})
		})
	}
}

func FuzzReply(f *testing.F) {
	for _, text := range []string{`{"id":1}`, `{"id":1,"err":{"op":"open","path":"x","errno":2,"text":"no"}}`,
		`{"id":1,"info":{"name":"x","mode":420}}`, `{"id":1,"err":{"kind":"busy"}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r reply
		if json.Unmarshal(b, &r) != nil {
			return
		}
		if err := r.Err.err(); err != nil {
			if again := failureOf(err).err(); again == nil || jjm.KindOf(again) != jjm.KindOf(err) {
				t.Errorf("%v became %v", err, again)
			}
		}
	})
}

// pass opens a file through a helper that misbehaves, and returns the error.
func pass(t *testing.T, f *Files, flag int) error {
	t.Helper()
	opened := make(chan error, 1)
	go func() {
		g, err := f.OpenFile("x", flag, 0o600)
		if err == nil {
			g.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		return err
	case <-time.After(await.Guard(time.Minute)):
		return errors.New("it does not come back")
	}
}

// Instead of the requested file, a manipulated helper may pass any descriptor: O_PATH, a folder, another account's
// file, or a file opened with other flags. The daemon accepts a descriptor only if it is of the requested kind, has the
// requested flags, and is of the account's own file.
func TestHelper_PassesOnlyWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	needs.Root(t, "to give a file to another account")
	owner := somebody(t, "daemon")
	dir := needs.PublicDir(t)
	must(t, os.Mkdir(filepath.Join(dir, "their"), 0o755))
	for name, uid := range map[string]int{"own": owner.UID, "roots": 0} {
		path := filepath.Join(dir, "their", name)
		must(t, errors.Join(os.WriteFile(path, nil, 0o644), os.Chown(path, uid, -1)))
	}
	must(t, os.Chown(filepath.Join(dir, "their"), owner.UID, -1))
	for _, c := range []struct {
		what, path string
		flag       int
		want       string
	}{
		{"at", "own", os.O_RDWR | os.O_CREATE, ""},
		{"read", "own", os.O_RDONLY, ""},
		{"read", "", os.O_RDONLY | syscall.O_DIRECTORY, ""},
		{"name", "own", os.O_RDONLY, "O_PATH"},
		{"read", "", os.O_RDONLY, "not a regular file"},
		{"read", "own", os.O_RDONLY | syscall.O_DIRECTORY, "no folder"},
		{"read", "own", os.O_RDWR, "opened with flags"},
		{"at", "own", os.O_RDONLY, "opened with flags"},
		{"read", "roots", os.O_RDONLY, "belongs to uid 0"},
	} {
		p := pool(t, Limits{Silence: await.Guard(time.Minute), Act: await.Guard(time.Minute), Aside: time.Millisecond})
		p.word = "liar-" + c.what + ":" + filepath.Join(dir, "their", c.path)
		f, err := p.For(owner).Area(filepath.Join(dir, "area"))
		must(t, err)
		err = pass(t, f, c.flag)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %q with flags %#x: %v, want %q", c.what, c.path, c.flag, err, c.want)
		}
		must(t, p.Close())
	}
}

// The helper passes a file on a file system of the account that answers neither FSTAT nor FLUSH, so that fstat(2) and
// close(2) of the file block, close(2) forever. The daemon returns an error, and neither its own threads nor other
// accounts are blocked.
func TestHelper_PassesNoFileThatBlocks(t *testing.T) {
	t.Parallel()
	owner := somebody(t, "daemon")
	dir := needs.PublicDir(t)
	must(t, os.Mkdir(filepath.Join(dir, "fuse"), 0o755))
	theirs := needs.MountFUSE(t, filepath.Join(dir, "fuse"), owner.UID)
	p := pool(t, Limits{Silence: await.Provoked(400 * time.Millisecond), Act: await.Provoked(500 * time.Millisecond),
		Aside: time.Millisecond})
	p.word = "liar-at:" + filepath.Join(dir, "fuse/file")
	u, good := p.For(owner), p.For(somebody(t, "bin"))
	// Each guard that hangs costs the time limits above, so all but two of the largest number count as hanging already.
	const before = maxUnended - 2
	u.unended.Add(before)
	f, err := u.Area(filepath.Join(dir, "area"))
	must(t, err)
	until(t, "guards hang, and no more is accepted", func() bool {
		err := pass(t, f, os.O_RDWR|os.O_CREATE)
		if err == nil || strings.Contains(err.Error(), "does not come back") {
			t.Fatalf("a file that blocks: %v", err)
		}
		return strings.Contains(err.Error(), "end the file systems")
	})
	if n := threads(t, "fuse_flush"); n != 0 {
		t.Errorf("%d threads of this process wait for the file system", n)
	}
	p.word = word
	until(t, "the other account is served", func() bool { _, err := sh(good, "true"); return err == nil })
	ended := make(chan error, 1)
	go func() { ended <- p.Close() }()
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(await.Guard(time.Minute)):
		t.Fatal("the pool does not end")
	}
	theirs.End()
	until(t, "the guards end", func() bool { return u.unended.Load() == before })
}

// threads counts the threads of this process that wait in the kernel function in.
func threads(t *testing.T, in string) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/task/*/wchan")
	must(t, err)
	for _, name := range all {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), in) {
			n++
		}
	}
	return n
}

// The helper passes a file of root, which the account can read, instead of the file in the area. The file of root gets
// no access list.
func TestShare_LeavesFilesOfRootAlone(t *testing.T) {
	t.Parallel()
	owner := somebody(t, "daemon")
	dir := needs.PublicDir(t)
	roots := filepath.Join(dir, "passwd")
	must(t, os.WriteFile(roots, []byte("x"), 0o644))
	p := pool(t, quick)
	p.word = "liar-read:" + roots
	f, err := p.For(owner).Area(filepath.Join(dir, "area"))
	must(t, err)
	if err := sandbox.NewArea(filepath.Join(dir, "area"), f).Share("x", 4242); err == nil {
		t.Error("a file of root's is shared")
	}
	if n, err := unix.Getxattr(roots, "system.posix_acl_access", make([]byte, 1000)); err == nil {
		t.Errorf("the account got root to set an access list of %d bytes", n)
	}
	honest := pool(t, Limits{})
	a := area(t, honest.For(somebody(t, "bin")), dir)
	must(t, a.WriteJob(sandbox.Job{Grid: 17, Result: "exit"}))
	if err := a.Share("jobs/17/job.json", 4242); errors.Is(err, acl.ErrUnsupported) {
		needs.Missing(t, "access lists, which "+dir+" does not keep", "use a file system with POSIX access lists")
	} else if err != nil {
		t.Fatal(err)
	}
	read := func(uid int) error {
		return needs.As(uid, func() error { _, err := os.ReadFile(a.Root() + "/jobs/17/job.json"); return err })
	}
	if err := read(4242); err != nil {
		t.Errorf("who was let in: %v", err)
	}
	if err := read(4243); !errors.Is(err, os.ErrPermission) {
		t.Errorf("who was not: %v", err)
	}
}
