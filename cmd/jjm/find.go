package main

import (
	"fmt"
	"time"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// find finds jobs by facts that an administrator knows.
type find struct {
	BatchID    string `name:"batch-id" placeholder:"ID" help:"The batch system's id, of a bulk or of one of its jobs: 4711, 4711_3, 4711[3]."`
	Gatekeeper string `name:"gatekeeper-id" aliases:"origin-id" placeholder:"ID" help:"The id that a gatekeeper has given to a grid job."`
	Tag        string `placeholder:"TAG" help:"The tag of a bulk, which is the name of its batch jobs."`
	Host       string `placeholder:"HOST" help:"What ran on this host, whatever its domain."`
	At         string `placeholder:"TIME" help:"With --host: only what ran there in this minute, second or day, such as 03:10 or '2026-11-26 03:10'."`
	DN         string `name:"dn" placeholder:"DN" help:"Grid jobs of this certificate, or of this subject of a token."`
	File       string `placeholder:"LFN" help:"The jobs that read, own or made a file: an LFN, a path, or the name of an output."`
	User       string `aliases:"owner" placeholder:"USER" help:"Jobs of this user; alone, or with another flag."`
	Cluster    string `placeholder:"NAME" help:"With --batch-id, --tag and --host: only jobs of this cluster."`
	Limit      int    `short:"n" placeholder:"N" default:"100" help:"At most N, those of the newest grid jobs first; 100 unless told."`
	JSON       bool   `name:"json" help:"One JSON object per line."`

	place
}

// Help returns the text of --help below the usage.
func (*find) Help() string {
	return "Shows which jobs are meant by what you have in hand: live jobs, and jobs of the history. " +
		"Removed grid jobs are not found. An account finds its own jobs; administrators find all. The exit " +
		"status is 1 if nothing fits. docs/SEEING.md says what each flag looks at."
}

// Run carries out jjm find.
func (f *find) Run(c *cli) error {
	request, err := f.request(time.Now())
	if err != nil {
		return err
	}
	a, err := ask(c, f.place, wire.VerbFind(), request)
	if err != nil {
		return err
	}
	if len(a.Found) == 0 {
		c.say("jjm find: no job that this account may see fits")
		return &exit{exitNo, nil}
	}
	if err := f.print(c, a.Found); err != nil {
		return err
	}
	if a.More {
		_ = c.out.Flush()
		c.say("at most %d shown, and there are more: --limit shows more, --user and --cluster narrow it", len(a.Found))
	}
	return nil
}

// request returns the request of the command line. The error names the wrong flag.
func (f *find) request(now time.Time) (r wire.FindRequest, err error) {
	if f.Limit < 1 || f.Limit > wire.MostFound {
		return r, usage("--limit %d: want 1 to %d", f.Limit, wire.MostFound)
	}
	r.Find = wire.Sought{BatchID: f.BatchID, Gatekeeper: f.Gatekeeper, Tag: f.Tag, Host: f.Host, DN: f.DN, File: f.File,
		User: f.User, Cluster: f.Cluster, Limit: f.Limit}
	n := 0
	for _, given := range []string{f.BatchID, f.Gatekeeper, f.Tag, f.Host, f.DN, f.File} {
		if given != "" {
			n++
		}
	}
	switch {
	case n > 1 || n == 0 && f.User == "":
		return r, usage("want one of --batch-id, --gatekeeper-id, --tag, --host, --dn, --file and --user, such as " +
			"jjm find --batch-id 4711")
	case f.At != "" && f.Host == "":
		return r, usage("--at %.40q: want --host too: it restricts what ran on a host", f.At)
	case f.Cluster != "" && f.BatchID == "" && f.Tag == "" && f.Host == "":
		return r, usage("--cluster %.40q: want --batch-id, --tag or --host too", f.Cluster)
	case f.At != "":
		r.Find.At, r.Find.Until, err = inThePast("--at", f.At, now)
	}
	return r, err
}

// timeForm is a form in which people write a time, for time.Parse, with the unit of the last element of the form.
type timeForm struct {
	form string
	unit time.Duration
}

// timeForms returns the forms of a time in the past. A time of day without a date is the last such time.
func timeForms() []timeForm {
	const minute, second, day = time.Minute, time.Second, 24 * time.Hour
	return []timeForm{{time.RFC3339, second}, {"2006-01-02 15:04", minute}, {"2006-01-02T15:04", minute},
		{time.DateTime, second}, {"2006-01-02T15:04:05", second}, {time.DateOnly, day}, {"15:04", minute},
		{time.TimeOnly, second}}
}

// inThePast parses the value of a flag, a time in the past, and returns its first and its last moment. A minute, a
// second or a day lasts from its beginning to its end, but at most until now; a time with a fraction of a second is one
// moment. The error names the flag.
func inThePast(flag, s string, now time.Time) (from, until jjm.Time, err error) {
	for _, f := range timeForms() {
		at, err := time.ParseInLocation(f.form, s, now.Location())
		if err != nil {
			continue
		}
		if at.Year() == 0 { // a time of day
			at = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, now.Location())
			if at.After(now) {
				at = at.AddDate(0, 0, -1)
			}
		}
		last := at
		if at.Nanosecond() == 0 {
			last = at.Add(f.unit - time.Millisecond)
		}
		switch {
		case at.Unix() <= 0:
			return 0, 0, usage("%s %.40q: want a time after 1970", flag, s)
		case at.After(now):
			return 0, 0, usage("%s %.40q: that time is in the future", flag, s)
		case last.After(now):
			last = now
		}
		return jjm.At(at), jjm.At(last), nil
	}
	return 0, 0, usage("%s %.40q: want a time such as 03:10, 03:10:07, '2026-03-01 03:10' or 2026-03-01T03:10:00Z", flag, s)
}

// print prints the jobs as a table or, with --json, one object per line.
func (f *find) print(c *cli, all []wire.Trace) error {
	if !f.JSON {
		return c.traceTable(all)
	}
	for i := range all {
		if err := c.printJSON(all[i]); err != nil {
			return err
		}
	}
	return nil
}

// traceTable prints a line for each job that was found.
func (c *cli) traceTable(all []wire.Trace) error {
	rows := [][]string{{"JOB", "ATTEMPT", "USER", "STATE", "HOST", plain.Zoned("STARTED"), "ENDED", "WHY"}}
	for i := range all {
		one := &all[i]
		attempt := ""
		if one.Attempt != nil {
			attempt = fmt.Sprint(*one.Attempt)
		}
		rows = append(rows, []string{one.ID, attempt, one.User, one.State, one.Host, plain.Stamp(one.Started),
			plain.Stamp(one.Ended), one.Why})
	}
	return c.table(rows, "USER", "HOST", "WHY")
}
