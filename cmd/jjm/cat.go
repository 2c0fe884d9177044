package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"jjm/internal/api/plain"
	"jjm/internal/jjm"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
)

// cat shows a file of a local job.
type cat struct {
	Stderr  bool   `help:"Standard error."`
	Script  bool   `help:"What was run."`
	GLF     bool   `name:"glf" help:"The GBS log file."`
	Follow  bool   `short:"f" help:"Show what is appended, until the job is over."`
	Attempt *int32 `placeholder:"N" help:"Of attempt N, from 0; the current or last one by default."`
	List    bool   `short:"l" help:"List the files that FILE can name."`
	JSON    bool   `name:"json" help:"With --list: one JSON object per line."`
	ID      string `arg:"" name:"ID.N" help:"The local job."`
	File    string `arg:"" optional:"" name:"FILE" help:"A file in its work folder; none: its standard output."`

	place
}

// Help returns the text of --help below the usage.
func (*cat) Help() string {
	return "FILE is relative to the folder in which the application runs or ran. It can be shown as long as that " +
		"folder exists; the collected files of a job that is over are in the tar (jjm output). Files that the job " +
		"reads are not shown, because they are not in that folder: its inputs are links there, and files of " +
		"datasets that other local jobs filled are links in the folder in/ beside it. Ask for such a file at the " +
		"local job that made it. Links, devices and pipes are not opened. Without -f no more is shown than the file " +
		"had at the beginning. The exit code is 3 if there is no such file. If no file has the name stdout, stderr, " +
		"script or glf, the name means the same as the option."
}

// file returns the file that the command line names, by default standard output.
func (s *cat) file() wire.CatFile {
	file := wire.CatFile{Path: s.File, Attempt: s.Attempt}
	switch {
	case s.File != "":
	case s.Stderr:
		file.File = "stderr"
	case s.Script:
		file.File = "script"
	case s.GLF:
		file.File = "glf"
	default:
		file.File = "stdout"
	}
	return file
}

// check returns an error if options exclude each other, if the attempt is negative, or if the id does not mean exactly
// one local job.
func (s *cat) check() error {
	wanted := 0
	for _, given := range []bool{s.Stderr, s.Script, s.GLF, s.List, s.File != ""} {
		if given {
			wanted++
		}
	}
	switch {
	case wanted > 1:
		return usage("want one of FILE, --list, --stderr, --script, --glf")
	case s.List && s.Follow:
		return usage("--list and -f: want one of them")
	case s.Attempt != nil && *s.Attempt < 0:
		return usage("--attempt %d: want the number of an attempt, from 0", *s.Attempt)
	case s.JSON && !s.List:
		return usage("--json is for --list")
	}
	return oneLocal("cat", s.ID)
}

// Run carries out jjm cat.
func (s *cat) Run(c *cli) error {
	if err := s.check(); err != nil {
		return err
	}
	if s.List {
		return s.list(c)
	}
	ctx, cancel := interruptible()
	defer cancel()
	req := wire.CatRequest{One: wire.OneRef(s.ID), CatFile: s.file(), Follow: s.Follow}
	_, r, err := client.Open(ctx, s.client(c), wire.VerbCat(), req)
	if client.IsUnreachable(err) {
		s.offline(c, "cat", err).files(s.ID)
	}
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	// The output is not buffered, so that text appended to a followed file is shown immediately.
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

// list prints the files that the command can show for the local job.
func (s *cat) list(c *cli) error {
	a, err := ask(c, s.place, wire.VerbCat(), wire.CatRequest{One: wire.OneRef(s.ID),
		CatFile: wire.CatFile{Attempt: s.Attempt}, List: true})
	if err != nil {
		return err
	}
	if s.JSON {
		for _, f := range a.Files {
			if err := c.printJSON(f); err != nil {
				return err
			}
		}
		return nil
	}
	if len(a.Files) == 0 {
		c.say("%s has no files in its work folder", s.ID)
		return nil
	}
	if err := c.fileTable(a.Files); err != nil {
		return err
	}
	if a.More {
		c.say("there are more: the first %s are shown", jjm.Count(len(a.Files), "file"))
	}
	return nil
}

// fileTable prints a table of files. The name is in the last column and is never cut, because people use it as FILE.
func (c *cli) fileTable(files []jjm.JobFile) error {
	rows := [][]string{{"BYTES", plain.Zoned("WRITTEN"), "WHERE", "FILE"}}
	for _, f := range files {
		size := fmt.Sprint(f.Bytes)
		if f.Kind != "" {
			size = f.Kind
		}
		rows = append(rows, []string{size, plain.Stamp(f.Modified), f.From, f.Name})
	}
	return c.table(rows)
}

// whyOver is called when the bytes of a followed file have ended. If the daemon does not answer, it returns an error,
// because the job may then still be running.
func (s *cat) whyOver(c *cli) error {
	if _, err := ask(c, s.place, wire.VerbPing(), wire.PingRequest{}); err != nil {
		return fmt.Errorf("the job may go on, but %w", err)
	}
	return nil
}
