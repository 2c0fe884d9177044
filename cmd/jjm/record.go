package main

import (
	"flag"
	"io"
	"strings"

	"jjm/wire"
)

// record shows the XML record.
type record struct {
	place
	Path, ID string
}

func (r *record) flags(fs *flag.FlagSet) {
	r.place.flags(fs)
	fs.StringVar(&r.Path, "path", "", "Only what this `PATH` selects.")
}

func (r *record) take(words []string) { r.ID = words[0] }

func recordCommand() command {
	return command{
		name: "record", args: "ID", min: 1, max: 1, summary: "Show the XML record of a grid job, or a part of it",
		detail: "Without a path the head, then each shard: XML documents one after the other. " +
			"A path is searched for in each of them; it begins with /gridjob, /localjobs or //.",
		example: "jjm record 17 --path /gridjob/counts/@completed",
		make:    func() verb { return &record{} },
	}
}

func (r *record) run(c *cli) error {
	if err := checkRefs([]string{r.ID}, true); err != nil {
		return err
	}
	a, err := r.ask(c, wire.Request{Verb: wire.VerbRecord, Refs: []string{r.ID}, Path: r.Path})
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
