package local

import (
	"fmt"
	"syscall"
	"unsafe"
)

// setThreadGroups is setgroups(2) for the calling thread alone; that of package
// syscall changes all threads.
func setThreadGroups(groups []uint32) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS,
		uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0)
	if errno != 0 {
		return fmt.Errorf("take the owner's groups: %w", errno)
	}
	return nil
}
