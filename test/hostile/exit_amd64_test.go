package hostile_test

import "syscall"

// setExit has a process that is stopped go on with exit_group(0), once the instruction
// at which it stands is a system call. It is none that is to be begun again.
func setExit(regs *syscall.PtraceRegs) {
	regs.Rax, regs.Orig_rax, regs.Rdi = syscall.SYS_EXIT_GROUP, ^uint64(0), 0
}
