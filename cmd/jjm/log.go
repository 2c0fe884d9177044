package main

import (
	"jjm/wire"
)

// logs shows jjm's own log of a grid job.
type logs struct {
	ID string `arg:"" name:"ID" help:"The grid job."`

	place
}

// Run implements the command.
func (l *logs) Run(c *cli) error {
	if err := checkRefs([]string{l.ID}, true); err != nil {
		return err
	}
	a, err := ask(c, l.place, wire.VerbLog(), wire.LogRequest{One: wire.Of(l.ID)})
	if err != nil {
		return err
	}
	return c.printTexts(a.Log)
}
