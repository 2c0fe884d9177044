package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"jjm/wire"
)

// cat shows a file of a local job.
type cat struct {
	place
	Stderr, Script, GLF, Follow bool
	ID                          string
}

func (s *cat) flags(fs *flag.FlagSet) {
	s.place.flags(fs)
	fs.BoolVar(&s.Stderr, "stderr", false, "Standard error.")
	fs.BoolVar(&s.Script, "script", false, "What was run.")
	fs.BoolVar(&s.GLF, "glf", false, "The GBS log file.")
	fs.BoolVar(&s.Follow, "follow", false, "Go on as it grows, until the job is over.")
	short(fs, "f", "follow")
}

func (s *cat) take(words []string) { s.ID = words[0] }

func catCommand() command {
	return command{
		name: "cat", args: "ID.N", min: 1, max: 1, summary: "Show the standard output of a local job, or another file of it",
		example: "jjm cat 17.3 --stderr -f",
		make:    func() verb { return &cat{} },
	}
}

func (s *cat) file() string {
	switch {
	case s.Stderr:
		return "stderr"
	case s.Script:
		return "script"
	case s.GLF:
		return "glf"
	}
	return "stdout"
}

func (s *cat) run(c *cli) error {
	if s.Stderr && s.Script || s.Stderr && s.GLF || s.Script && s.GLF {
		return usage("want one of --stderr, --script, --glf")
	}
	if err := checkRefs([]string{s.ID}, false); err != nil {
		return err
	}
	ctx, cancel := interruptible()
	defer cancel()
	_, r, err := s.client(c).Open(ctx, wire.Request{Verb: wire.VerbCat, Refs: []string{s.ID}, File: s.file(), Follow: s.Follow})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	// Unbuffered: what is followed is seen as it comes.
	var out io.Writer = c.outFile
	if c.outFile != nil && isTerminal(c.outFile) {
		t := &terminalWriter{w: c.outFile}
		defer t.end()
		out = t
	}
	switch _, err = io.Copy(out, r); {
	case errors.Is(err, context.Canceled):
		return &exit{code: exitInterrupted}
	case err != nil:
		return fmt.Errorf("%s of %s: %w", s.file(), s.ID, err)
	case s.Follow:
		return s.whyOver(c)
	}
	return nil
}

// whyOver tells the end of the job from the end of the daemon.
func (s *cat) whyOver(c *cli) error {
	if _, err := s.ask(c, wire.Request{Verb: wire.VerbPing}); err != nil {
		return fmt.Errorf("the job may go on, but %w", err)
	}
	return nil
}
