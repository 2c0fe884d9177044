// Command bench prints jjm's figures, each beside what it is compared with or beside
// its target.
//
//	make bench                            # everything, about nine minutes
//	go run ./test/bench -run lookup,true  # some sections; make build comes first
//	go run ./test/bench -json             # for programs
//
// What costs much runs in a child process of its own (this program again, with
// the hidden command "child"), so that CPU time and peak memory are that part's
// alone. The children answer on their standard output, a line of JSON per
// question.
//
// CPU time is what the kernel counts for a process: wait4(2) for a program that
// is run once, getrusage(2) for a part of a process, /proc/PID/stat for the
// daemon and its children. Peak memory is VmHWM of /proc/PID/status, because
// ru_maxrss of a new process begins with what its parent had (getrusage(2)
// counts the memory before execve(2) too).
//
// The exit code is 0 when every target was met, 1 when one was missed, 2 when
// something could not be measured.
package main
