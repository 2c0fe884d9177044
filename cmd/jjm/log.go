package main

import (
	"flag"

	"jjm/wire"
)

// logs shows jjm's own log of a grid job.
type logs struct {
	place
	ID string
}

func (l *logs) flags(fs *flag.FlagSet) {
	l.place.flags(fs)
}

func (l *logs) take(words []string) { l.ID = words[0] }

func logCommand() command {
	return command{
		name: "log", args: "ID", min: 1, max: 1, summary: "jjm's own log of a grid job",
		example: "jjm log 17",
		make:    func() verb { return &logs{} },
	}
}

func (l *logs) run(c *cli) error {
	if err := checkRefs([]string{l.ID}, true); err != nil {
		return err
	}
	a, err := l.ask(c, wire.Request{Verb: wire.VerbLog, Refs: []string{l.ID}})
	if err != nil {
		return err
	}
	return c.printTexts(a.Log)
}
