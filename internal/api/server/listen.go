package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// firstPassed is the number of the first file descriptor that systemd passes to a daemon (sd_listen_fds(3)).
const firstPassed = 3

// Listen opens the daemon's socket at path, with the mode and the group in cfg. It replaces an existing socket file
// only if no process accepts connections on it; if a process does, the error is of kind Conflict. The new file gets its
// name only when it has its mode and accepts connections. Closing the listener removes the file, unless another process
// has replaced it.
//
// If systemd activated the daemon, Listen uses the socket that systemd passed, and ignores path.
func Listen(path string, cfg Config) (net.Listener, error) {
	cfg = cfg.WithDefaults()
	if l, err := passed(os.Getenv, os.Getpid()); l != nil || err != nil {
		// Child processes must not take this socket for their own.
		_, _ = os.Unsetenv("LISTEN_FDS"), os.Unsetenv("LISTEN_PID")
		return l, err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	unlock, err := lockName(path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := vacant(path); err != nil {
		return nil, err
	}
	return bind(path, cfg)
}

// passed returns a listener on the socket that systemd passed to this process, nil without an error if it passed none.
// The error is of kind Invalid if it passed several sockets.
func passed(getenv func(string) string, pid int) (net.Listener, error) {
	if getenv("LISTEN_PID") != strconv.Itoa(pid) {
		return nil, nil
	}
	n, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil || n == 0 {
		return nil, nil
	}
	if n != 1 {
		return nil, jjm.Errorf(jjm.Invalid, "systemd passed %d sockets: want one ListenStream= in the .socket unit", n)
	}
	return listenOn(os.NewFile(firstPassed, "systemd socket"))
}

// listenOn makes a listener from the file of an open socket, and closes the file. The error is of kind Invalid if the
// socket is not a Unix socket.
func listenOn(f *os.File) (net.Listener, error) {
	defer func() { _ = f.Close() }()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("socket passed by systemd: %w", err)
	}
	if _, ok := l.(*net.UnixListener); !ok {
		_ = l.Close()
		return nil, jjm.Errorf(jjm.Invalid, "systemd passed a socket of %s: want ListenStream= with a path",
			l.Addr().Network())
	}
	return l, nil
}

// lockName locks the name of a socket, and returns the function that unlocks it. The lock prevents two daemons from
// examining and replacing the same socket at the same time. It is held only while a daemon opens the socket.
func lockName(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open socket: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return func() { _ = f.Close() }, nil
}

// vacant returns nil if path does not exist, or is a socket on which no process accepts connections. Otherwise the
// error is of kind Conflict.
func vacant(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open socket: %w", err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return jjm.Errorf(jjm.Conflict, "open socket: %s exists and is not a socket: "+
			"remove it, or name another with --socket", path)
	}
	address, done, err := wire.SocketAddress(path)
	if err != nil {
		return err
	}
	defer done()
	conn, err := net.DialTimeout("unix", address, 5*time.Second)
	switch {
	case err == nil:
		_ = conn.Close()
		return jjm.Errorf(jjm.Conflict, "open socket: another daemon answers at %s: stop it first", path)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return nil
	}
	return jjm.Errorf(jjm.Conflict, "open socket: cannot tell whether a daemon answers at %s: %w", path, err)
}

// bind opens a socket under a temporary name, and renames it to path when it is ready. So no client ever finds a socket
// that refuses connections or has the wrong mode.
func bind(path string, cfg Config) (net.Listener, error) {
	mode, err := cfg.fileMode()
	if err != nil {
		return nil, err
	}
	group, err := cfg.groupID()
	if err != nil {
		return nil, err
	}
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open socket: %w", err)
	}
	address, done, err := wire.SocketAddress(fresh)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("open socket %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false)
	info, err := publish(fresh, path, mode, group)
	if err != nil {
		_, _ = l.Close(), os.Remove(fresh)
		return nil, fmt.Errorf("open socket %s: %w", path, err)
	}
	return &listener{UnixListener: l, path: path, info: info}, nil
}

// publish sets the mode and the group of the socket file fresh, and renames it to path. A negative group leaves the
// group unchanged. publish returns the identity of the file, for os.SameFile.
func publish(fresh, path string, mode os.FileMode, group int) (os.FileInfo, error) {
	if err := os.Chmod(fresh, mode); err != nil {
		return nil, err
	}
	if group >= 0 {
		if err := os.Chown(fresh, -1, group); err != nil {
			return nil, err
		}
	}
	info, err := os.Lstat(fresh)
	if err != nil {
		return nil, err
	}
	return info, os.Rename(fresh, path)
}

// listener is the listener on a socket. When it is closed, it removes the socket file, unless path is now the name of
// another file.
type listener struct {
	*net.UnixListener
	path string
	info os.FileInfo
	once sync.Once
}

func (l *listener) Close() error {
	l.once.Do(func() {
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.info) {
			_ = os.Remove(l.path)
		}
	})
	return l.UnixListener.Close()
}
