//go:build !amd64

package hostile_test

import "syscall"

// setExit is not implemented for this processor; the test reports that.
func setExit(*syscall.PtraceRegs) {}
