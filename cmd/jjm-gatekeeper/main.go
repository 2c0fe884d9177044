// Command jjm-gatekeeper carries out the requests of gatekeepers. The scripts that jjm installs for gatekeepers run it.
// Its first argument is a language, and its second argument is a verb of this language:
//
//	core      submit, lookup, kill: the verbs of scripts/jjm-*
//	globus2   submit, poll, rm, signal: the job manager of Globus 2
//	blahp     submit, status, cancel, hold, resume, ping: blahpd of HTCondor
//	gram      submit, poll, cancel: Globus GRAM5
//	arc       submit, cancel, scan, info: A-REX of ARC
//
// A language is the protocol of one kind of gatekeeper. Standard output has only this protocol; messages for people go
// to standard error. Every answer comes within a second, with three exceptions: a submission that cannot be stored
// anywhere is retried for a while, and so is a cancel of HTCondor; and a call that reports the end of a job may first
// deliver the files of the job.
//
// The program links few packages, because gatekeepers run it thousands of times.
package main

import (
	"bufio"
	"io"
	"os"
	"runtime/debug"

	"jjm/internal/api/client"
	"jjm/internal/gatekeeper"
)

func main() { os.Exit(start()) }

// start runs the command line of this process and returns the exit code.
func start() int {
	// The process runs for milliseconds, and is faster without the garbage collector. The memory limit starts the
	// collector if the process allocates much.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(64 << 20)
	p := &process{in: os.Stdin, out: bufio.NewWriter(os.Stdout), err: os.Stderr, getenv: os.Getenv}
	code := p.main(os.Args[1:])
	if err := p.out.Flush(); err != nil {
		p.say("write standard output: %v", err)
		return exitInternal
	}
	return code
}

// process holds the standard streams and the environment of this process, which tests replace.
type process struct {
	in     io.Reader
	out    *bufio.Writer // start flushes it
	err    io.Writer
	getenv func(string) string
}

// language carries out a verb of one gatekeeper and returns the exit code.
type language func(p *process, verb string, args []string) int

// main runs the language that the first argument names.
func (p *process) main(args []string) int {
	languages := map[string]language{"arc": arcLanguage, "blahp": blahpLanguage, "core": core, "globus2": globus2Language,
		"gram": gramLanguage}
	if len(args) < 2 || languages[args[0]] == nil {
		p.say("want a language and a verb, such as: core lookup 17; the scripts of jjm call this program")
		return exitUsage
	}
	return languages[args[0]](p, args[1], args[2:])
}

// client returns a client of the daemon whose place the environment variables name.
func (p *process) client() *gatekeeper.Client {
	return gatekeeper.Open(client.Place{Getenv: p.getenv})
}
