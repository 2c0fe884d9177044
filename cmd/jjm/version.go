package main

import (
	"fmt"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/version"
)

// versions shows the versions of the programs.
type versions struct {
	JSON bool `name:"json" help:"One JSON object; daemon is absent if none answers."`

	place
}

// Run carries out jjm version.
func (v *versions) Run(c *cli) error {
	var told struct {
		JJM    string `json:"jjm"`
		Daemon string `json:"daemon,omitempty"`
	}
	told.JJM = version.Text()
	if a, err := ask(c, v.place, wire.VerbPing(), wire.PingRequest{}); err == nil {
		told.Daemon = a.Version
	}
	if v.JSON {
		return c.printJSON(told)
	}
	if told.Daemon == "" {
		told.Daemon = "does not answer"
	}
	_, err := fmt.Fprintf(c.out, "jjm %s\ndaemon %s\n", told.JJM, plain.Printable(told.Daemon))
	return err
}
