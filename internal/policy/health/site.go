package health

import (
	"fmt"
	"strings"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// space checks whether new work is accepted, and whether the measurement of the file systems hangs.
func space(f Facts) wire.HealthCheck {
	c := wire.HealthCheck{State: OK, Name: "space", Text: "new work is accepted"}
	hangs := age(f.Now, max(f.Disks.At, f.Started))
	switch {
	case f.Refuses != "":
		c.State, c.Text, c.Detail = Critical, "new work is refused", f.Refuses
		c.Remedy = "make room, or put back what was removed; jjm goes on by itself"
	case hangs >= DiskWarning:
		c.State, c.Since = graded(hangs, DiskWarning, DiskCritical), max(f.Disks.At, f.Started)
		c.Text = "a file system of the site has not answered for " + jjm.HowLong(hangs)
		c.Remedy = "look at the mounts of work areas, records and state"
	}
	return c
}

// disk checks the free space of one file system.
func disk(d Disk) wire.HealthCheck {
	c := wire.HealthCheck{State: OK, Name: "disk", Of: d.Of,
		Text:    fmt.Sprintf("%s free for %s in %s", share(d), d.Of, d.Path),
		Figures: []wire.HealthFigure{{Name: label("free", d.Of), Value: d.Free, Unit: "B"}}}
	if d.Near != "" {
		c.State, c.Detail = Warning, d.Near
		c.Remedy = "make room: jjm remove grid jobs that are over, or enlarge the file system"
	}
	return c
}

// share returns the free and the total space of a file system: "12.3 GB of 100.0 GB".
func share(d Disk) string {
	return fmt.Sprintf("%.1f GB of %.1f GB", float64(d.Free)/1e9, float64(d.Bytes)/1e9)
}

// sharedFolders checks the folders in which accounts write. If there is no problem, the check has no state.
func sharedFolders(f Facts) wire.HealthCheck {
	if len(f.SharedFolders) == 0 {
		return wire.HealthCheck{}
	}
	return wire.HealthCheck{State: Critical, Name: "folders", Text: "a folder in which accounts write is shut or lost",
		Detail: strings.Join(f.SharedFolders, "; "), Remedy: "make room on the file system of the state; see jjm clusters"}
}

// records checks whether records are written, and how long fragments have waited for their records.
func records(f Facts) []wire.HealthCheck {
	r := f.Records
	c := wire.HealthCheck{State: OK, Name: "records", Text: "all records are written",
		Figures: []wire.HealthFigure{{Name: "records_behind", Value: int64(r.Behind)},
			{Name: "records_unwritten", Value: int64(r.Unwritten)}}}
	switch {
	case r.Unwritten > 0:
		c.State, c.Since = graded(age(f.Now, r.Since), 0, UnwrittenCritical), r.Since
		c.Text = fmt.Sprintf("%s could not be written for %s", jjm.Count(r.Unwritten, "record"),
			jjm.HowLong(age(f.Now, r.Since)))
		c.Detail, c.Remedy = r.Error, "see the log of the daemon; jjm tries again by itself"
	case r.Behind > 0:
		c.Text = jjm.Count(r.Behind, "record") + " about to be written"
	}
	w := wire.HealthCheck{State: OK, Name: "fragments", Text: "no fragment waits for its record"}
	waits := time.Duration(0)
	if r.Fragments > 0 {
		waits = age(f.Now, r.Oldest)
		w.Since = r.Oldest
		w.Text = fmt.Sprintf("%s waiting for a record, the oldest for %s", jjm.Count(r.Fragments, "fragment"),
			jjm.HowLong(waits))
		if waits >= FragmentWarning {
			w.State, w.Remedy = Warning, "see the log of the daemon; jjm refuses fragments that wait for an hour"
		}
	}
	w.Figures = []wire.HealthFigure{{Name: "fragments", Value: int64(r.Fragments)},
		seconds("fragments_age", waits, FragmentWarning, 0)}
	return []wire.HealthCheck{c, w}
}

// store checks the size of the store's write-ahead log.
func store(s Store) wire.HealthCheck {
	c := wire.HealthCheck{State: OK, Name: "store",
		Text: fmt.Sprintf("the store has %.1f MB, its write-ahead log %.1f MB, its schema is version %d",
			float64(s.File)/1e6, float64(s.WAL)/1e6, s.Schema),
		Figures: []wire.HealthFigure{{Name: "store", Value: s.File, Unit: "B"},
			{Name: "store_wal", Value: s.WAL, Unit: "B", Warning: WALWarning}}}
	switch {
	case s.Error != "":
		return wire.HealthCheck{State: Critical, Name: "store", Text: "the store cannot be measured", Detail: s.Error,
			Remedy: "see the log of the daemon"}
	case s.WAL >= WALWarning:
		c.State, c.Remedy = Warning, "end programs that read store.db for long; else start the daemon again"
	}
	return c
}

// spool checks how long requests have waited in the spool.
func spool(s Spool, now jjm.Time) wire.HealthCheck {
	c := wire.HealthCheck{State: OK, Name: "spool", Text: "no request waits in the spool"}
	waits := time.Duration(0)
	switch {
	case s.Error != "":
		return wire.HealthCheck{State: Warning, Name: "spool", Text: "the spool cannot be read", Detail: s.Error,
			Remedy: "see the log of the daemon"}
	case s.Entries > 0:
		waits = age(now, s.Oldest)
		c.State, c.Since = graded(waits, SpoolWarning, SpoolCritical), s.Oldest
		n := jjm.Count(s.Entries, "request")
		if s.More {
			n = "more than " + n
		}
		c.Text = fmt.Sprintf("%s waiting in the spool, the oldest for %s", n, jjm.HowLong(waits))
		if c.State != OK {
			c.Remedy = "see the log of the daemon for the reason"
		}
	}
	c.Figures = []wire.HealthFigure{{Name: "spool", Value: int64(s.Entries)},
		seconds("spool_age", waits, SpoolWarning, SpoolCritical)}
	return c
}

// results checks whether errors prevent the verdict on ended local jobs.
func results(u Unjudged, now jjm.Time) wire.HealthCheck {
	c := wire.HealthCheck{State: OK, Name: "results", Text: "no result waits because of an error"}
	waits := time.Duration(0)
	if u.Jobs > 0 {
		waits = age(now, u.Since)
		c.State, c.Since = graded(waits, UnjudgedWarning, UnjudgedCritical), u.Since
		c.Text = fmt.Sprintf("%s ended, but an error prevents the verdict, the oldest for %s",
			jjm.Count(u.Jobs, "local job"), jjm.HowLong(waits))
		if c.State != OK {
			c.Detail = u.Error
			c.Remedy = fmt.Sprintf("see jjm why %s and the log of the daemon; jjm tries again by itself", u.First)
		}
	}
	c.Figures = []wire.HealthFigure{{Name: "unjudged", Value: int64(u.Jobs)},
		seconds("unjudged_age", waits, UnjudgedWarning, UnjudgedCritical)}
	return c
}

// types checks whether job types are off.
func types(off []Off) wire.HealthCheck {
	c := wire.HealthCheck{State: OK, Name: "job-types", Text: "no job type is off",
		Figures: []wire.HealthFigure{{Name: "job_types_off", Value: int64(len(off))}}}
	if len(off) == 0 {
		return c
	}
	var names []string
	for _, o := range off {
		names = append(names, o.Type)
	}
	c.State, c.Text = Warning, "job type "+names[0]+" is off"
	if len(names) > 1 {
		c.Text = "job types " + strings.Join(names, ", ") + " are off"
	}
	if len(off) == 1 {
		c.Detail, c.Remedy = off[0].Why, off[0].Remedy
		return c
	}
	var causes, remedies []string
	for _, o := range off {
		causes, remedies = append(causes, o.Type+": "+o.Why), append(remedies, o.Type+": "+o.Remedy)
	}
	c.Detail, c.Remedy = strings.Join(causes, "; "), strings.Join(remedies, "; ")
	return c
}

// bans lists the banned people. Its state is always OK, because a ban is an order of an administrator. Without bans,
// the check has no state.
func bans(all []jjm.Ban) wire.HealthCheck {
	if len(all) == 0 {
		return wire.HealthCheck{}
	}
	var whom []string
	since := all[0].Since
	for _, b := range all {
		whom, since = append(whom, b.Whom()), min(since, b.Since)
	}
	return wire.HealthCheck{State: OK, Name: "bans", Since: since, Text: jjm.Count(len(all), "ban") + " in force",
		Detail: strings.Join(whom, ", "), Figures: []wire.HealthFigure{{Name: "bans", Value: int64(len(all))}}}
}

// mostExcluded is how many excluded hosts the check names.
const mostExcluded = 10

// excluded lists the excluded hosts. Its state is always OK, because an exclusion is an order of an administrator.
// Without excluded hosts, the check has no state.
func excluded(all []jjm.Exclusion) wire.HealthCheck {
	if len(all) == 0 {
		return wire.HealthCheck{}
	}
	var hosts []string
	since := all[0].Since
	for _, e := range all {
		hosts = append(hosts, e.Host+" of "+e.Cluster+" "+e.Term()+" ("+e.Reason+")")
		since = min(since, e.Since)
	}
	if more := len(hosts) - mostExcluded; more > 0 {
		hosts = append(hosts[:mostExcluded], fmt.Sprintf("and %d more, see jjm exclude", more))
	}
	return wire.HealthCheck{State: OK, Name: "excluded-hosts", Since: since,
		Text: jjm.Count(len(all), "host") + " excluded", Detail: strings.Join(hosts, ", "),
		Figures: []wire.HealthFigure{{Name: "excluded_hosts", Value: int64(len(all))}}}
}

// notices checks whether notices and call-backs are delivered. If there is no problem, the check has no state.
func notices(n Notices, now jjm.Time) wire.HealthCheck {
	c := wire.HealthCheck{State: Warning, Name: "notices", Remedy: "see not-notified in jjm history of the " +
		"grid jobs, and \"a notice could not be delivered\" in the log; docs/NOTIFY.md"}
	switch {
	case n.Error != "":
		c.State, c.Text, c.Remedy = Unknown, "the notices could not be counted", ""
		c.Detail = n.Error
	case n.GivenUp > 0:
		c.Since, c.Text = n.Last, jjm.Count(n.GivenUp, "notice")+" given up within "+jjm.HowLong(GivenUpFor)
	case n.Waiting > 0 && now.Sub(n.Oldest) >= NoticeWarning:
		c.Since, c.Text = n.Oldest, jjm.Count(n.Waiting, "notice")+" tried in vain"
	default:
		return wire.HealthCheck{}
	}
	c.Figures = []wire.HealthFigure{{Name: "notices_given_up", Value: int64(n.GivenUp)},
		{Name: "notices_waiting", Value: int64(n.Waiting)}}
	return c
}

// advertising checks whether brokers have the site's ad. If there is no problem, the check has no state.
func advertising(troubles []string) wire.HealthCheck {
	if len(troubles) == 0 {
		return wire.HealthCheck{}
	}
	return wire.HealthCheck{State: Warning, Name: "advertising", Text: "brokers may lack the ad of this site",
		Detail: strings.Join(troubles, "; "), Remedy: "see jjm advertise"}
}

// page checks whether the web page accepts tokens. If there is no problem, the check has no state.
func page(trouble string) wire.HealthCheck {
	if trouble == "" {
		return wire.HealthCheck{}
	}
	return wire.HealthCheck{State: Warning, Name: "page", Text: "the web page accepts no token", Detail: trouble,
		Remedy: "mend the file of web.tokens; jjm reads it again by itself"}
}
