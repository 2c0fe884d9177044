package asuser

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"jjm/internal/wary"
)

// A guard is a process between the daemon and a helper: it hands messages on, and
// of the descriptors that a helper passes only those of regular files and folders
// on the mounts that the daemon named.
//
// A process of its own, because a descriptor that was received must be closed, and
// close(2) of a file on a FUSE file system waits for that file system's FLUSH in a
// way that no signal ends. So does the end of the process. A guard that hangs there
// holds nothing of the daemon's: it is left behind, and counted.

// guardWord is the argument by which a program knows that it is to be a guard;
// helperFD and daemonFD are its sockets.
const (
	guardWord = "as-user-guard"
	helperFD  = 3
	daemonFD  = 4
)

// guard is the state of that process.
type guard struct {
	helper, daemon int

	mu     sync.Mutex
	mounts map[int]bool // where what is passed may be
}

// guardMain is the guard, until either side is gone.
func guardMain() int {
	unix.CloseOnExec(helperFD)
	unix.CloseOnExec(daemonFD)
	g := &guard{helper: helperFD, daemon: daemonFD, mounts: map[int]bool{}}
	over := make(chan struct{}, 2)
	for _, hand := range []func(buf, oob []byte) error{g.down, g.up} {
		go func() {
			defer func() { over <- struct{}{} }()
			buf, oob := make([]byte, maxPacket+1), make([]byte, unix.CmsgSpace(4*maxFiles))
			for hand(buf, oob) == nil {
			}
		}()
	}
	<-over
	return 0
}

// down hands one message of the daemon's to the helper.
func (g *guard) down(buf, oob []byte) error {
	n, fds, err := take(g.daemon, buf, oob)
	if err != nil {
		return err
	}
	var req struct {
		Mount int `json:"mount"`
	}
	if json.Unmarshal(buf[:n], &req) == nil && req.Mount != 0 {
		g.mu.Lock()
		g.mounts[req.Mount] = true
		g.mu.Unlock()
	}
	err = hand(g.helper, buf[:n], fds)
	closeFDs(fds)
	return err
}

// up hands one message of the helper's to the daemon. With a descriptor that will
// not do, the message becomes an error.
func (g *guard) up(buf, oob []byte) error {
	n, fds, err := take(g.helper, buf, oob)
	if err != nil {
		closeFDs(fds)
		return err
	}
	text := buf[:n]
	for _, fd := range fds {
		if why := g.judge(fd); why != nil {
			var r reply
			_ = json.Unmarshal(text, &r) // of garbage the daemon hears as garbage
			if text, err = json.Marshal(reply{ID: r.ID,
				Err: failureOf(fmt.Errorf("it gave a file that is refused: %w", why))}); err != nil {
				return err
			}
			err = hand(g.daemon, text, nil)
			closeFDs(fds) // may never come back
			return err
		}
	}
	err = hand(g.daemon, text, fds)
	closeFDs(fds)
	return err
}

// judge refuses a descriptor that could hold up who has it.
func (g *guard) judge(fd int) error {
	m, err := wary.MountOf(fd)
	if err != nil {
		return err
	}
	g.mu.Lock()
	known := g.mounts[m.ID]
	g.mu.Unlock()
	switch {
	case !known:
		return errors.New("it lies on another file system than the work area")
	case m.Flags&unix.O_PATH != 0:
		return errors.New("it is a mere name (O_PATH)")
	}
	look, err := wary.At(fd)
	if err != nil {
		return err
	}
	if k := look.Kind(); k != unix.S_IFREG && k != unix.S_IFDIR {
		return errors.New("it is not a regular file")
	}
	return nil
}

// take receives one message and its descriptors. Those are given with an error,
// too.
func take(socket int, buf, oob []byte) (n int, fds []int, err error) {
	var oobn, flags int
	for {
		n, oobn, flags, _, err = unix.Recvmsg(socket, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return 0, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	for i := range messages {
		if got, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	switch {
	case err != nil:
	case n == 0 && len(fds) == 0:
		err = errors.New("the other side is gone")
	case n == 0 || flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
		err = errors.New("a message that is too long, or empty")
	}
	return n, fds, err
}

// hand sends one message; it waits while the other side takes none.
func hand(socket int, text []byte, fds []int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	for {
		_, err := unix.SendmsgN(socket, text, rights, nil, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// isGuard reports whether this process was started to be a guard.
func isGuard(args []string) bool { return len(args) == 2 && args[1] == guardWord && os.Geteuid() == 0 }
