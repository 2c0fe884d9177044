package main

import (
	"fmt"
	"slices"
	"time"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// someHosts holds the flags and arguments of the commands about excluded hosts.
type someHosts struct {
	Reason  string   `placeholder:"TEXT" help:"The reason, for those who look for the host. To exclude a host needs one."`
	Cluster string   `placeholder:"NAME" help:"The cluster that has the hosts; may be left out if the site has one."`
	JSON    bool     `name:"json" help:"One JSON object per line."`
	Hosts   []string `arg:"" optional:"" name:"HOST" help:"The hosts, by the names that the batch system shows. Without it, the excluded hosts are shown."`

	place
}

// exclude keeps jobs off hosts, or shows the excluded hosts.
type exclude struct {
	someHosts
	term
	List bool `help:"Show the excluded hosts."`
}

// include lets jobs start on excluded hosts again.
type include struct{ someHosts }

const excludeHelp = " Everybody may see the excluded hosts; to change them is for administrators: root, with gate.mode 0600 " +
	"the daemon's account, and those of the setting gate.admins."

// Help returns the text of --help below the usage.
func (*exclude) Help() string {
	return "Each job that jjm submits from now on names the hosts to its batch system, which does not start it there. " +
		"Exclusions are stored and outlive the daemon; they last until --until, until --for is over, or until jjm include. " +
		"It prints how many jobs run on the hosts: they go on. It also prints how many jobs were submitted before and wait " +
		"in the batch system: they may still start on the hosts. If the batch system cannot exclude hosts, nothing is " +
		"stored, and the answer says so; then drain the host in the batch system." + excludeHelp
}

// Help returns the text of --help below the usage.
func (*include) Help() string {
	return "Without --cluster the hosts are included in every cluster. Jobs that were submitted before still avoid the " +
		"hosts." + excludeHelp
}

// Run carries out jjm exclude.
func (e *exclude) Run(c *cli) error {
	if len(e.Hosts) == 0 {
		if e.Reason != "" || e.term != (term{}) {
			return usage("name the hosts to exclude; see jjm exclude --help")
		}
		return e.show(c)
	}
	switch {
	case e.List:
		return usage("want --list or hosts, not both")
	case e.Reason == "":
		return usage("--reason is missing: say why, for those who look for the host")
	}
	x := &wire.Exclude{Hosts: e.Hosts, Cluster: e.Cluster, Reason: e.Reason}
	var err error
	now := time.Now()
	if x.For, x.Until, err = e.end(now); err != nil {
		return err
	}
	if x.Until != 0 && x.Until <= jjm.At(now) {
		return e.past(now)
	}
	out, err := e.ask(c, x)
	if err != nil || e.JSON {
		return orJSON(c, out, err)
	}
	for _, one := range out.Hosts {
		if slices.Contains(out.NoChange, one.Host) {
			continue
		}
		if _, err := fmt.Fprintf(c.out, "host %s excluded from cluster %s %s\n", field(one.Host), field(one.Cluster),
			one.Term()); err != nil {
			return err
		}
	}
	if err := unchangedHosts(c, out); err != nil {
		return err
	}
	return e.sayJobs(c, out)
}

// sayJobs prints how many jobs the exclusion does not touch.
func (e *exclude) sayJobs(c *cli, out *wire.Excluded) error {
	if out.Running > 0 {
		if _, err := fmt.Fprintf(c.out, "%s on it: not touched; see jjm find --host %s\n",
			jjm.Count(out.Running, "running local job"), field(out.Hosts[0].Host)); err != nil {
			return err
		}
	}
	if out.Queued == 0 {
		return nil
	}
	_, err := fmt.Fprintf(c.out, "%s submitted to cluster %s before: may still start on it\n",
		jjm.Count(out.Queued, "queued local job"), field(out.Hosts[0].Cluster))
	return err
}

// Run carries out jjm include.
func (i *include) Run(c *cli) error {
	if len(i.Hosts) == 0 {
		return usage("name the hosts to include; jjm exclude shows the excluded hosts")
	}
	out, err := i.ask(c, &wire.Exclude{Include: true, Hosts: i.Hosts, Cluster: i.Cluster, Reason: i.Reason})
	if err != nil || i.JSON {
		return orJSON(c, out, err)
	}
	for _, one := range out.Hosts {
		if _, err := fmt.Fprintf(c.out, "host %s included in cluster %s\n", field(one.Host), field(one.Cluster)); err != nil {
			return err
		}
	}
	return unchangedHosts(c, out)
}

// unchangedHosts prints a line for each host for which nothing changed, and below the reason.
func unchangedHosts(c *cli, out *wire.Excluded) error {
	for i, host := range out.NoChange {
		text := fmt.Sprintf("host %s no-change\n", field(host))
		if i < len(out.Notes) {
			text += noteLines(out.Notes[i : i+1])
		}
		if _, err := c.out.WriteString(text); err != nil {
			return err
		}
	}
	return nil
}

// orJSON returns err, or prints out as JSON if err is nil.
func orJSON(c *cli, out *wire.Excluded, err error) error {
	if err != nil {
		return err
	}
	return c.printJSON(out)
}

// ask sends the request. With nil it asks for the excluded hosts.
func (h *someHosts) ask(c *cli, x *wire.Exclude) (*wire.Excluded, error) {
	a, err := ask(c, h.place, wire.VerbExclude(), wire.ExcludeRequest{Exclude: x})
	return a.Excluded, err
}

// show prints the excluded hosts, those of one cluster if --cluster is given.
func (h *someHosts) show(c *cli) error {
	out, err := h.ask(c, nil)
	if err != nil {
		return err
	}
	var shown []jjm.Exclusion
	for _, one := range out.Hosts {
		if h.Cluster == "" || h.Cluster == one.Cluster {
			shown = append(shown, one)
		}
	}
	if !h.JSON {
		return c.excludedTable(shown)
	}
	for _, one := range shown {
		if err := c.printJSON(one); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) excludedTable(hosts []jjm.Exclusion) error {
	if len(hosts) == 0 {
		_, err := c.out.WriteString("no host is excluded\n")
		return err
	}
	rows := [][]string{{"CLUSTER", "HOST", "BY", plain.Zoned("SINCE"), "UNTIL", "REASON"}}
	for _, e := range hosts {
		until := "somebody includes it"
		if e.Until != 0 {
			until = plain.Stamp(e.Until)
		}
		rows = append(rows, []string{e.Cluster, e.Host, e.By, plain.TableClock(e.Since), until, e.Reason})
	}
	return c.table(rows, "HOST", "BY", "REASON")
}
