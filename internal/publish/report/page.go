package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"jjm/internal/api/plain"
	"jjm/internal/jjm"
)

//go:embed page.html.tmpl
var pageText string

const (
	// mostBars is the greatest number of attempts that the timeline draws one by one. If there are more, the timeline
	// has timeColumns columns with the number of running attempts.
	mostBars    = 2000
	timeColumns = 400
	// The size of the timeline in the units of its SVG.
	chartWidth, chartHeight = 1000, 300
	// leastBar is the least height of the bar of an attempt, mostBar the largest.
	leastBar, mostBar = 0.5, 14
)

// page holds the values for the template.
type page struct {
	Title                   string
	At                      string
	About, Ends, Totals     [][2]string
	Failures                []failure
	Slowest, Fastest, Hosts [][]string
	MoreHosts               string
	Resources               []Resource
	Events                  [][]string
	Chart                   chart
}

// chart is the timeline.
type chart struct {
	Width, Height float64
	From, To      string
	Bars          []chartBar
	Marks         []chartMark
	Note          string
}

// chartBar is a rectangle of the timeline. Title may be empty.
type chartBar struct {
	X, Y, W, H float64
	Class      string
	Title      string
}

// chartMark is the end of a generation, a start of the daemon, or the beginning or the end of an outage.
type chartMark struct {
	X     float64
	Class string
	Title string
}

// WritePage writes the report as an HTML page that needs no other file and has no scripts. Texts of jobs are shown as
// plain.Printable returns them, and cannot become markup. The page has less than 1 MB, whatever the number of local
// jobs.
func (d *Data) WritePage(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{"p": plain.Printable}).Parse(pageText)
	if err != nil {
		return err
	}
	p := page{Title: d.Title(), At: plain.Clock(d.Now), About: kept(d.About()), Ends: kept(d.Ends()),
		Totals: kept(d.Totals()), Failures: d.failures(), Slowest: d.Slowest(), Fastest: d.Fastest(), Hosts: d.Hosts(),
		MoreHosts: d.MoreHosts(), Resources: Resources(&d.Status, false), Events: d.Events(), Chart: d.chart()}
	return t.Execute(w, p)
}

// kept returns the rows that have a value.
func kept(rows [][2]string) [][2]string {
	return slices.DeleteFunc(rows, func(r [2]string) bool { return r[1] == "" || r[1] == "-" })
}

// chart draws all attempts along the time, the ends of generations, starts of the daemon, and outages.
func (d *Data) chart() chart {
	from, to := d.span()
	c := chart{Width: chartWidth, Height: chartHeight, From: plain.Clock(from), To: plain.Clock(to)}
	x := func(t jjm.Time) float64 { return chartWidth * float64(t-from) / float64(max(to-from, 1)) }
	for _, e := range d.Status.Endings {
		c.Marks = append(c.Marks, chartMark{x(e.Ended), "mark", fmt.Sprintf("generation %d: %s %s", e.Generation, e.Status,
			plain.Clock(e.Ended))})
	}
	if d.Status.Ended != 0 {
		c.Marks = append(c.Marks, chartMark{x(d.Status.Ended), "mark", fmt.Sprintf("generation %d: %s %s",
			max(d.Status.Generation, 1), d.Status.Lookup.Status, plain.Clock(d.Status.Ended))})
	}
	c.Marks = append(c.Marks, d.siteMarks(x)...)
	if len(d.attempts) > mostBars {
		c.Note = fmt.Sprintf("There are %d attempts, more than %d: each column shows how many attempts ran at that time.",
			len(d.attempts), mostBars)
		c.Bars = d.columns(from, to)
		return c
	}
	height := min(max(chartHeight/float64(max(len(d.attempts), 1)), leastBar), mostBar)
	c.Height = height * float64(max(len(d.attempts), 1))
	for i := range d.attempts {
		c.Bars = append(c.Bars, d.attempts[i].bars(float64(i)*height, height, x)...)
	}
	return c
}

// bars returns the bars of an attempt at the height y: the time in the queue if it is known, the run, and the
// collection of the result if it is known. The bar of the run has a title with all times.
func (a *attempt) bars(y, height float64, x func(jjm.Time) float64) (bars []chartBar) {
	title := fmt.Sprintf("%s attempt %d on %s: %s after %s", a.id, a.n, a.host, a.outcome, jjm.HowLong(a.wall()))
	if a.queued != 0 {
		title += ", queued " + jjm.HowLong(a.from.Sub(a.queued))
		bars = append(bars, chartBar{X: x(a.queued), Y: y, W: x(a.from) - x(a.queued), H: height, Class: Queued})
	}
	if a.collected != 0 {
		title += ", collected in " + jjm.HowLong(a.collected.Sub(a.to))
		bars = append(bars, chartBar{X: x(a.to), Y: y, W: x(a.collected) - x(a.to), H: height, Class: Collecting})
	}
	return append(bars, chartBar{X: x(a.from), Y: y, W: max(x(a.to)-x(a.from), 1), H: height, Class: a.outcome.String(),
		Title: title})
}

// siteMarks returns the marks of starts of the daemon and of outages during the grid job. x returns the place of a
// time.
func (d *Data) siteMarks(x func(jjm.Time) float64) (marks []chartMark) {
	for _, m := range plain.SiteMarks(d.Orders) {
		marks = append(marks, chartMark{x(m.At), "mark " + m.Class, plain.Clock(m.At) + ": " + m.Text})
	}
	return marks
}

// span returns the time from the acceptance, or the first attempt, to the end of the grid job or of the last attempt.
func (d *Data) span() (from, to jjm.Time) {
	from, to = d.Status.Accepted, d.end()
	for i := range d.attempts {
		a := &d.attempts[i]
		from, to = min(from, a.from), max(to, a.to, a.collected)
	}
	return from, to
}

// columns draws how many attempts of each outcome ran in each of timeColumns equal parts of the time.
func (d *Data) columns(from, to jjm.Time) (bars []chartBar) {
	const outcomes = int(attemptRuns) + 1
	var change [timeColumns + 1][outcomes]int
	column := func(t jjm.Time) int { return int(int64(t-from) * (timeColumns - 1) / int64(max(to-from, 1))) }
	for i := range d.attempts {
		a := &d.attempts[i]
		first := column(a.from)
		change[first][a.outcome]++
		change[max(column(a.to), first)+1][a.outcome]--
	}
	var counts [timeColumns][outcomes]int
	var running [outcomes]int
	most := 1
	for i := range timeColumns {
		all := 0
		for o := range outcomes {
			running[o] += change[i][o]
			all += running[o]
		}
		counts[i], most = running, max(most, all)
	}
	const width = float64(chartWidth) / timeColumns
	for i := range counts {
		at := jjm.Time(int64(from) + int64(to-from)*int64(i)/timeColumns)
		y := float64(chartHeight)
		for o, n := range counts[i] {
			if n == 0 {
				continue
			}
			h := chartHeight * float64(n) / float64(most)
			y -= h
			bars = append(bars, chartBar{X: float64(i) * width, Y: y, W: width, H: h, Class: outcome(o).String(),
				Title: fmt.Sprintf("%s: %s %s", at.Time().Local().Format(time.DateTime),
					jjm.Count(n, "attempt"), columnWord(outcome(o)))})
		}
	}
	return bars
}

// columnWord returns the text about the attempts of a column.
func columnWord(o outcome) string {
	if o == attemptRuns {
		return "that still run"
	}
	return "that ended " + o.String()
}
