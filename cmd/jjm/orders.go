package main

import (
	"fmt"
	"slices"
	"time"

	"jjm"
	"jjm/wire"
)

// order is what is drained, paused or resumed, and why.
type order struct {
	Reason string `placeholder:"TEXT" help:"Say why: people whose jobs wait are told."`
	JSON   bool   `name:"json" help:"One JSON object per line."`
	Kind   string `arg:"" optional:"" name:"KIND" help:"cluster, queue, type, user or job."`
	Name   string `arg:"" optional:"" name:"NAME" help:"Its name; of a queue CLUSTER/QUEUE, of a job its id. Without: what is in force."`

	place
}

// term is when an order ends by itself.
type term struct {
	For   string `placeholder:"DURATION" help:"End by itself after this duration, such as 30m or 2h."`
	Until string `placeholder:"TIME" help:"End by itself at this time: 17:30, \"2026-03-01 17:30\", or as in RFC 3339."`
}

// drain takes no new grid jobs.
type drain struct {
	order
	term
}

// pause submits nothing more.
type pause struct {
	order
	term
}

// resume ends both.
type resume struct{ order }

const orderHelp = " Without a name: what is in force. A grid job is paused and resumed by its owner too, and an id alone " +
	"stands for job ID; all else is for administrators: root, with gate.mode 0600 the daemon's account, and those of " +
	"the setting gate.admins."

// Help is the rest of its help.
func (*drain) Help() string {
	return "New grid jobs of a type, of a user, or that can go to drained clusters or queues only, are refused with the " +
		"reason. Of several clusters the others are used. A grid job cannot be drained." + orderHelp
}

// Help is the rest of its help.
func (*pause) Help() string {
	return "Grid jobs are accepted and wait; their status says who paused what, why and until when. A grid job that is " +
		"paused is told as suspended: what was submitted goes on, nothing more is submitted until it is resumed." + orderHelp
}

// Help is the rest of its help.
func (*resume) Help() string { return "Both end, whoever ordered them." + orderHelp }

// Run implements the command.
func (d *drain) Run(c *cli) error { return d.put(c, jjm.OrderDrain, d.term) }

// Run implements the command.
func (p *pause) Run(c *cli) error { return p.put(c, jjm.OrderPause, p.term) }

// Run implements the command.
func (r *resume) Run(c *cli) error { return r.put(c, jjm.OrderResume, term{}) }

// put returns the order, or without a name tells what is in force.
func (o *order) put(c *cli, verb string, until term) error {
	var req wire.OrderRequest
	if _, err := jjm.ParseRef(o.Kind); err == nil && o.Name == "" {
		o.Kind, o.Name = jjm.OrderJob, o.Kind
	}
	switch {
	case o.Kind == "" && o.Reason == "" && until == term{}:
	case o.Name != "":
		given, err := o.given(verb, until, time.Now())
		if err != nil {
			return err
		}
		req.Order = given
	default:
		return usage("want cluster, queue, type, user or job, and a name; see jjm %s --help", verb)
	}
	a, err := ask(c, o.place, wire.VerbOrder(), req)
	if err != nil {
		return err
	}
	if o.JSON {
		for _, order := range a.Orders {
			if err := c.printJSON(order); err != nil {
				return err
			}
		}
		return nil
	}
	return o.print(c, verb, a.Orders)
}

// given is the order as the daemon takes it.
func (o *order) given(verb string, until term, now time.Time) (*wire.Order, error) {
	w := &wire.Order{Verb: verb, Kind: o.Kind, Name: o.Name, Reason: o.Reason}
	if !slices.Contains(jjm.OrderKinds(), w.Kind) {
		return nil, usage("%.40q: want cluster, queue, type, user or job; see jjm %s --help", w.Kind, verb)
	}
	if verb != jjm.OrderResume && w.Kind != jjm.OrderJob && o.Reason == "" {
		return nil, usage("--reason is missing: say why, for those whose jobs wait")
	}
	if until.For != "" && until.Until != "" {
		return nil, usage("want --for or --until, not both")
	}
	if until.For != "" {
		if err := w.For.UnmarshalText([]byte(until.For)); err != nil || w.For <= 0 {
			return nil, usage("--for %.40q: want a duration such as 30m or 2h", until.For)
		}
	}
	if until.Until != "" {
		at, err := moment(until.Until, now)
		if err != nil {
			return nil, err
		}
		w.Until = jjm.At(at)
	}
	return w, nil
}

// dated reads a time that tells its day, in the place of now unless it says where.
func dated(s string, now time.Time) (t time.Time, ok bool) {
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05",
		"2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.ParseInLocation(form, s, now.Location()); err == nil {
			return t, true
		}
	}
	return t, false
}

// moment reads a time as people write it; an hour alone is its next one.
func moment(s string, now time.Time) (time.Time, error) {
	if t, ok := dated(s, now); ok {
		return t, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return time.Time{}, usage("--until %.40q: want a time such as 17:30, \"2026-03-01 17:30\" or 2026-03-01T17:30:00Z", s)
	}
	at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at, nil
}

func (o *order) print(c *cli, verb string, orders []jjm.Order) error {
	if o.Kind == "" {
		if len(orders) == 0 {
			_, err := c.out.WriteString("nothing is drained or paused\n")
			return err
		}
		return c.orderTable(orders)
	}
	if len(orders) == 0 {
		_, err := fmt.Fprintf(c.out, "%s %s no-change\n", field(o.Kind), field(o.Name))
		return err
	}
	for _, order := range orders {
		did := order.Doing()
		if verb == jjm.OrderResume {
			did = "resumed, was " + orderText(order)
		} else if order.Until != 0 {
			did += " until " + clock(order.Until)
		}
		if _, err := fmt.Fprintf(c.out, "%s %s %s\n", field(order.Kind), field(order.Name), printable(did)); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) orderTable(orders []jjm.Order) error {
	rows := [][]string{{"WHAT", "NAME", "IS", "BY", "SINCE", "UNTIL", "REASON"}}
	for _, o := range orders {
		until := "resumed"
		if o.Until != 0 {
			until = clock(o.Until)
		}
		rows = append(rows, []string{o.Kind, o.Name, o.Doing(), o.By, clock(o.Since), until, o.Reason})
	}
	return c.table(rows)
}

// orderText says who ordered what, why, and until when.
func orderText(o jjm.Order) string {
	s := o.Doing() + " by " + o.By + " since " + clock(o.Since)
	if o.Until != 0 {
		s += " until " + clock(o.Until)
	}
	if o.Reason == "" {
		return s
	}
	return s + ": " + o.Reason
}
