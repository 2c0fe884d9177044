package asuser

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jjm"
	"jjm/internal/needs"
	"jjm/run"
)

// quick finds a hanging helper soon.
var quick = Limits{Silence: 400 * time.Millisecond, Act: time.Second, Aside: 300 * time.Millisecond}

// until polls.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func TestHelper_StoppedHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	p := pool(t, quick)
	bad, good := p.For(somebody(t, "daemon")), p.For(somebody(t, "bin"))
	dir := needs.PublicDir(t)
	f, err := bad.Area(filepath.Join(dir, "daemon"))
	must(t, err)
	ours, err := good.Area(filepath.Join(dir, "bin"))
	must(t, err)
	for _, u := range []*User{bad, good} {
		_, err := sh(u, "true")
		must(t, err)
	}
	old := bad.pid()
	must(t, syscall.Kill(old, syscall.SIGSTOP))
	acts, runs := make(chan error, 1), make(chan error, 1)
	go func() { acts <- f.Mkdir("x", 0o700) }()
	go func() {
		_, err := run.Run(run.Through(context.Background(), bad), run.Cmd{Argv: []string{"/bin/true"}})
		runs <- err
	}()
	for i := range 20 { // meanwhile
		if _, err := sh(good, "true"); err != nil {
			t.Fatal(err)
		}
		must(t, ours.Mkdir("d"+string(rune('a'+i)), 0o700))
	}
	if err := <-acts; jjm.KindOf(err) != jjm.Busy {
		t.Errorf("an act on files: %v", err)
	}
	if err := <-runs; jjm.KindOf(err) != jjm.Ambiguous && jjm.KindOf(err) != jjm.Busy {
		t.Errorf("a command: %v", err)
	}
	if err := f.Mkdir("y", 0o700); jjm.KindOf(err) != jjm.Busy || !strings.Contains(err.Error(), "set aside") {
		t.Errorf("right after: %v", err)
	}
	until(t, "the account is served again", func() bool { _, err := sh(bad, "true"); return err == nil })
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

// lie is what a helper of a hostile account may do: the first word says how.
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
		case "lazy": // answers pings only
		case "flood":
			for range 10 {
				_ = send(conn, reply{ID: req.ID, Begun: true})
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
		default:
			if f := lure(strings.TrimPrefix(word, "liar-")); f != nil {
				_ = send(conn, reply{ID: req.ID}, f)
				f.Close()
			}
		}
	}
}

// lure opens what would hold up who reads it or writes to it.
func lure(what string) *os.File {
	switch what {
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
	for _, liar := range []string{"lazy", "flood", "garbage", "long", "error", "nofile", "pipe", "device", "proc", "memory"} {
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
	for _, text := range []string{`{"id":1}`, `{"id":1,"err":{"op":"open","path":"x","errno":2,"text":"no"}}`, `{"id":1,"info":{"name":"x","mode":420}}`, `{"id":1,"err":{"kind":"busy"}}`} {
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
