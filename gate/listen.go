package gate

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

	"jjm"
	"jjm/wire"
)

// firstPassed is the first descriptor that systemd passes (sd_listen_fds(3)).
const firstPassed = 3

// Listen opens the daemon's socket at path, with the mode and group of cfg. A
// socket file that is there already is replaced only if nobody answers behind
// it. The socket appears under its name complete: with its mode, and taking
// connections. Closing the listener removes the file, if it is still its own.
//
// If systemd activated the daemon, its socket is taken and path not touched.
func Listen(path string, cfg Config) (net.Listener, error) {
	cfg = cfg.WithDefaults()
	if l, err := passed(os.Getenv, os.Getpid()); l != nil || err != nil {
		// Children must not believe that the socket is theirs.
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

// passed takes the socket of systemd, if there is one for this process.
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

// listenOn makes a listener of an open descriptor, which it closes.
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

// lockName keeps other daemons from looking at path and replacing it at the
// same time. The lock lasts for the opening only.
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

// vacant reports an error unless path is free, or holds a socket behind which
// nobody answers.
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
	return jjm.Errorf(jjm.Conflict, "open socket: is anybody behind %s? %w", path, err)
}

// bind listens under a name of its own and then takes the real one by a
// rename, so that no client ever finds a socket that refuses it or has the
// wrong mode.
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
	info, err := show(fresh, path, mode, group)
	if err != nil {
		_, _ = l.Close(), os.Remove(fresh)
		return nil, fmt.Errorf("open socket %s: %w", path, err)
	}
	return &listener{UnixListener: l, path: path, info: info}, nil
}

// show gives a fresh socket its mode, its group unless that is negative, and its name;
// it returns what file it is.
func show(fresh, path string, mode os.FileMode, group int) (os.FileInfo, error) {
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

// listener removes its file when it is closed, unless the name has become
// another's.
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
