package hostile_test

import "syscall"

// setExit makes a stopped process, whose next instruction is a system call, call exit_group(0) instead. It also
// prevents a restart of the interrupted system call.
func setExit(regs *syscall.PtraceRegs) {
	regs.Rax, regs.Orig_rax, regs.Rdi = syscall.SYS_EXIT_GROUP, ^uint64(0), 0
}
