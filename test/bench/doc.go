// Command bench prints jjm's figures, each with a target or with the figure of something comparable.
//
//	make bench                            # everything, about nine minutes
//	go run ./test/bench -run lookup,true  # some sections; make build comes first
//	go run ./test/bench -json             # for programs
//
// Expensive parts run in child processes (this program again, with the hidden command "child"), so that CPU time and
// peak memory can be measured for each part. The bench calls the methods of Site, Cutter and Tarrer in a child by
// net/rpc, over the child's standard input and output.
//
// CPU time comes from the kernel: from wait4(2) for a program that runs once, from getrusage(2) for a part of a
// process, and from /proc/PID/stat for the daemon and its children. Peak memory is VmHWM of /proc/PID/status, because
// ru_maxrss of a new process starts with the memory of its parent (getrusage(2) includes the memory before execve(2)).
//
// Functions of the bench report errors by check and must, which end the section. The exit code is 0 if every target
// was met, 1 if one was missed, and 2 if something could not be measured.
package main
