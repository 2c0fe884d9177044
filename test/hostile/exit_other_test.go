//go:build !amd64

package hostile_test

import "syscall"

// setExit is not implemented for this processor, and the test reports this gap.
func setExit(*syscall.PtraceRegs) {}
