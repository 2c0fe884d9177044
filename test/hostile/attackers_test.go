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

// attackers are programs of a hostile account: this test program, executed again
// as the account. Each has a folder of the account's, where it counts what it did.
var attackers = map[string]func(folder string){
	"attack-stop-all":       func(folder string) { stopAll(folder, func(string) bool { return true }) },
	"attack-stop-starts":    func(folder string) { stopAll(folder, isStart) },
	"attack-take-sockets":   takeSockets,
	"attack-lock-all":       lockAll,
	"attack-flood-spool":    floodSpool,
	"attack-fill-spool":     fillSpool,
	"attack-swell-spool":    swellSpool,
	"attack-forge-listings": forgeListings,
	"attack-kill-commands":  func(folder string) { signalCommands(folder, syscall.SIGKILL) },
	"attack-stop-commands":  func(folder string) { signalCommands(folder, syscall.SIGSTOP) },
}

// play runs an attacker if the command line asks for one.
func play(args []string) bool {
	if len(args) != 3 || attackers[args[1]] == nil {
		return false
	}
	attackers[args[1]](args[2])
	return true
}

// attacker starts one in the folder of the hostile account. What it counts is in
// files of the folder: counted.
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

// program is an attacker as a command.
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

// counted is what an attacker counted under a name; 0 for nothing yet.
func (s *siege) counted(name string) int { return number(filepath.Join(s.Home(s.mallory), name)) }

// number is the one in a file; 0 if there is none.
func number(file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// count keeps a number where the test reads it.
func count(folder, name string, n int) {
	file := filepath.Join(folder, name)
	if os.WriteFile(file+".new", []byte(strconv.Itoa(n)), 0o644) == nil {
		_ = os.Rename(file+".new", file)
	}
}

// parent is who started this program.
var parent = os.Getppid()

// others calls do with every process but this one and its parent, with which it
// ends: with all now and then, and between that with those whose number comes next
// or came last (proc_loadavg(5)), as fast as can be.
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

// isStart tells a process that is not yet what it is to be: a copy of the daemon, or
// one that becomes the account.
func isStart(line string) bool {
	return strings.Contains(line, "jjm-daemon serve ") || strings.HasPrefix(line, "jjm-start ")
}

// isClient tells the commands by which the account speaks to the daemon, and those
// that this test is about to start: until their exec they are the test's own.
func isClient(line string) bool {
	return strings.Contains(line, "/jjm ") || strings.Contains(line, "hostile.test")
}

// stopAll stops every process of the account the moment it appears, but those by
// which the account goes on submitting, and those that wanted does not want.
func stopAll(folder string, wanted func(line string) bool) {
	stopped, told, n := map[int]bool{}, time.Now(), 0
	others(func(pid int) {
		// The signal first: what it belongs to is looked at when it stands still. A
		// number may be that of a thread, of this program too: those are left out.
		if !stopped[pid] && unix.Tgkill(pid, pid, syscall.SIGSTOP) == nil {
			n++
			// One in the midst of its exec has no line: it is looked at again.
			if line := commandLine(pid); line == "" || isClient(line) || !wanted(line) {
				_ = syscall.Kill(pid, syscall.SIGCONT)
			} else {
				stopped[pid] = true
			}
		}
		if time.Since(told) < 20*time.Millisecond {
			return
		}
		told = time.Now()
		count(folder, "stopped", n)
		for pid := range stopped {
			if syscall.Kill(pid, 0) != nil { // its number may be another's
				delete(stopped, pid)
			}
		}
	})
}

// takeSockets tries to take the socket of each helper of the account, and to trace
// it, from its first moment; and ends it a moment later, so that the next one comes.
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
			if time.Since(born[pid]) > 50*time.Millisecond {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				delete(born, pid)
			}
		}
		if time.Since(told) > 20*time.Millisecond {
			told = time.Now()
			count(folder, "tries", tries)
		}
	})
}

// takesSocket takes the descriptor by which a helper speaks with the daemon.
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

// traces attaches to a process as a debugger does (PTRACE_SEIZE of ptrace(2)).
func traces(pid int) bool {
	const seize = 0x4206
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, seize, uintptr(pid), 0, 0, 0, 0)
	return errno == 0
}

// lockAll locks all that can be opened below the folder that holds the account's
// own one, in every way that a reader or writer can: whole by flock(2), and each
// byte for reading, or writing, as fcntl(2) does.
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
