package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// clusters are the commands about clusters.
type clusters struct {
	Show  showClusters `cmd:"" default:"withargs" help:"The state of each batch system." example:"jjm clusters"`
	Reset resetCluster `cmd:"" help:"Close the circuit breaker of a cluster." example:"jjm clusters reset slurm"`
	Test  testCluster  `cmd:"" passthrough:"" help:"Test a cluster with real jobs." example:"jjm clusters test slurm"`
}

// showClusters shows the state of the clusters.
type showClusters struct {
	JSON bool `name:"json" help:"One JSON object per line."`

	place
}

// resetCluster closes the circuit breaker of a cluster.
type resetCluster struct {
	JSON bool   `name:"json" help:"Answer as one line of JSON."`
	Name string `arg:"" name:"NAME" help:"The cluster."`

	place
}

// Help returns the text of --help below the usage.
func (*showClusters) Help() string {
	return "LISTING is how long a listing of all jobs takes, and how often jjm lists. COMMANDS is how many commands " +
		"ran within the last minute, and how many may run. The lines below the table show the problems and what to do about them, how many " +
		"jobs of an account the batch system accepts if it refused more, and the storages that a cluster can read, " +
		"if not all."
}

// Help returns the text of --help below the usage.
func (*resetCluster) Help() string {
	return "jjm sends commands to the cluster again at once, not only after the next probe; for administrators."
}

// Run carries out jjm clusters show.
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
	if err := c.clusterTrouble(a.Clusters); err != nil {
		return err
	}
	if err := c.nature(a.Clusters); err != nil {
		return err
	}
	for _, note := range a.Notes {
		if _, err := fmt.Fprintln(c.out, plain.Printable(note)); err != nil {
			return err
		}
	}
	return nil
}

// nature prints, for each cluster, how reliably it avoids submitting a job twice, and the storages that its workers can
// read if they cannot read all.
func (c *cli) nature(all []wire.Cluster) error {
	for _, cl := range all {
		if cl.Guarantee != "" {
			if _, err := fmt.Fprintln(c.out, hanging(plain.Printable(cl.Name+": submission: "+cl.Guarantee))); err != nil {
				return err
			}
		}
		if len(cl.Storages) == 0 {
			continue
		}
		reads := cl.Name + ": reads files at " + strings.Join(cl.Storages, ", ")
		if _, err := fmt.Fprintln(c.out, hanging(plain.Printable(reads))); err != nil {
			return err
		}
	}
	return nil
}

// Run carries out jjm clusters reset.
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
	_, err := fmt.Fprintf(c.out, "%s reset\n", plain.Printable(name))
	return err
}

func (c *cli) clusterTable(all []wire.Cluster) error {
	now := jjm.At(time.Now())
	rows := [][]string{{"CLUSTER", "KIND", "STATE", "SLOTS", "WAITING", "QUEUED", "RUNNING", "LISTING", "COMMANDS",
		plain.Zoned("LAST SEEN")}}
	for _, cl := range all {
		slots := "?"
		if cl.Slots > 0 {
			slots = fmt.Sprint(cl.Slots)
		}
		rows = append(rows, []string{cl.Name, cl.Kind, clusterState(cl, now), slots, fmt.Sprint(cl.Waiting),
			fmt.Sprint(cl.Queued),
			fmt.Sprint(cl.Running), listingText(cl), commandsText(cl), plain.Stamp(cl.LastSeen)})
	}
	return c.table(rows, "CLUSTER", "KIND", "STATE")
}

// clusterTrouble prints the lines of clusterNotes for each cluster.
func (c *cli) clusterTrouble(all []wire.Cluster) error {
	for _, cl := range all {
		for _, line := range clusterNotes(cl) {
			if _, err := fmt.Fprintln(c.out, hanging(plain.Printable(cl.Name+": "+line))); err != nil {
				return err
			}
		}
	}
	return nil
}

// clusterState returns the state of a cluster in one to three words. If several things apply, it names only
// the first of these: a circuit breaker, another trouble, an order of an operator such as a pause.
func clusterState(cl wire.Cluster, now jjm.Time) string {
	switch {
	case cl.Breaker != nil:
		return "breaker " + cl.Breaker.State
	case !cl.Healthy:
		return "in trouble"
	}
	state := "ok"
	if cl.LastSeen == 0 && cl.Slots == 0 { // neither a listing nor a probe has returned anything
		state = "not asked yet"
	}
	for _, o := range cl.Orders { // the last order in the list determines the state
		if o.Kind == jjm.OrderCluster && o.Begun(now) {
			state = o.Doing()
		}
	}
	return state
}

// clusterNotes returns the lines about a cluster that are printed below the table: its problems, since when and, if
// that is known, until the next attempt; the orders in force; and the limits that jjm learnt from refusals.
func clusterNotes(cl wire.Cluster) []string {
	var notes []string
	if b := cl.Breaker; b == nil && !cl.Healthy && cl.Cause != "" {
		notes = append(notes, "no listing"+since(cl.Since)+": "+cl.Cause)
	} else if b != nil {
		notes = append(notes, fmt.Sprintf("circuit breaker %s%s: %s; next probe %s", b.State, since(b.Since), b.Cause,
			plain.Clock(b.NextProbe)))
	}
	for _, u := range cl.Unlisted {
		notes = append(notes, "no listing of "+u.Account+since(u.Since)+": "+u.Cause)
	}
	if cl.Remedy != "" {
		notes = append(notes, "do: "+cl.Remedy)
	}
	if b := cl.Accounting; b != nil {
		notes = append(notes, fmt.Sprintf("no accounting%s: %s; asked again %s", since(b.Since), b.Cause,
			plain.Clock(b.NextProbe)))
	}
	for _, o := range cl.Orders {
		note := orderText(o)
		if o.Until == 0 {
			note += "; until somebody resumes it"
		}
		switch {
		case o.Verb == jjm.OrderMaintenance:
			note = o.String()
		case o.Kind == jjm.OrderQueue:
			note = "queue " + o.Name + " is " + note
		}
		notes = append(notes, note)
	}
	for _, l := range cl.Learnt {
		notes = append(notes, fmt.Sprintf("takes at most %s of %s: learnt %s, forgotten %s: %s",
			jjm.Count(l.Jobs, "job"), l.Account, plain.Clock(l.Since), plain.Clock(l.Until), l.Cause))
	}
	return append(notes, otherTrouble(cl)...)
}

// otherTrouble returns the troubles of a cluster, except the trouble that clusterNotes prints with its cause. It
// removes the name of the cluster from the texts, because each line begins with it.
func otherTrouble(cl wire.Cluster) (notes []string) {
	told := ""
	switch {
	case cl.Breaker != nil:
		told = cl.Breaker.Cause
	case !cl.Healthy:
		told = cl.Cause
	}
	for _, trouble := range cl.Trouble {
		if told == "" || !strings.HasSuffix(trouble, ": "+told) {
			notes = append(notes, strings.TrimPrefix(trouble, cl.Name+" "))
		}
	}
	return notes
}

func since(t jjm.Time) string {
	if t == 0 {
		return ""
	}
	return " since " + plain.Clock(t)
}

// listingText returns how long the last listing took and how often jjm lists, "" before the first listing.
func listingText(cl wire.Cluster) string {
	switch {
	case cl.LastSeen == 0 || cl.Interval == 0 && cl.Listing == 0:
		return ""
	case cl.Interval == 0:
		return jjm.HowLong(cl.Listing.D()) + ", none while idle"
	}
	return jjm.HowLong(cl.Listing.D()) + " every " + jjm.HowLong(cl.Interval.D())
}

// commandsText returns how many commands ran within the last minute and, if there is a limit, how many may run.
func commandsText(cl wire.Cluster) string {
	n := strconv.Itoa(cl.Commands)
	if cl.Ceiling > 0 {
		n += "/" + strconv.Itoa(cl.Ceiling)
	}
	return n
}
