package server_test

import (
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"jjm/internal/api/server"
	"jjm/internal/jjm"
	"jjm/internal/testkit/servertest"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// socketDir makes a folder whose path is short enough for a socket.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jjm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestListen_SetsTheModeAndRemovesItsFile(t *testing.T) {
	for _, c := range []struct {
		mode string
		want os.FileMode
	}{{"0666", 0o666}, {"0660", 0o660}, {"600", 0o600}} {
		path := filepath.Join(socketDir(t), "s")
		l, err := server.Listen(path, server.Config{Mode: c.mode})
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != c.want || info.Mode().Type() != os.ModeSocket {
			t.Errorf("mode %q: file %v, error %v", c.mode, info.Mode(), err)
		}
		_ = l.Close()
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("the file is left")
		}
	}
}

func TestListen_ReplacesAStaleSocketOnly(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	_ = stale.Close()
	first, err := server.Listen(path, server.Config{})
	if err != nil {
		t.Fatalf("a stale socket was not replaced: %v", err)
	}
	defer func() { _ = first.Close() }()
	if _, err := server.Listen(path, server.Config{}); jjm.KindOf(err) != jjm.Conflict ||
		!strings.Contains(err.Error(), "another daemon answers") {
		t.Errorf("beside a living daemon: %v", err)
	}
	file := filepath.Join(socketDir(t), "f")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Listen(file, server.Config{}); jjm.KindOf(err) != jjm.Conflict {
		t.Errorf("over a file: %v", err)
	}
	if b, _ := os.ReadFile(file); string(b) != "precious" {
		t.Errorf("the file was harmed")
	}
}

func TestListen_OnlyOneOfManySucceeds(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	var mu sync.Mutex
	var won []net.Listener
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if l, err := server.Listen(path, server.Config{}); err == nil {
				mu.Lock()
				won = append(won, l)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Errorf("%d daemons hold one socket", len(won))
	}
	for _, l := range won {
		_ = l.Close()
	}
}

func TestListen_CloseLeavesASuccessorAlone(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	old, err := server.Listen(path, server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	next, err := server.Listen(path, server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = next.Close() }()
	_ = old.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the successor's socket is gone: %v", err)
	}
}

func TestListen_WorksUnderALongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := server.Listen(filepath.Join(dir, "jjm.sock"), server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if left, _ := filepath.Glob(filepath.Join(dir, "*.sock")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestListen_ErrorsNameTheCause(t *testing.T) {
	dir := socketDir(t)
	for _, c := range []struct {
		path, want string
		cfg        server.Config
	}{
		{filepath.Join(dir, "no/such/s"), "no such file", server.Config{}},
		{filepath.Join(dir, "s"), "want 0666, 0660 or 0600", server.Config{Mode: "0777"}},
		{filepath.Join(dir, "s"), "want the name of a group", server.Config{Group: "no-such-group-here"}},
	} {
		if _, err := server.Listen(c.path, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.path, err, c.want)
		}
	}
}

func TestConfig_CheckNamesEveryMistake(t *testing.T) {
	if ps := (server.Config{}).Check(); len(ps) != 0 {
		t.Errorf("the defaults: %v", ps)
	}
	ps := server.Config{Mode: "rw", Group: "no-such-group-here", Admins: []string{"no-such-user-here"}, Connections: -1,
		PerUser: -2, MemoryMB: -3}.Check()
	var fields []string
	for _, p := range ps {
		fields = append(fields, p.Field)
	}
	if got := strings.Join(fields, " "); got != "mode group admins connections per_user memory_mb" {
		t.Errorf("fields %q: %v", got, ps)
	}
}

// The test runs itself again as systemd starts a service: with a listening socket as file descriptor 3.
func TestListen_UsesTheSocketOfSystemd(t *testing.T) {
	if os.Getenv("JJM_TEST_ACTIVATED") != "" {
		serveActivated(t)
		return
	}
	path := filepath.Join(socketDir(t), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	// The shell sets LISTEN_PID to its own process id, and exec keeps this id for the test.
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" -test.run='^TestListen_UsesTheSocketOfSystemd$'`,
		os.Args[0])
	cmd.ExtraFiles = []*os.File{f}
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "JJM_TEST_ACTIVATED="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the file of systemd's socket was removed: %v", err)
	}
}

func serveActivated(t *testing.T) {
	l, err := server.Listen("/no/such/folder/s", server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("LISTEN_FDS") != "" {
		t.Error("children would inherit LISTEN_FDS")
	}
	over := make(chan error, 1)
	go func() { over <- server.New(servertest.New().Verbs(), server.Config{}, discard()).Serve(t.Context(), l) }()
	if a := ask(t, os.Getenv("JJM_TEST_ACTIVATED"), `{"verb":"ping"}`); !a.OK {
		t.Errorf("answer %+v", a)
	}
	_ = l.Close()
	<-over
}
