package main

import (
	"jjm/internal/api/client"
	"jjm/internal/api/wire"
)

// logs shows jjm's own log of a grid job.
type logs struct {
	IDs []string `arg:"" name:"ID" help:"Grid jobs."`

	place
}

// Run implements the command.
func (l *logs) Run(c *cli) error {
	ids, err := l.named(c, "log", l.IDs, true, true)
	if err != nil {
		return err
	}
	return c.forEach(ids, func(id string) error { return l.show(c, id) })
}

// show prints the log of one grid job.
func (l *logs) show(c *cli, id string) error {
	a, err := ask(c, l.place, wire.VerbLog(), wire.LogRequest{One: wire.OneRef(id)})
	if client.IsUnreachable(err) {
		a.Log, err = l.fromRecord(c, id, err)
	}
	if err != nil {
		return err
	}
	return c.printTexts(a.Log)
}

// fromRecord returns the changes in the record of a job as lines of the log. down is the error because no daemon
// answers.
func (l *logs) fromRecord(c *cli, id string, down error) ([]string, error) {
	entries, err := l.offline(c, "log", down).history(id, 0)
	if err != nil {
		return nil, err
	}
	lines := make([]string, len(entries))
	for i, e := range entries {
		lines[i] = e.LogLine()
	}
	return lines, nil
}
