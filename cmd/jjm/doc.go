// Command jjm is the command line of the job manager, for people. Gatekeepers start
// jjm-gatekeeper instead, thousands of times.
//
// It sends its requests to the daemon and keeps no state. The daemon is another program,
// jjm-daemon, beside this one or in ../libexec/jjm. "jjm serve", "jjm run", "jjm config
// check", "jjm split", "jjm clusters test" and some commands of "jjm job-types" replace their process by
// jjm-daemon.
//
// The grammar is the struct commands. A command is a struct in a file of its own: its
// fields are the flags and arguments, and its method Run carries it out. Flags may stand
// between arguments. "jjm completion bash|zsh|fish" prints the completion script of a
// shell.
//
// # Output
//
// Standard output has only the answer; messages for people go to standard error. The lines of submit, lookup and kill
// are a protocol:
//
//	submit   ID
//	lookup   ID STATUS GRAM gram=N code=N exit=N master=WORD expected=N total=N
//	         new=N submitting=N submitted=N running=N completing=N completed=N
//	         failed=N killed=N held=N stale=0|1 asof=TIME error=KIND tar=PATH
//	         message=TEXT
//	kill     REF accepted|no-change|error KIND TEXT
//
// A lookup prints one line for each id, in the order of the arguments. A line has these
// fields in this order, separated by one blank. A missing value is "-". A blank within a
// path is written \x20, and bytes that do not print are written as in Go strings. The
// message is the last field and goes to the end of the line. An id that cannot be answered
// has STATUS "error", GRAM "UNKNOWN" and its kind in error=. New fields may only be added
// before message=. With --json there is one JSON object per line instead, as defined in
// package wire.
//
// # Exit codes
//
//	0    ok
//	1    the answer is "no": wait found that the job failed, or the state of the job forbids the request
//	2    the command line is wrong
//	3    no such job
//	4    neither a daemon nor the records answer, or the daemon is too busy
//	5    refused: the job file is wrong (every problem is on standard error)
//	6    denied: the job belongs to another account, a ban or a drain is in force, or only an administrator may do it
//	7    not finished yet (output, wait --timeout)
//	8    anything else: the daemon's log says more
//	9    some: of many jobs or job types some succeeded, and others were refused or failed
//	130  interrupted
//
// The codes 0 to 3 of "jjm verify" are its verdicts: proven, gap, overlap, undecidable. If
// it has no verdict, its code is 4, 6 or 8.
//
// The codes of "jjm health" are those of Nagios: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. It has no other codes.
//
// With several ids, the first one that cannot be answered determines the code. A command that changes jobs, such as
// kill, release, resubmit, remove and dataset remove, ends with that code only if it succeeded for none of them. If it
// succeeded for some, its code is 9; the line of each id says what was done. An id without a change counts as a
// success.
//
// # Without a daemon
//
// While no daemon answers, lookup, status of jobs, list, history, log, record and why answer from the records, and
// advertise from a file in the state folder. A message on standard error says so, with the time of the answer. health
// then shows what the state folder and the records say. See docs/RECORDS.md.
package main
