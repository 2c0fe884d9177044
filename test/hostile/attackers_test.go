package hostile_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attackers are the programs that a hostile account runs: this test program, executed again as that account. Each gets
// a folder of the account, in which it stores counts for the test.
var attackers = map[string]func(folder string){
	"attack-stop-all":       func(folder string) { stopAll(folder, func(string) bool { return true }) },
	"attack-stop-starts":    func(folder string) { stopAll(folder, isStart) },
	"attack-take-sockets":   takeSockets,
	"attack-lock-all":       lockAll,
	"attack-flood-spool":    floodSpool,
	"attack-fill-spool":     fillSpool,
	"attack-fill-drop":      fillDrop,
	"attack-swell-spool":    swellSpool,
	"attack-forge-listings": forgeListings,
	"attack-kill-commands":  func(folder string) { signalCommands(folder, syscall.SIGKILL) },
	"attack-stop-commands":  func(folder string) { signalCommands(folder, syscall.SIGSTOP) },
}

// play runs an attacker if the command line names an attacker, and reports whether it ran one.
func play(args []string) bool {
	if len(args) != 3 || attackers[args[1]] == nil {
		return false
	}
	attackers[args[1]](args[2])
	return true
}

// attacker starts an attacker as the hostile account, in that account's folder. The test reads its counts with counted.
func (s *siege) attacker(name string) (stop func()) {
	s.t.Helper()
	cmd := s.program(name)
	s.Must(cmd.Start())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	stop = func() { _ = cmd.Process.Kill(); <-ended }
	s.t.Cleanup(stop)
	return stop
}

// program returns the command of an attacker.
func (s *siege) program(name string) *exec.Cmd {
	s.t.Helper()
	self, err := os.Executable()
	s.Must(err)
	program := filepath.Join(s.Dir, "attacker")
	if _, err := os.Stat(program); err != nil {
		s.Must(exec.Command("cp", self, program).Run())
		s.Must(os.Chmod(program, 0o755))
	}
	cmd := s.mallory.As(program, name, s.Home(s.mallory))
	cmd.Dir = s.Dir
	return cmd
}

// counted returns an attacker's count with the given name, or 0 if the attacker has not stored a count yet.
func (s *siege) counted(name string) int { return number(filepath.Join(s.Home(s.mallory), name)) }

// number returns the number in a file, or 0 if the file has no number.
func number(file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// count stores a number in a file that the test reads.
func count(folder, name string, n int) {
	file := filepath.Join(folder, name)
	if os.WriteFile(file+".new", []byte(strconv.Itoa(n)), 0o644) == nil {
		_ = os.Rename(file+".new", file)
	}
}

// parent is the process that started this program.
var parent = os.Getppid()

// others calls do for every process except this process and its parent, until the parent has ended. It visits all
// processes from time to time. In between it visits, as fast as possible, the newest process ids and the ids that will
// be used next (proc_loadavg(5)).
func others(do func(pid int)) {
	load, err := os.Open("/proc/loadavg")
	if err != nil {
		return
	}
	for loop := 0; os.Getppid() == parent; loop++ {
		if loop%2000 == 0 {
			entries, _ := os.ReadDir("/proc")
			for _, e := range entries {
				if pid, err := strconv.Atoi(e.Name()); err == nil && pid > 1 && pid != os.Getpid() && pid != parent {
					do(pid)
				}
			}
		}
		text := make([]byte, 80)
		n, _ := load.ReadAt(text, 0)
		words := strings.Fields(string(text[:n]))
		if len(words) != 5 {
			return
		}
		last, _ := strconv.Atoi(words[4])
		for pid := max(2, last-12); pid < last+4; pid++ {
			if pid != os.Getpid() && pid != parent {
				do(pid)
			}
		}
	}
}

func commandLine(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.ReplaceAll(string(text), "\x00", " ")
}

func isHelper(line string) bool { return strings.HasPrefix(line, "jjm-helper-of-") }

// isStart reports whether a process has not yet executed its program: it is a copy of the daemon, or is changing to the
// account.
func isStart(line string) bool {
	return strings.Contains(line, "jjm-daemon serve ") || strings.HasPrefix(line, "jjm-start ")
}

// isClient reports whether a process is a command with which the account sends requests to the daemon. Until its exec,
// such a process has the command line of this test.
func isClient(line string) bool {
	return strings.Contains(line, "/jjm ") || strings.Contains(line, "hostile.test")
}

// stopAll stops every process of the account as soon as it appears, except processes that submit jobs and processes for
// which wanted returns false.
func stopAll(folder string, wanted func(line string) bool) {
	stopped, told, n := map[int]bool{}, time.Now(), 0
	others(func(pid int) {
		// The signal comes first, so that the process is stopped while it is examined. Threads, including the threads of this
		// program, also have ids; Tgkill with pid as group and thread leaves them out.
		if !stopped[pid] && unix.Tgkill(pid, pid, syscall.SIGSTOP) == nil {
			n++
			// During its exec a process has no command line, so it is examined again later.
			if line := commandLine(pid); line == "" || isClient(line) || !wanted(line) {
				_ = syscall.Kill(pid, syscall.SIGCONT)
			} else {
				stopped[pid] = true
			}
		}
		if time.Since(told) < 20*time.Millisecond { // pause: between two acts of the attacker
			return
		}
		told = time.Now()
		count(folder, "stopped", n)
		for pid := range stopped {
			if syscall.Kill(pid, 0) != nil { // the id of an ended process may be reused
				delete(stopped, pid)
			}
		}
	})
}

// takeSockets tries to take the socket of each helper of the account and to trace the helper as soon as the helper
// exists. A moment later it kills the helper, so that the daemon starts the next helper.
func takeSockets(folder string) {
	born, told, tries, taken := map[int]time.Time{}, time.Now(), 0, 0
	others(func(pid int) {
		if syscall.Kill(pid, 0) == nil && isHelper(commandLine(pid)) {
			if born[pid].IsZero() {
				born[pid] = time.Now()
			}
			tries++
			if takesSocket(pid) || traces(pid) {
				taken++
				count(folder, "taken", taken)
			}
			if time.Since(born[pid]) > 50*time.Millisecond { // pause: between two acts of the attacker
				_ = syscall.Kill(pid, syscall.SIGKILL)
				delete(born, pid)
			}
		}
		if time.Since(told) > 20*time.Millisecond { // pause: between two acts of the attacker
			told = time.Now()
			count(folder, "tries", tries)
		}
	})
}

// takesSocket tries to copy the descriptor through which a helper communicates with the daemon, and reports whether it
// succeeded.
func takesSocket(pid int) bool {
	p, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(p)
	for _, fd := range []int{3, 4, 5, 6, 7} {
		got, err := unix.PidfdGetfd(p, fd, 0)
		if err != nil {
			continue
		}
		kind, err := unix.GetsockoptInt(got, unix.SOL_SOCKET, unix.SO_TYPE)
		_ = unix.Close(got)
		if err == nil && kind == unix.SOCK_SEQPACKET {
			return true
		}
	}
	return false
}

// traces tries to attach to a process as a debugger does (PTRACE_SEIZE of ptrace(2)), and reports whether it succeeded.
func traces(pid int) bool {
	const seize = 0x4206
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, seize, uintptr(pid), 0, 0, 0, 0)
	return errno == 0
}

// lockAll locks every file that it can open below the folder s next to the account's folder, in every way that a reader
// or writer can: the whole file by flock(2), and each byte for reading or writing by fcntl(2).
func lockAll(folder string) {
	locked := 0
	for {
		_ = filepath.WalkDir(filepath.Join(filepath.Dir(folder), "s"), func(path string, _ os.DirEntry, _ error) error {
			for _, flag := range []int{unix.O_RDONLY, unix.O_RDWR} {
				fd, err := unix.Open(path, flag|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
				if err != nil {
					continue
				}
				kept := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil
				for _, kind := range []int16{unix.F_WRLCK, unix.F_RDLCK} {
					l := unix.Flock_t{Type: kind, Whence: 0}
					if unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &l) == nil {
						kept = true
						break
					}
				}
				if !kept {
					_ = unix.Close(fd)
					continue
				}
				locked++
			}
			return nil
		})
		count(folder, "locked", locked)
		time.Sleep(200 * time.Millisecond)
	}
}
