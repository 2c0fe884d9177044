package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// quickStart is the wall time of one start of /bin/true on a quick machine.
const quickStart = time.Millisecond

// yardstickStarts is how many times /bin/true is started to measure the cost of starting a process.
const yardstickStarts = 200

// yardstickNumbers is how many numbers are sorted to measure how fast the machine computes. Virtual machines exist that
// compute at half the speed an hour later, while the cost of starting a process stays the same.
const yardstickNumbers = 1_000_000

// machine describes where a run takes place.
type machine struct {
	cores int
	// start is the mean cost of starting one process.
	start cost
	// sort is the wall time of sorting yardstickNumbers numbers, the least of three.
	sort time.Duration
}

// measureMachine measures the mean cost of starting /bin/true yardstickStarts times, and how long it takes to sort
// yardstickNumbers numbers.
func measureMachine() (machine, error) {
	before, began := childrenCost(), time.Now()
	for range yardstickStarts {
		if err := exec.Command("/bin/true").Run(); err != nil {
			return machine{}, fmt.Errorf("yardstick: %w", err)
		}
	}
	after := childrenCost()
	return machine{cores: runtime.NumCPU(), sort: min(sortTime(), sortTime(), sortTime()), start: cost{
		Wall: time.Since(began) / yardstickStarts,
		User: (after.User - before.User) / yardstickStarts,
		Sys:  (after.Sys - before.Sys) / yardstickStarts,
	}}, nil
}

// sortTime returns how long it takes to sort yardstickNumbers numbers, which are the same each time.
func sortTime() time.Duration {
	source := rand.New(rand.NewPCG(1, 2))
	numbers := make([]uint64, yardstickNumbers)
	for i := range numbers {
		numbers[i] = source.Uint64()
	}
	began := time.Now()
	slices.Sort(numbers)
	return time.Since(began)
}

// slowness returns the factor by which hang guards are longer here than on a quick machine: 1, 4, 10 or 20. There are
// few values, because results of tests that read the slowness stay in the cache only while it is the same. Ordinary
// virtual machines need 2 to 3.5 ms for a start, so no boundary between two values is in this range.
func (m machine) slowness() int {
	factor := float64(max(m.start.Wall, m.start.cpu())) / float64(quickStart)
	for _, step := range []int{1, 4, 10} {
		if factor <= float64(step) {
			return step
		}
	}
	return 20
}

func (m machine) String() string {
	return fmt.Sprintf("machine: %d cores; to start a process takes %.1f ms and %.1f ms of CPU (%d times /bin/true)\n"+
		"         and to sort a million numbers %.0f ms", m.cores, milliseconds(m.start.Wall), milliseconds(m.start.cpu()),
		yardstickStarts, milliseconds(m.sort))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// fingerprint returns a text that changes when the facts change that tests find out about the machine: the account that
// runs the tests, the existing accounts and packages, and the search path of programs.
func fingerprint() string {
	groups, _ := os.Getgroups() // an account may have no groups
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, os.Geteuid(), groups, os.Getenv("PATH"))
	for _, file := range []string{"/etc/passwd", "/etc/group", "/etc/debian_version", "/var/lib/dpkg/status",
		"/proc/sys/kernel/osrelease"} {
		text, err := os.ReadFile(file) // other systems lack some of these files
		_, _ = fmt.Fprintln(sum, file, len(text), err)
		_, _ = sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// lockFile is locked by the run that uses the machine's ports, accounts and batch systems.
const lockFile = "/tmp/jjm-tests.lock"

// lockMachine waits until no other run of jjm's tests uses the machine. While it waits, it prints which run it waits
// for.
func lockMachine(path string, people io.Writer) (unlock func(), err error) {
	f, err := openShared(path)
	if err != nil {
		return nil, fmt.Errorf("lock of the machine: %w", err)
	}
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(path)
		_, _ = fmt.Fprintf(people, "tiers: waiting for another run of jjm's tests on this machine: %s\n",
			strings.TrimSpace(string(holder)))
		if err := flock(f, syscall.LOCK_EX); err != nil {
			return nil, fmt.Errorf("lock of the machine: %w", err)
		}
	}
	dir, _ := os.Getwd()
	_ = f.Truncate(0)
	_, _ = f.WriteAt(fmt.Appendf(nil, "process %d in %s\n", os.Getpid(), dir), 0) // for people only
	return func() { _ = f.Close() }, nil
}

// openShared opens a lock file that several accounts share. An existing file is opened without O_CREATE, because Linux
// may refuse O_CREATE for another account's file in /tmp (fs.protected_regular). If the file is not writable, it is
// opened only for reading, which is enough for flock(2).
func openShared(path string) (*os.File, error) {
	for _, flags := range []int{os.O_RDWR, os.O_RDONLY} {
		if f, err := os.OpenFile(path, flags, 0); err == nil {
			return f, nil
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	return f, f.Chmod(0o666) // whatever the umask is
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err != syscall.EINTR {
			return err
		}
	}
}
