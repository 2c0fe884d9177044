package report

import (
	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Slowest returns the table of the local jobs whose last attempts took longest, with its heading.
func (d *Data) Slowest() [][]string {
	slowest, _ := d.extremes()
	return d.attemptRows(slowest)
}

// Fastest returns the table of the local jobs whose last attempts took least, with its heading.
func (d *Data) Fastest() [][]string {
	_, fastest := d.extremes()
	return d.attemptRows(fastest)
}

func (d *Data) attemptRows(all []attempt) [][]string {
	now := d.now()
	rows := [][]string{{"LOCAL JOB", "RAN", plain.ZonedAt("STARTED", now), "ENDED", "HOST"}}
	for i := range all {
		a := &all[i]
		rows = append(rows, []string{a.id, jjm.HowLong(a.wall()), plain.StampAt(a.from, now), plain.StampAt(a.to, now),
			a.host})
	}
	return rows
}

// Hosts returns the table of the hosts, with its heading. The host that differs most from the other hosts is first.
func (d *Data) Hosts() [][]string {
	all, _ := d.hosts()
	return HostRows(all)
}

// hosts returns the figures of the hosts, and how many hosts are left out.
func (d *Data) hosts() ([]wire.HostFigures, int) {
	var h Hosts
	for i := range d.attempts {
		h.add(&d.attempts[i])
	}
	return h.Figures()
}

// MoreHosts returns how many hosts the table of Hosts leaves out: "and 3 other hosts"; "" for none.
func (d *Data) MoreHosts() string {
	_, n := d.hosts()
	return OtherHosts(n)
}

// OtherHosts returns a text about n hosts that a table leaves out: "and 3 other hosts"; "" for none.
func OtherHosts(n int) string {
	if n == 0 {
		return ""
	}
	return "and " + jjm.Count(n, "other host")
}

// Events returns the table of the events during the grid job, with its heading.
func (d *Data) Events() [][]string {
	rows := [][]string{{plain.ZonedAt("TIME", d.now()), "BY", "WHAT"}}
	for _, e := range d.events() {
		rows = append(rows, []string{e[0], e[2], e[1]})
	}
	return rows
}

// Totals returns the rows about all attempts, and about local jobs with several attempts.
func (d *Data) Totals() [][2]string { return append(d.totals(), [2]string{"restarts", d.restarts()}) }
