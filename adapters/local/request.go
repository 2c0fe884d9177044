package local

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"jjm/adapters"
	"jjm/internal/jjm"
)

var _ adapters.Checker = (*Adapter)(nil)

// Check implements adapters.Checker. It returns an error if a request names a queue, which this machine does not have,
// or needs more memory than the machine has. The number of cores is in Capabilities.
func (a *Adapter) Check(r jjm.Request) error {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: "request." + field, Text: fmt.Sprintf(format, args...)})
	}
	if have := memoryMB(); r.MemoryMB < 0 || have > 0 && r.MemoryMB > have {
		bad("memory_mb", "%d: the machine of cluster %s has %d MiB", r.MemoryMB, a.name, have)
	}
	if r.Queue != "" {
		bad("queue", "%.40q: cluster %s has no queues: leave it out, or name another cluster", r.Queue, a.name)
	}
	var plain jjm.Problems
	if errors.As(adapters.PlainOnly(a.name, r), &plain) {
		ps = append(ps, plain...)
	}
	return ps.Err()
}

// memoryMB returns the size of this machine's memory in MiB, 0 if it is unknown.
func memoryMB() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit) >> 20)
}
