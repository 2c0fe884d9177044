package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"jjm/gate/client"
	"jjm/wire"
)

// cat shows a file of a local job.
type cat struct {
	Stderr bool   `help:"Standard error."`
	Script bool   `help:"What was run."`
	GLF    bool   `name:"glf" help:"The GBS log file."`
	Follow bool   `short:"f" help:"Go on as it grows, until the job is over."`
	ID     string `arg:"" name:"ID.N" help:"The local job."`

	place
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

// Run implements the command.
func (s *cat) Run(c *cli) error {
	if s.Stderr && s.Script || s.Stderr && s.GLF || s.Script && s.GLF {
		return usage("want one of --stderr, --script, --glf")
	}
	if err := checkRefs([]string{s.ID}, false); err != nil {
		return err
	}
	ctx, cancel := interruptible()
	defer cancel()
	req := wire.CatRequest{One: wire.Of(s.ID), File: s.file(), Follow: s.Follow}
	_, r, err := client.Open(ctx, s.client(c), wire.VerbCat(), req)
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
	if _, err := ask(c, s.place, wire.VerbPing(), wire.PingRequest{}); err != nil {
		return fmt.Errorf("the job may go on, but %w", err)
	}
	return nil
}
