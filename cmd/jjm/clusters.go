package main

import (
	"flag"
	"fmt"

	"jjm/wire"
)

// clusters shows the batch systems.
type clusters struct {
	place
	JSON bool
}

func (s *clusters) flags(fs *flag.FlagSet) {
	s.place.flags(fs)
	fs.BoolVar(&s.JSON, "json", false, "One JSON object per line.")
}

func clustersCommand() command {
	return command{
		name: "clusters", summary: "The batch systems: well or not, and how busy",
		example: "jjm clusters",
		make:    func() verb { return &clusters{} },
	}
}

func (s *clusters) run(c *cli) error {
	a, err := s.ask(c, wire.Request{Verb: wire.VerbClusters})
	if err != nil {
		return err
	}
	if s.JSON {
		for _, cl := range a.Clusters {
			if err := c.printJSON(cl); err != nil {
				return err
			}
		}
		return nil
	}
	return c.clusterTable(a.Clusters)
}

func (c *cli) clusterTable(all []wire.Cluster) error {
	rows := [][]string{{"CLUSTER", "KIND", "STATE", "SLOTS", "WAITING", "QUEUED", "RUNNING", "LAST SEEN", "SUBMISSION"}}
	for _, cl := range all {
		state := "well"
		if !cl.Healthy {
			state = "not well"
		}
		slots := "?"
		if cl.Slots > 0 {
			slots = fmt.Sprint(cl.Slots)
		}
		rows = append(rows, []string{cl.Name, cl.Kind, state, slots, fmt.Sprint(cl.Waiting), fmt.Sprint(cl.Queued),
			fmt.Sprint(cl.Running), clock(cl.LastSeen), cl.Guarantee})
	}
	if err := c.table(rows); err != nil {
		return err
	}
	for _, cl := range all {
		if !cl.Healthy && cl.Cause != "" {
			_, _ = fmt.Fprintf(c.out, "%s: %s\n", printable(cl.Name), printable(cl.Cause))
		}
	}
	return nil
}
