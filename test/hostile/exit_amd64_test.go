package hostile_test

import "syscall"

// setExit makes a stopped process go on with exit_group(0), when the instruction at which it stands is a system call.
// It is not one that would be restarted.
func setExit(regs *syscall.PtraceRegs) {
	regs.Rax, regs.Orig_rax, regs.Rdi = syscall.SYS_EXIT_GROUP, ^uint64(0), 0
}
