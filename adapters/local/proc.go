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

	"jjm/internal/jjm"
)

// lockSpool locks the spool for this process. If a daemon is killed while it starts a process, that process holds a
// copy of the lock for a moment, until its exec(2) closes the descriptor. lockSpool therefore waits if the owner of the
// lock is dead. It returns an error of kind Conflict if the owner is alive.
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
	// The process id in the file is only for the error above.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

// holdByte takes an open file description lock on one byte. The lock is shared, because a read-only descriptor cannot
// have an exclusive lock (fcntl(2), "Open file description locks").
func holdByte(f *os.File, at int64) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Start: at, Len: 1})
}

// byteHeld reports whether a process holds the lock on a byte. It returns true if the lock cannot be checked. f must be
// writable.
func byteHeld(f *os.File, at int64) bool {
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1}
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l)
	return err != nil || l.Type != unix.F_UNLCK
}

// bootID returns the id of this boot of the machine (random(4)); "" if it cannot be read.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	id := strings.TrimSpace(string(text))
	if err != nil || strings.ContainsAny(id, " \n") {
		return ""
	}
	return id
}

// sinceBoot returns the time since the boot in milliseconds, according to the kernel's clock for process starts.
func sinceBoot() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return t.Sec*1000 + t.Nsec/1e6
}

// stat holds the fields of /proc/PID/stat that jjm needs.
type stat struct {
	pid     int
	state   byte
	session int
	// startMS is the start time in milliseconds since the boot. It is a multiple of 10: the kernel counts clock ticks,
	// which in this file are always 1/100 s on Linux.
	startMS int64
}

// parseStat parses the content of /proc/PID/stat (proc_pid_stat(5)). The second field is the command in parentheses,
// which may contain any byte.
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

// matches reports whether s is the process that was started for p.
func (p *proc) matches(s stat) bool {
	const slack = 20 // milliseconds: two clock ticks
	return s.session == s.pid && s.startMS >= p.born[0]-slack && s.startMS <= p.born[1]+slack
}

// processes returns all process ids.
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

// members returns the living processes of p's session. It returns none if the session's number now belongs to another
// session.
func (p *proc) members() []stat {
	if p.pid <= 1 {
		return nil
	}
	var found []stat
	for _, pid := range processes() {
		s, err := readStat(pid)
		switch {
		case err != nil || s.session != p.pid:
		case s.pid == p.pid && !p.matches(s):
			return nil
		case s.state != 'Z' && s.state != 'X':
			found = append(found, s)
		}
	}
	return found
}

// holders returns the processes that hold the lock on a byte of the file at path. It blocks forks during the search:
// between fork and exec, a child of this daemon has copies of all descriptors and would look like a holder, although it
// may become a job of another cluster.
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

// holds reports whether a process holds the lock on a byte. It examines only descriptors whose file is on the mount of
// the spool. Any other file may be on an unreachable file server, or on a file system that an account serves, which may
// never respond.
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

// leadsTo reports whether a path of /proc leads to the file want on a mount. It opens the path with O_PATH (open(2)),
// which sends no request to the file system.
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

// readFdinfo returns the content of /proc/PID/fdinfo/FD (proc_pid_fdinfo(5)); nil if it cannot be read.
func readFdinfo(pid int, fd string) []byte {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/fdinfo/" + fd)
	return text
}

// mountOf returns the id of the mount on which a descriptor's file is; "" if fdinfo does not contain the id.
func mountOf(fdinfo []byte) string {
	for line := range strings.Lines(string(fdinfo)) {
		if id, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			return strings.TrimSpace(id)
		}
	}
	return ""
}

// locksByte reports whether the content of /proc/PID/fdinfo/FD (proc_pid_fdinfo(5)) contains a lock on exactly one
// byte:
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

// killRest kills the remaining processes of a job: its session, and processes that left the session but hold the job's
// lock. It repeats the search until no process is left, because a killed process may just have forked. The number of
// rounds is limited, because a process that hangs in the kernel cannot be killed.
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
