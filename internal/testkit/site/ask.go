package site

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Ask sends one request line to the daemon's socket as an account. It returns the first line of the answer or, if all
// is set, all lines. The kernel, and therefore the daemon, treats the connection as made by a program of that account.
func (s *Site) Ask(p Person, line string, all bool) string {
	s.T.Helper()
	text, err := ask(p, filepath.Join(s.Dir, "s/jjm.sock"), line, all)
	if err != nil {
		s.T.Fatalf("%s asks %s: %v", p.Name, line, err)
	}
	return text
}

// Dial connects to a socket with the effective ids of an account. Only the current thread gets these ids
// (credentials(7)), and Dial resets them afterwards.
func (p Person) Dial(socket string) (net.Conn, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := effective(p.UID, p.GID); err != nil {
		return nil, err
	}
	conn, err := net.Dial("unix", socket)
	if back := effective(0, 0); back != nil {
		panic(back) // nothing may continue on this thread
	}
	return conn, err
}

// effective sets the effective ids of the current thread.
func effective(uid, gid int) error {
	const same = ^uintptr(0)
	set := func(call, id uintptr) error {
		if _, _, errno := unix.RawSyscall(call, same, id, same); errno != 0 {
			return os.NewSyscallError("set the effective id", errno)
		}
		return nil
	}
	if uid == 0 { // only root can set the group
		return errors.Join(set(unix.SYS_SETRESUID, 0), set(unix.SYS_SETRESGID, uintptr(gid)))
	}
	return errors.Join(set(unix.SYS_SETRESGID, uintptr(gid)), set(unix.SYS_SETRESUID, uintptr(uid)))
}

func ask(p Person, socket, line string, all bool) (string, error) {
	conn, err := p.Dial(socket)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, line); err != nil {
		return "", err
	}
	from := bufio.NewReader(conn)
	var text strings.Builder
	for {
		got, err := from.ReadString('\n')
		text.WriteString(got)
		if err != nil || !all || strings.Contains(got, `"last":true`) {
			return text.String(), err
		}
	}
}
