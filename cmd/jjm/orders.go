package main

import (
	"flag"
	"fmt"
	"time"

	"jjm"
	"jjm/wire"
)

// order drains, pauses or resumes a cluster, a job type or a user.
type order struct {
	place
	verb               string
	Reason, For, Until string
	JSON               bool
	Words              []string // cluster|type|user NAME, or none
}

func (o *order) flags(fs *flag.FlagSet) {
	o.place.flags(fs)
	fs.StringVar(&o.Reason, "reason", "", "Say why: people whose jobs wait are told this `TEXT`.")
	if o.verb != jjm.OrderResume {
		fs.StringVar(&o.For, "for", "", "End by itself after this `DURATION`, such as 30m or 2h.")
		fs.StringVar(&o.Until, "until", "", "End by itself at this `TIME`: 17:30, \"2026-03-01 17:30\", or as in RFC 3339.")
	}
	fs.BoolVar(&o.JSON, "json", false, "One JSON object per line.")
}

func (o *order) take(words []string) { o.Words = words }

func orderCommand(name, summary, detail string) command {
	return command{
		name: name, args: "[KIND NAME]", max: 2, summary: summary,
		detail: "KIND is cluster, type or user. " + detail + " Without a name: what is in force. To order is for administrators: root, with gate.mode 0600 the daemon's account, and those of the " +
			"setting gate.admins.",
		example: map[string]string{
			jjm.OrderDrain:  `jjm drain cluster slurm --reason maintenance`,
			jjm.OrderPause:  `jjm pause user alice --for 2h --reason full-disk`,
			jjm.OrderResume: "jjm resume cluster slurm",
		}[name],
		make: func() verb { return &order{verb: name} },
	}
}

func drainCommand() command {
	return orderCommand(jjm.OrderDrain, "Take no new grid jobs; accepted ones go on",
		"New grid jobs of a type, of a user, or that can go to drained clusters only, are refused with the reason. Of several clusters the others are used.")
}

func pauseCommand() command {
	return orderCommand(jjm.OrderPause, "Submit nothing more; what runs goes on",
		"Grid jobs are accepted and wait; their status says who paused what, why and until when.")
}

func resumeCommand() command {
	return orderCommand(jjm.OrderResume, "End a drain or a pause", "Both end, whoever ordered them.")
}

func (o *order) run(c *cli) error {
	req := wire.Request{Verb: wire.VerbOrder}
	switch len(o.Words) {
	case 0:
		if o.Reason != "" || o.For != "" || o.Until != "" {
			return usage("want cluster, type or user, and a name; see jjm %s --help", o.verb)
		}
	case 2:
		given, err := o.given(time.Now())
		if err != nil {
			return err
		}
		req.Order = given
	default:
		return usage("want cluster, type or user, and a name; see jjm %s --help", o.verb)
	}
	a, err := o.ask(c, req)
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
	return o.print(c, a.Orders)
}

// given is the order as the daemon takes it.
func (o *order) given(now time.Time) (*wire.Order, error) {
	w := &wire.Order{Verb: o.verb, Kind: o.Words[0], Name: o.Words[1], Reason: o.Reason}
	switch w.Kind {
	case jjm.OrderCluster, jjm.OrderType, jjm.OrderUser:
	default:
		return nil, usage("%.40q: want cluster, type or user; see jjm %s --help", w.Kind, o.verb)
	}
	if o.verb != jjm.OrderResume && o.Reason == "" {
		return nil, usage("--reason is missing: say why, for those whose jobs wait")
	}
	if o.For != "" && o.Until != "" {
		return nil, usage("want --for or --until, not both")
	}
	if o.For != "" {
		if err := w.For.UnmarshalText([]byte(o.For)); err != nil || w.For <= 0 {
			return nil, usage("--for %.40q: want a duration such as 30m or 2h", o.For)
		}
	}
	if o.Until != "" {
		at, err := moment(o.Until, now)
		if err != nil {
			return nil, err
		}
		w.Until = jjm.At(at)
	}
	return w, nil
}

// moment reads a time as people write it; an hour alone is its next one.
func moment(s string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, form := range []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.ParseInLocation(form, s, now.Location()); err == nil {
			return t, nil
		}
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

func (o *order) print(c *cli, orders []jjm.Order) error {
	if len(o.Words) == 0 {
		if len(orders) == 0 {
			_, err := c.out.WriteString("nothing is drained or paused\n")
			return err
		}
		return c.orderTable(orders)
	}
	if len(orders) == 0 {
		_, err := fmt.Fprintf(c.out, "%s %s no-change\n", field(o.Words[0]), field(o.Words[1]))
		return err
	}
	for _, order := range orders {
		did := order.Doing()
		if o.verb == jjm.OrderResume {
			did = "resumed, was " + did + " by " + order.By + ": " + order.Reason
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
	return s + ": " + o.Reason
}
