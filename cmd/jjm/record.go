package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// record shows XML records.
type record struct {
	Path    string   `placeholder:"PATH" help:"Only what this path selects."`
	All     bool     `short:"a" help:"Of all grid jobs, finished ones too, newest first; needs --path."`
	Status  string   `placeholder:"WORD,..." help:"With --all: those in one of these statuses, such as failed,finished."`
	Type    string   `placeholder:"TYPE" help:"With --all: those of this job type."`
	Owner   string   `placeholder:"USER" help:"With --all: those of this user."`
	Cluster string   `placeholder:"NAME" help:"With --all: those with local jobs at this cluster."`
	Since   string   `placeholder:"TIME" help:"With --all: accepted then or later: 2026-03-01, or ago: 36h, 7d."`
	Until   string   `placeholder:"TIME" help:"With --all: accepted before that time."`
	JSON    bool     `name:"json" help:"With --all: one JSON object per grid job and line."`
	IDs     []string `arg:"" optional:"" name:"ID" help:"Grid jobs."`

	place
}

// Help returns the text of --help below the usage.
func (*record) Help() string {
	return "Without a path, it prints the head and then each shard, as XML documents one after the other. A path is " +
		"searched for in each document; it begins with /gridjob, /localjobs or //. With --all, and with several ids " +
		"and a path, each result is a line: the id of the grid job, a tab, and the result."
}

// Run implements the command.
func (r *record) Run(c *cli) error {
	if r.All {
		return r.ofAll(c)
	}
	if set := r.Status + r.Type + r.Owner + r.Cluster + r.Since + r.Until; set != "" || r.JSON {
		return usage("which grid job? Filters and --json are for --all")
	}
	if len(r.IDs) == 0 {
		return usage("want the ID of a grid job, or --all")
	}
	var err error
	if r.IDs, err = r.named(c, "record", r.IDs, true, true); err != nil {
		return err
	}
	return c.forEach(r.IDs, func(id string) error { return r.show(c, id) })
}

// show prints the record of one grid job or, if there is a path, the results of the path in the record. If the path has
// no results, show returns an error.
func (r *record) show(c *cli, id string) error {
	a, err := ask(c, r.place, wire.VerbRecord(), wire.RecordRequest{One: wire.OneRef(id), Path: r.Path})
	if client.IsUnreachable(err) {
		a.Record, err = r.offline(c, "record", err).record(id, r.Path)
	}
	switch {
	case err != nil:
		return err
	case len(a.Record) == 0 && r.Path != "":
		return &exit{exitNo, errNothing{id, r.Path}}
	case len(r.IDs) > 1 && r.Path != "":
		return c.printFrom(id, a.Record)
	}
	return c.printTexts(a.Record)
}

// ofAll runs the query --path on the records of many grid jobs, and prints the results as they come. It returns an
// error if a record could not be read, or if there are no results.
func (r *record) ofAll(c *cli) error {
	if len(r.IDs) > 0 || r.Path == "" {
		return usage("--all asks for what --path selects in many records: want --path, and no ID")
	}
	of := wire.Selection{Status: r.Status, Type: r.Type, Owner: r.Owner, Cluster: r.Cluster}
	var err error
	now := time.Now()
	if of.Since, err = past("--since", r.Since, now); err != nil {
		return err
	}
	if of.Until, err = past("--until", r.Until, now); err != nil {
		return err
	}
	ctx, cancel := interruptible()
	defer cancel()
	answers, found, failed := 0, 0, 0
	print := func(f *wire.Found) error {
		found += len(f.Record)
		if f.Error != "" {
			failed++
			c.say("grid job %s: %s", f.ID, f.Error)
		}
		return r.printFound(c, f)
	}
	err = client.Watch(ctx, r.client(c), wire.VerbRecords(), wire.RecordsRequest{Path: r.Path, Of: of},
		func(a wire.RecordsAnswer) error {
			if answers++; a.Found == nil {
				return nil
			}
			return print(a.Found)
		})
	if client.IsUnreachable(err) && answers == 0 { // after an answer, results would be printed twice
		err = r.offline(c, "record", err).records(ctx, r.Path, of, print)
	}
	switch {
	case err != nil:
		return err
	case failed > 0:
		return unreadable(failed)
	case found == 0:
		return &exit{exitNo, errors.New("no record of these grid jobs holds anything at " + r.Path)}
	}
	return nil
}

// printFound prints the results of the query in one record.
func (r *record) printFound(c *cli, f *wire.Found) error {
	if r.JSON {
		return c.printJSON(f)
	}
	return c.printFrom(f.ID.String(), f.Record)
}

// printFrom prints the results of a query in one of several records. Each line begins with the id of the grid job.
func (c *cli) printFrom(id string, found []string) error {
	lines := make([]string, len(found))
	for i, text := range found {
		lines[i] = id + "\t" + text
	}
	return c.printTexts(lines)
}

// past parses the value of a flag for a time in the past: a time, or how long ago, such as "36h" or "7d". For "" it
// returns 0.
func past(flag, text string, now time.Time) (jjm.Time, error) {
	if text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return jjm.At(now.AddDate(0, 0, -int(n))), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return jjm.At(now.Add(-ago)), nil
	}
	if at, ok := dated(text, now); ok && at.Unix() >= 0 {
		return jjm.At(at), nil
	}
	return 0, usage("%s %.40q: want a time such as 2026-03-01 or \"2026-03-01 17:30\", or how long ago: 36h, 7d", flag, text)
}

// unreadable returns the error for n records that could not be read, nil if n is 0. The reasons were printed before.
func unreadable(n int) error {
	if n == 0 {
		return nil
	}
	return &exit{exitInternal, fmt.Errorf("not readable: %s", jjm.Count(n, "record"))}
}

// errNothing is the error that a query has no results in the record of a grid job.
type errNothing struct{ id, path string }

func (e errNothing) Error() string {
	return "the record of " + e.id + " holds nothing at " + e.path
}

// printTexts prints each text with a newline at its end. If standard output is a terminal, it prints the texts as
// plain.PrintableLines returns them, otherwise unchanged.
func (c *cli) printTexts(texts []string) error {
	safe := c.outFile != nil && isTerminal(c.outFile)
	for _, t := range texts {
		if safe {
			t = plain.PrintableLines(t)
		}
		if _, err := io.WriteString(c.out, strings.TrimSuffix(t, "\n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}
