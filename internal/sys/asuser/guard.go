package asuser

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"jjm/internal/sys/wary"
)

// A guard is a process between the daemon and a helper. It forwards messages. It drops every descriptor that is not a
// regular file or folder on a mount that the daemon named.
//
// A guard is a process, not a goroutine. The receiver of a descriptor must close it, and close(2) of a file on a FUSE
// file system waits for the FLUSH of that file system. Neither a signal nor the end of the process interrupts this
// wait. A guard that hangs there has no resources of the daemon: the daemon leaves the guard behind and counts it
// (maxUnended).

// guardWord is the argument that makes this program a guard. helperFD and daemonFD are its
// sockets.
const (
	guardWord = "as-user-guard"
	helperFD  = 3
	daemonFD  = 4
)

// guard is the state of a guard process.
type guard struct {
	helper, daemon int

	mu     sync.Mutex
	mounts map[int]bool // the mounts on which a passed file may be
}

// guardMain runs a guard: it forwards messages until the daemon or the helper has closed its socket. It returns the
// exit code of the process.
func guardMain() int {
	unix.CloseOnExec(helperFD)
	unix.CloseOnExec(daemonFD)
	g := &guard{helper: helperFD, daemon: daemonFD, mounts: map[int]bool{}}
	ended := make(chan struct{}, 2)
	for _, forward := range []func(buf, oob []byte) error{g.down, g.up} {
		go func() {
			defer func() { ended <- struct{}{} }()
			buf, oob := make([]byte, maxPacket+1), make([]byte, unix.CmsgSpace(4*maxFiles))
			for forward(buf, oob) == nil {
			}
		}()
	}
	<-ended
	return 0
}

// down forwards one message from the daemon to the helper. If the message asks the helper to open a file, down notes
// the mount on which the file must be.
func (g *guard) down(buf, oob []byte) error {
	n, fds, err := receivePacket(g.daemon, buf, oob)
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
	err = sendPacket(g.helper, buf[:n], fds)
	closeFDs(fds)
	return err
}

// up forwards one message from the helper to the daemon. If judge refuses a descriptor of the message, up sends an
// error reply instead.
func (g *guard) up(buf, oob []byte) error {
	n, fds, err := receivePacket(g.helper, buf, oob)
	if err != nil {
		closeFDs(fds)
		return err
	}
	text := buf[:n]
	for _, fd := range fds {
		if why := g.judge(fd); why != nil {
			var r reply
			_ = json.Unmarshal(text, &r) // if it is malformed, the reply has no ID and the daemon drops it
			if text, err = json.Marshal(reply{ID: r.ID,
				Err: failureOf(fmt.Errorf("the helper passed a file that is refused: %w", why))}); err != nil {
				return err
			}
			err = sendPacket(g.daemon, text, nil)
			closeFDs(fds) // may block forever
			return err
		}
	}
	err = sendPacket(g.daemon, text, fds)
	closeFDs(fds)
	return err
}

// judge returns an error for a descriptor whose use could block the daemon.
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
		return errors.New("it was opened with O_PATH")
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

// receivePacket receives one message and its descriptors. It returns the descriptors even with an error; the caller
// must close them.
func receivePacket(socket int, buf, oob []byte) (n int, fds []int, err error) {
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
		err = errors.New("the message is too long or empty")
	}
	return n, fds, err
}

// sendPacket sends one message. It waits while the receiver's buffer is full.
func sendPacket(socket int, text []byte, fds []int) error {
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

// isGuard reports whether this process was started as a guard.
func isGuard(args []string) bool { return len(args) == 2 && args[1] == guardWord && os.Geteuid() == 0 }
