package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// order holds the flags and arguments of the commands that drain, pause and resume. Such an order is about a cluster, a
// queue, a job type, a user or a grid job.
type order struct {
	Reason string `placeholder:"TEXT" help:"The reason, for people whose jobs wait. A drain and a pause need one."`
	JSON   bool   `name:"json" help:"One JSON object per line."`
	Kind   string `arg:"" optional:"" name:"KIND" help:"cluster, queue, type, user or job."`
	Name   string `arg:"" optional:"" name:"NAME" help:"Its name; of a queue CLUSTER/QUEUE, of a job its id. Without it, the orders in force are shown."`

	place
}

// term holds the flags for the time at which an order ends.
type term struct {
	For   string `placeholder:"DURATION" help:"End by itself after this duration, such as 30m or 2h."`
	Until string `placeholder:"TIME" help:"End by itself at this time: 17:30, \"2026-03-01 17:30\", or as in RFC 3339."`
}

// end returns the values of --for and --until; at most one of them is not 0. The error says what is wrong with a flag.
func (t term) end(now time.Time) (after jjm.Duration, until jjm.Time, err error) {
	if t.For != "" && t.Until != "" {
		return 0, 0, usage("want --for or --until, not both")
	}
	if t.For != "" {
		if err := after.UnmarshalText([]byte(t.For)); err != nil || after <= 0 {
			return 0, 0, usage("--for %.40q: want a duration such as 30m or 2h", t.For)
		}
	}
	if t.Until != "" {
		at, err := moment("--until", t.Until, now)
		if err != nil {
			return 0, 0, err
		}
		until = jjm.At(at)
	}
	return after, until, nil
}

// past returns the error for a time of --until that is not after now.
func (t term) past(now time.Time) error {
	return usage("--until %.40q: want a time after %s", t.Until, now.Format("2006-01-02 15:04 MST"))
}

// drain drains a cluster, a queue, a job type or a user, or announces a maintenance window with --from.
type drain struct {
	order
	term
	From string `placeholder:"TIME" help:"Announce a maintenance window that begins then (forms of TIME as for --until): grid jobs are accepted, and nothing is submitted that would not end before."`
}

// pause pauses the submission of local jobs.
type pause struct {
	order
	term
}

// resume ends drains, pauses and maintenance windows.
type resume struct{ order }

const orderHelp = " Without a name it shows the orders in force. The owner of a grid job may pause and resume it too; an id " +
	"alone stands for job ID. All other orders are for administrators: root, with gate.mode 0600 the daemon's account, " +
	"and those of the setting gate.admins."

// Help returns the text of --help below the usage.
func (*drain) Help() string {
	return "New grid jobs of a type, of a user, or that may only use drained clusters or queues, are refused with " +
		"the reason. Those that may use other clusters use these. A grid job cannot be drained.\n\n" +
		"With --from the order is a maintenance window of a cluster or a queue, which ends at --until or after " +
		"--for. Grid jobs are accepted. Before the window begins, a local job is submitted only if it ends " +
		"before, by its request.walltime or else by the cluster's default. During the window none is submitted, " +
		"and afterwards all goes on by itself. Running jobs are not touched.\n\n" +
		"A TIME is 17:30, the next such minute; 2026-12-01 17:30 or 2026-12-01T17:30; 2026-12-01, its midnight; or with a " +
		"zone, 2026-12-01T17:30:00+01:00. Times are in the zone of this machine unless they name one.\n\n" + strings.TrimSpace(orderHelp)
}

// Help returns the text of --help below the usage.
func (*pause) Help() string {
	return "Grid jobs are accepted and wait; their status says who paused what, why and until when. A paused grid job " +
		"has the status paused (its gatekeeper sees it as suspended): submitted local jobs go on, and nothing more " +
		"is submitted until it is resumed." + orderHelp
}

// Help returns the text of --help below the usage.
func (*resume) Help() string {
	return "This ends all drains, pauses and maintenance windows of the name, whoever ordered them." + orderHelp
}

// Run carries out jjm drain.
func (d *drain) Run(c *cli) error { return d.put(c, jjm.OrderDrain, d.From, d.term) }

// Run carries out jjm pause.
func (p *pause) Run(c *cli) error { return p.put(c, jjm.OrderPause, "", p.term) }

// Run carries out jjm resume.
func (r *resume) Run(c *cli) error { return r.put(c, jjm.OrderResume, "", term{}) }

// put sends the order of the command line to the daemon, and prints the orders that it set or ended. Without a kind and
// a name, it prints the orders in force. verb is drain, pause or resume.
func (o *order) put(c *cli, verb, from string, until term) error {
	var req wire.OrderRequest
	if _, err := jjm.ParseRef(o.Kind); err == nil && o.Name == "" {
		o.Kind, o.Name = jjm.OrderJob, o.Kind
	}
	switch {
	case o.Kind == "" && o.Reason == "" && from == "" && until == term{}:
	case o.Name != "":
		given, err := o.given(verb, from, until, time.Now())
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
	return o.print(c, verb, a)
}

// given returns the order of the command line for a request. from is the value of --from, and until the values of --for
// and --until. The error says what is wrong with the command line.
func (o *order) given(verb, from string, until term, now time.Time) (*wire.Order, error) {
	current := now
	w := &wire.Order{Verb: verb, Kind: o.Kind, Name: o.Name, Reason: o.Reason}
	if !slices.Contains(jjm.OrderKinds(), w.Kind) {
		return nil, usage("%.40q: want cluster, queue, type, user or job; see jjm %s --help", w.Kind, verb)
	}
	if verb != jjm.OrderResume && w.Kind != jjm.OrderJob && o.Reason == "" {
		return nil, usage("--reason is missing: say why, for those whose jobs wait")
	}
	if from != "" {
		begin, err := moment("--from", from, now)
		if err != nil {
			return nil, err
		}
		if until == (term{}) {
			return nil, usage("--from: a maintenance window needs an end: want --until or --for too")
		}
		w.From, now = jjm.At(begin), begin // a time of day in --until is its next occurrence after the beginning
	}
	var err error
	if w.For, w.Until, err = until.end(now); err != nil {
		return nil, err
	}
	if from == "" && w.Until != 0 && w.Until <= jjm.At(now) {
		return nil, until.past(now)
	}
	if end := windowEnd(w); end != 0 && end <= jjm.At(current) {
		return nil, usage("--from %.40q: that window is over, it ended at %s: want a later end", from, plain.Clock(end))
	}
	return w, nil
}

// windowEnd returns the end of an announced maintenance window, and 0 for every other order.
func windowEnd(w *wire.Order) jjm.Time {
	switch {
	case w.From == 0:
		return 0
	case w.Until != 0:
		return w.Until
	}
	return w.From.Add(w.For.D())
}

// dated parses a time with a date. If the text has no time zone, the time is in the zone of now. ok is false if the
// text is not such a time.
func dated(s string, now time.Time) (t time.Time, ok bool) {
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05",
		"2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.ParseInLocation(form, s, now.Location()); err == nil {
			return t, true
		}
	}
	return t, false
}

// moment parses the value of a flag: a time with a date, or a time of day, which means its next occurrence. The error
// names the flag.
func moment(flag, s string, now time.Time) (time.Time, error) {
	if t, ok := dated(s, now); ok {
		return t, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return time.Time{}, usage("%s %.40q: want a time such as 17:30, 2026-03-01T17:30 or 2026-03-01T17:30:00Z", flag, s)
	}
	at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at, nil
}

func (o *order) print(c *cli, verb string, a wire.OrderAnswer) error {
	orders := a.Orders
	if o.Kind == "" {
		if len(orders) == 0 {
			_, err := c.out.WriteString("nothing is drained or paused\n")
			return err
		}
		return c.orderTable(orders)
	}
	if a.NoChange || len(orders) == 0 {
		_, err := fmt.Fprintf(c.out, "%s %s no-change\n%s", field(o.Kind), field(o.Name), noteLines(a.Notes))
		return err
	}
	for _, order := range orders {
		did := orderWord(order)
		switch {
		case verb == jjm.OrderResume:
			did = "resumed, was " + orderText(order)
		case order.From != 0:
			did += " from " + order.From.Local() + " until " + order.Until.Local() + ": what would not end before it waits"
		case order.Until != 0:
			did += " until " + plain.Clock(order.Until)
		}
		if _, err := fmt.Fprintf(c.out, "%s %s %s\n", field(order.Kind), field(order.Name),
			plain.Printable(did)); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) orderTable(orders []jjm.Order) error {
	rows := [][]string{{"WHAT", "NAME", "IS", "BY", plain.Zoned("FROM"), "UNTIL", "REASON"}}
	for _, o := range orders {
		since, until := plain.Stamp(o.Since), "somebody resumes it"
		switch {
		case o.From != 0: // people want to see when the window begins, not when it was announced
			since, until = plain.Stamp(o.From), plain.Stamp(o.Until)
		case o.Until != 0:
			until = plain.Stamp(o.Until)
		}
		rows = append(rows, []string{o.Kind, o.Name, orderWord(o), o.By, since, until, o.Reason})
	}
	return c.table(rows, "NAME", "BY", "REASON")
}

// orderWord returns the state that an order causes, such as drained. For a maintenance window that has not begun, it
// returns "maintenance announced".
func orderWord(o jjm.Order) string {
	if o.From != 0 && !o.Begun(jjm.At(time.Now())) {
		return "maintenance announced"
	}
	return o.Doing()
}

// orderText returns an order as text: the state that it causes, by whom, since and until when, and why.
func orderText(o jjm.Order) string {
	if o.From != 0 {
		return orderWord(o) + " from " + o.From.Local() + " until " + o.Until.Local() + ", announced by " + o.By + ": " +
			o.Reason
	}
	s := o.Doing() + " by " + o.By + " since " + plain.Clock(o.Since)
	if o.Until != 0 {
		s += " until " + plain.Clock(o.Until)
	}
	if o.Reason == "" {
		return s
	}
	return s + ": " + o.Reason
}
