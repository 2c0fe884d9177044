package local

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"jjm/adapters"
	"jjm/internal/jjm"
)

var _ adapters.Checker = (*Adapter)(nil)

// Check implements adapters.Checker. This machine has no queues, and no job can use more memory than there is. How many
// cores it has is in Capabilities.
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

// memoryMB returns how much memory this machine has, 0 if that is not known.
func memoryMB() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit) >> 20)
}
