// Command jjm is the command line of the job manager: what gatekeepers call,
// and what people look with.
//
// It asks the daemon over its socket and holds no state. It is for people: what
// gatekeepers run thousands of times is jjm-gatekeeper. The daemon is another
// program, jjm-daemon, beside this one or in ../libexec/jjm; "jjm serve", "jjm
// config check", "jjm split" and "jjm clusters test" become it.
//
// The grammar is the struct commands: a command is a struct whose fields are its
// flags and arguments, with a method Run, in a file of its own. Flags may stand
// between arguments. "jjm completion bash|zsh|fish" prints what makes a shell
// complete them.
//
// # Output
//
// Standard output carries the answer and nothing else; everything said to
// people goes to standard error. The lines of submit, lookup and kill are a
// protocol:
//
//	submit   ID
//	lookup   ID STATUS GRAM gram=N code=N exit=N master=WORD expected=N total=N
//	         new=N submitting=N submitted=N running=N completing=N completed=N
//	         failed=N killed=N held=N stale=0|1 asof=TIME error=KIND tar=PATH
//	         message=TEXT
//	kill     REF accepted|no-change|error KIND TEXT
//
// Each lookup is one line, in the order asked, of the fields shown in that
// order, one blank between them. A value that is not there is "-". A blank
// within a path is written \x20, and bytes that do not print are written as in
// Go strings. The message comes last and runs to the end of the line. An id
// that cannot be answered has STATUS "error", GRAM "UNKNOWN" and error= its
// kind. New fields may appear before message= only. With --json there is one
// JSON object per line instead, as package wire defines them.
//
// # Exit codes
//
//	0    ok
//	1    the answer is "no": wait found the job failed; its state forbids it
//	2    the command line is wrong
//	3    no such job
//	4    no daemon answers, or it is too busy
//	5    refused: the job file is wrong (every problem is on standard error)
//	6    denied: the job belongs to another account
//	7    not finished yet (output, wait --timeout)
//	8    anything else: the daemon's log says more
//	130  interrupted
//
// The codes 0 to 3 of "jjm verify" are its verdicts: proven, gap, overlap,
// undecidable; what it could not answer, but for 4 and 6, is 8.
//
// Of several ids, the first that cannot be answered gives the code.
package main
