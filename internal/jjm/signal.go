package jjm

import (
	"fmt"
	"syscall"
)

// SignalText returns the name of the signal that ended a process, and its usual meaning: "SIGSEGV, it used memory
// that is not its own" (signal(7)); "signal 42" for a signal without a name here.
func SignalText(n int) string {
	switch syscall.Signal(n) {
	case syscall.SIGHUP:
		return "SIGHUP, its terminal or session ended"
	case syscall.SIGINT:
		return "SIGINT, interrupted"
	case syscall.SIGQUIT:
		return "SIGQUIT, told to quit"
	case syscall.SIGILL:
		return "SIGILL, an instruction that this processor does not have"
	case syscall.SIGTRAP:
		return "SIGTRAP, a trap of a debugger"
	case syscall.SIGABRT:
		return "SIGABRT, it aborted itself"
	case syscall.SIGBUS:
		return "SIGBUS, memory or a mapped file that is not there"
	case syscall.SIGFPE:
		return "SIGFPE, a wrong calculation such as a division by zero"
	case syscall.SIGKILL:
		return "SIGKILL, killed, often for want of memory"
	case syscall.SIGSEGV:
		return "SIGSEGV, it used memory that is not its own"
	case syscall.SIGPIPE:
		return "SIGPIPE, nobody read what it wrote"
	case syscall.SIGTERM:
		return "SIGTERM, told to end"
	case syscall.SIGXCPU:
		return "SIGXCPU, it used up its processor time" // setrlimit(2), RLIMIT_CPU
	case syscall.SIGXFSZ:
		return "SIGXFSZ, it wrote a file larger than allowed" // setrlimit(2), RLIMIT_FSIZE
	}
	return fmt.Sprintf("signal %d", n)
}
