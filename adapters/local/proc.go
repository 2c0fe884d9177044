package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm"
)

// lockSpool takes the spool for this process. A daemon that was killed while it
// started a process may leave the lock to that, which is root's or its own
// account's, for the moment until exec(2) closes it; so the lock of a dead process
// is waited for.
func lockSpool(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "open the spool's lock; make the spool writable: %w", err)
	}
	for patience := 50; ; patience-- {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		text, _ := readBounded(path, 64)
		holder, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		_, alive := readStat(holder)
		switch {
		case !errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, jjm.Errorf(jjm.Busy, "lock %s: %w", path, err)
		case alive == nil || patience == 0:
			f.Close()
			return nil, jjm.Errorf(jjm.Conflict,
				"lock %s: process %d uses this spool; stop it, or configure another state folder",
				path, holder)
		}
		time.Sleep(100 * time.Millisecond)
	}
	// The number is for the message above.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

// holdByte takes the open file description lock of one byte, shared, because
// the descriptor is read-only: see "Open file description locks" in fcntl(2).
func holdByte(f *os.File, at int64) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Start: at, Len: 1})
}

// byteHeld reports whether anybody holds the lock of a byte, or that it cannot
// be told. f is writable.
func byteHeld(f *os.File, at int64) bool {
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1}
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l)
	return err != nil || l.Type != unix.F_UNLCK
}

// bootID names this boot of the machine (random(4)); "" if it cannot be read.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	id := strings.TrimSpace(string(text))
	if err != nil || strings.ContainsAny(id, " \n") {
		return ""
	}
	return id
}

// sinceBoot is the clock in which the kernel gives the start of a process, in
// milliseconds.
func sinceBoot() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return t.Sec*1000 + t.Nsec/1e6
}

// stat is what jjm needs of /proc/PID/stat.
type stat struct {
	pid     int
	state   byte
	session int
	// startMS is in milliseconds since the boot, a multiple of 10: the kernel
	// gives clock ticks, of which Linux always has 100 a second here.
	startMS int64
}

// parseStat reads a line of /proc/PID/stat, proc_pid_stat(5). The second field
// is the command in parentheses, and may hold any byte.
func parseStat(text []byte) (stat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return stat{}, fmt.Errorf("stat %.60q: no command", text)
	}
	f := strings.Fields(string(text[end+1:]))
	if len(f) < 20 || len(f[0]) != 1 {
		return stat{}, fmt.Errorf("stat %.60q: %d fields after the command, want at least 20", text, len(f))
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(string(text[:open])))
	session, err2 := strconv.Atoi(f[3])
	ticks, err3 := strconv.ParseInt(f[19], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil || pid < 1 || ticks < 0 || ticks > 1<<50 {
		return stat{}, fmt.Errorf("stat %.60q: not numbers", text)
	}
	return stat{pid: pid, state: f[0][0], session: session, startMS: ticks * 10}, nil
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(text)
}

// is reports whether the process found under p's number is the one started.
func (p *proc) is(s stat) bool {
	const slack = 20 // ms: two ticks
	return s.session == s.pid && s.startMS >= p.born[0]-slack && s.startMS <= p.born[1]+slack
}

// processes lists all process ids.
func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// members finds the living processes of p's session. There are none if its
// number has come to name another session.
func (p *proc) members() []stat {
	if p.pid <= 1 {
		return nil
	}
	var found []stat
	for _, pid := range processes() {
		s, err := readStat(pid)
		switch {
		case err != nil || s.session != p.pid:
		case s.pid == p.pid && !p.is(s):
			return nil
		case s.state != 'Z' && s.state != 'X':
			found = append(found, s)
		}
	}
	return found
}

// holders finds the processes that hold the lock of a byte of the file at path.
// None of them is a child of ours on its way to its exec, which has a copy of
// all our descriptors for that moment: it may become a job of another cluster.
func holders(path string, at int64) []stat {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	want, err := f.Stat()
	if err != nil {
		return nil
	}
	mount := mountOf(readFdinfo(os.Getpid(), strconv.Itoa(int(f.Fd()))))
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var found []stat
	for _, pid := range processes() {
		if pid != os.Getpid() && holds(pid, want, mount, at) {
			if s, err := readStat(pid); err == nil {
				found = append(found, s)
			}
		}
	}
	return found
}

// holds reports whether a process holds the lock of a byte. What its descriptors
// lead to is asked only if it lies on the mount of the spool: anything else may be
// a lost file server's, or of a file system that an account serves, and the answer
// may never come.
func holds(pid int, want os.FileInfo, mount string, at int64) bool {
	base := "/proc/" + strconv.Itoa(pid)
	dir, err := os.Open(base + "/fd")
	if err != nil {
		return false
	}
	defer dir.Close()
	fds, _ := dir.Readdirnames(-1)
	for _, fd := range fds {
		link, err := os.Readlink(base + "/fd/" + fd)
		if err != nil || filepath.Base(link) != "locks" {
			continue
		}
		if locksByte(readFdinfo(pid, fd), at) && leadsTo(base+"/fd/"+fd, want, mount) {
			return true
		}
	}
	return false
}

// leadsTo reports whether a path of /proc leads to a file of a mount. O_PATH of
// open(2) asks no file system.
func leadsTo(path string, want os.FileInfo, mount string) bool {
	f, err := os.OpenFile(path, unix.O_PATH|os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if mountOf(readFdinfo(os.Getpid(), strconv.Itoa(int(f.Fd())))) != mount {
		return false
	}
	info, err := f.Stat()
	return err == nil && os.SameFile(info, want)
}

// readFdinfo is /proc/PID/fdinfo/FD, proc_pid_fdinfo(5); nothing if it cannot be
// read.
func readFdinfo(pid int, fd string) []byte {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/fdinfo/" + fd)
	return text
}

// mountOf is the number of the mount that a descriptor is of; "" if it is not told.
func mountOf(fdinfo []byte) string {
	for line := range strings.Lines(string(fdinfo)) {
		if id, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			return strings.TrimSpace(id)
		}
	}
	return ""
}

// locksByte reads /proc/PID/fdinfo/FD, proc_pid_fdinfo(5), for a lock on
// exactly one byte:
//
//	lock:	1: OFDLCK ADVISORY  READ -1 fd:01:131 5 5
func locksByte(fdinfo []byte, at int64) bool {
	number := strconv.FormatInt(at, 10)
	for line := range strings.Lines(string(fdinfo)) {
		rest, ok := strings.CutPrefix(line, "lock:")
		f := strings.Fields(rest)
		if ok && len(f) == 8 && f[1] == "OFDLCK" && f[6] == number && f[7] == number {
			return true
		}
	}
	return false
}

// killRest ends with KILL whatever lives of a job: its session, and those that
// left the session but hold its lock. It looks again until nothing is found, as
// what it kills may just be forking; not for ever, as a process that hangs in
// the kernel stays.
func (p *proc) killRest(held func() bool) {
	for range 20 {
		rest := p.members()
		if len(rest) == 0 && held() {
			rest = holders(filepath.Join(p.b.dir, "locks"), int64(p.pos))
		}
		if len(rest) == 0 {
			return
		}
		for _, s := range rest {
			_ = syscall.Kill(s.pid, syscall.SIGKILL)
		}
	}
}
