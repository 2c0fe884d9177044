package server

import (
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"jjm/internal/api/serve"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

// Listen creates the socket with the group that the setting group names.
func TestSettings_TheGroupOfTheSocket(t *testing.T) {
	needs.Root(t, "to give a file to another group")
	for _, name := range []string{"daemon", "bin"} {
		g, err := user.LookupGroup(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "s")
		l, err := Listen(path, Config{Mode: "0660", Group: name})
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if gid := strconv.Itoa(int(info.Sys().(*syscall.Stat_t).Gid)); gid != g.Gid {
			t.Errorf("group = %q: the socket is of %s, want %s", name, gid, g.Gid)
		}
		_ = l.Close()
	}
}

// One account can have as many connections as the setting per_user permits, and no more.
func TestSettings_ConnectionsOfOneAccount(t *testing.T) {
	for _, most := range []int{1, 3} {
		s := New(nil, Config{PerUser: most}, slog.New(slog.DiscardHandler))
		got := 0
		for s.connections.add(70001) == nil {
			got++
		}
		if got != most {
			t.Errorf("per_user = %d: %d connections", most, got)
		}
	}
}

// A request ends after the setting answer_time. When the daemon stops, running requests continue for the setting drain.
func TestSettings_TimesOfRequests(t *testing.T) {
	for _, d := range []time.Duration{time.Minute, time.Hour} {
		if got := answerTime(serve.Verb{}, Config{AnswerTime: jjm.Duration(d)}); got != d {
			t.Errorf("answer_time = %v: a verb has %v", d, got)
		}
		synctest.Test(t, func(t *testing.T) {
			s := New(nil, Config{Drain: jjm.Duration(d)}, slog.New(slog.DiscardHandler))
			began := time.Now()
			if s.waitFor(make(chan struct{})) || time.Since(began) != d {
				t.Errorf("drain = %v: waited %v", d, time.Since(began))
			}
		})
	}
}

// A write to a client that reads nothing fails after the setting write_time. Of two such writes, the write with the
// shorter time fails first.
func TestSettings_WriteTime(t *testing.T) {
	long := make([]byte, 16<<20)
	ends := make(chan string, 2)
	for name, d := range map[string]time.Duration{"short": 20 * time.Millisecond, "long": 20 * time.Second} {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		var conns [2]net.Conn
		for i, fd := range fds {
			f := os.NewFile(uintptr(fd), "pair")
			if conns[i], err = net.FileConn(f); err != nil {
				t.Fatal(err)
			}
			_ = f.Close()
			defer conns[i].Close()
		}
		s := New(nil, Config{WriteTime: jjm.Duration(d)}, slog.New(slog.DiscardHandler))
		c := &session{Server: s, conn: conns[0].(*net.UnixConn)}
		go func() { _, _ = c.Write(long); ends <- name }()
	}
	if first := <-ends; first != "short" {
		t.Errorf("the client with the longer write time was cut off first")
	}
}
