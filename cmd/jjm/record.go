package main

import (
	"io"
	"strings"

	"jjm/wire"
)

// record shows the XML record.
type record struct {
	Path string `placeholder:"PATH" help:"Only what this path selects."`
	ID   string `arg:"" name:"ID" help:"The grid job."`

	place
}

// Help is the rest of its help.
func (*record) Help() string {
	return "Without a path the head, then each shard: XML documents one after the other. " +
		"A path is searched for in each of them; it begins with /gridjob, /localjobs or //."
}

// Run implements the command.
func (r *record) Run(c *cli) error {
	if err := checkRefs([]string{r.ID}, true); err != nil {
		return err
	}
	a, err := ask(c, r.place, wire.VerbRecord(), wire.RecordRequest{One: wire.Of(r.ID), Path: r.Path})
	if err != nil {
		return err
	}
	if len(a.Record) == 0 && r.Path != "" {
		return &exit{exitNo, errNothing(r.Path)}
	}
	return c.printTexts(a.Record)
}

type errNothing string

func (e errNothing) Error() string { return "the record holds nothing at " + string(e) }

// printTexts writes texts a line each: as they are to a file, harmless to a
// terminal.
func (c *cli) printTexts(texts []string) error {
	safe := c.outFile != nil && isTerminal(c.outFile)
	for _, t := range texts {
		if safe {
			t = printableLines(t)
		}
		if _, err := io.WriteString(c.out, strings.TrimSuffix(t, "\n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}
