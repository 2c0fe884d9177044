package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"jjm"
	"jjm/wire"
)

// clusters are the commands about batch systems.
type clusters struct {
	Show  showClusters `cmd:"" default:"withargs" help:"The batch systems: well or not, and how busy." example:"jjm clusters"`
	Reset resetCluster `cmd:"" help:"Close the circuit breaker of one." example:"jjm clusters reset slurm"`
	Test  testCluster  `cmd:"" passthrough:"" help:"Try out one with real jobs." example:"jjm clusters test slurm"`
}

// showClusters shows the batch systems.
type showClusters struct {
	JSON bool `name:"json" help:"One JSON object per line."`

	place
}

// resetCluster closes a circuit breaker.
type resetCluster struct {
	JSON bool   `name:"json" help:"Answer as one line of JSON."`
	Name string `arg:"" name:"NAME" help:"The cluster."`

	place
}

// Help is the rest of its help.
func (*showClusters) Help() string {
	return "LISTING is how long it takes to ask for all jobs, and how often that is done; COMMANDS is how many " +
		"commands were run within the last minute, of how many at most. " +
		"Below it says what a cluster reads, if not all storages."
}

// Help is the rest of its help.
func (*resetCluster) Help() string {
	return "Commands are sent at once to a cluster that did not answer, not only after the next probe; for administrators."
}

// Run implements the command.
func (s *showClusters) Run(c *cli) error {
	a, err := ask(c, s.place, wire.VerbClusters(), wire.ClustersRequest{})
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
	if err := c.clusterTable(a.Clusters); err != nil {
		return err
	}
	if err := c.readsLines(a.Clusters); err != nil {
		return err
	}
	for _, note := range a.Notes {
		if _, err := fmt.Fprintln(c.out, printable(note)); err != nil {
			return err
		}
	}
	return nil
}

// readsLines say of each cluster what its workers can read, if that is not all.
func (c *cli) readsLines(all []wire.Cluster) error {
	for _, cl := range all {
		if len(cl.Storages) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(c.out, "%s: reads files at %s\n", printable(cl.Name),
			printable(strings.Join(cl.Storages, ", "))); err != nil {
			return err
		}
	}
	return nil
}

// Run implements the command.
func (s *resetCluster) Run(c *cli) error {
	name := s.Name
	if _, err := ask(c, s.place, wire.VerbReset(), wire.ResetRequest{Cluster: name}); err != nil {
		return err
	}
	if s.JSON {
		return c.printJSON(struct {
			Reset string `json:"reset"`
		}{name})
	}
	_, err := fmt.Fprintf(c.out, "%s reset\n", printable(name))
	return err
}

func (c *cli) clusterTable(all []wire.Cluster) error {
	rows := [][]string{{"CLUSTER", "KIND", "STATE", "SLOTS", "WAITING", "QUEUED", "RUNNING", "LISTING", "COMMANDS",
		"LAST SEEN", "SUBMISSION"}}
	for _, cl := range all {
		slots := "?"
		if cl.Slots > 0 {
			slots = fmt.Sprint(cl.Slots)
		}
		rows = append(rows, []string{cl.Name, cl.Kind, clusterState(cl), slots, fmt.Sprint(cl.Waiting), fmt.Sprint(cl.Queued),
			fmt.Sprint(cl.Running), listingText(cl), commandsText(cl), clock(cl.LastSeen), cl.Guarantee})
	}
	if err := c.table(rows); err != nil {
		return err
	}
	for _, cl := range all {
		for _, line := range clusterNotes(cl) {
			if _, err := fmt.Fprintf(c.out, "%s: %s\n", printable(cl.Name), printable(line)); err != nil {
				return err
			}
		}
	}
	return nil
}

// clusterState is the state in a word or two.
func clusterState(cl wire.Cluster) string {
	switch {
	case cl.Breaker != nil:
		return "breaker " + cl.Breaker.State
	case !cl.Healthy:
		return "in trouble"
	}
	state := "ok"
	for _, o := range cl.Orders { // a pause sorts behind a drain, and says more
		if o.Kind == jjm.OrderCluster {
			state = o.Doing()
		}
	}
	return state
}

// clusterNotes are the lines below the table: what is wrong, since when, and
// when it is looked at again.
func clusterNotes(cl wire.Cluster) []string {
	var notes []string
	if b := cl.Breaker; b == nil && !cl.Healthy && cl.Cause != "" {
		notes = append(notes, "no listing"+since(cl.Since)+": "+cl.Cause)
	} else if b != nil {
		notes = append(notes, fmt.Sprintf("circuit breaker %s%s: %s; next probe %s, or jjm clusters reset %s",
			b.State, since(b.Since), b.Cause, clock(b.NextProbe), cl.Name))
	}
	if b := cl.Accounting; b != nil {
		notes = append(notes, fmt.Sprintf("no accounting%s: %s; asked again %s", since(b.Since), b.Cause, clock(b.NextProbe)))
	}
	for _, o := range cl.Orders {
		note := orderText(o)
		if o.Kind == jjm.OrderQueue {
			note = "queue " + o.Name + " is " + note
		}
		notes = append(notes, note)
	}
	return append(notes, cl.Trouble...)
}

func since(t jjm.Time) string {
	if t == 0 {
		return ""
	}
	return " since " + clock(t)
}

// listingText is how long a listing takes, and how often there is one.
func listingText(cl wire.Cluster) string {
	if cl.Interval == 0 {
		return ""
	}
	return fmt.Sprintf("%v every %v", shortly(cl.Listing.D()), shortly(cl.Interval.D()))
}

// shortly rounds for people: "112ms", "3.4s", "2m10s".
func shortly(d time.Duration) time.Duration {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond)
	case d < time.Minute:
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// commandsText is how many commands were run within a minute, of how many.
func commandsText(cl wire.Cluster) string {
	n := strconv.Itoa(cl.Commands)
	if cl.Ceiling > 0 {
		n += "/" + strconv.Itoa(cl.Ceiling)
	}
	return n
}
