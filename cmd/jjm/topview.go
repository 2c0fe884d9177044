package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// This file makes the lines of the screen of jjm top. Its functions depend only on topView.

// topView holds the data that the screen of jjm top shows, and the settings that the user makes with keys.
type topView struct {
	data topData
	now  time.Time
	lost string // why there is no newer answer, "" if the last request was answered

	sort      topSort
	filter    string
	typing    bool         // the user is typing the filter
	helped    bool         // the help is shown instead of the grid jobs
	selected  jjm.GridID   // 0 until a grid job is selected
	first     int          // the position of the first grid job on the screen
	reasons   []whyLine    // why reasonsOf waits, shown instead of the grid jobs; nil before the answer
	reasonsOf jjm.GridID   // the grid job whose reasons are shown, 0 if none are shown
	shown     []jjm.GridID // the grid jobs on the screen
}

// topLine is a line of the screen. Its text has no control characters.
type topLine struct {
	text  string
	style topStyle
}

// topStyle is the style of a line on a terminal with colours.
type topStyle int

const (
	plainStyle topStyle = iota
	headStyle
	chosenStyle
	troubleStyle
)

// topSort is an order of grid jobs.
type topSort int

const (
	sortNewest topSort = iota
	sortName
	sortUser
	sortDone
	sortFailed
	sortRate
	sortCount // the number of orders
)

func (s topSort) String() string {
	return [...]string{"newest first", "by name", "by user", "by share done", "by failures", "by rate"}[s]
}

// frame returns the lines of the screen, at most height lines of at most width characters. If height is 0, it returns
// all lines, without the footer.
func (v *topView) frame(width, height int) []topLine {
	if height > 0 && height < leastHeight {
		return v.small(width, height)
	}
	lines := v.header()
	lines = append(lines, v.clusters(width, height)...)
	room := 0
	if height > 0 {
		room = max(height-len(lines)-1, 0) // the last line is the footer
	}
	switch {
	case v.helped:
		lines = append(lines, within(textLines(topHelp(), width), room)...)
	case v.reasonsOf != 0:
		lines = append(lines, within(v.why(width), room)...)
	default:
		lines = append(lines, v.jobs(width, room)...)
	}
	if height > 0 {
		lines = lines[:min(len(lines), height-1)]
		for len(lines) < height-1 {
			lines = append(lines, topLine{})
		}
		lines = append(lines, v.footer())
	}
	return clipped(lines, width)
}

// clipped cuts lines to width characters, and removes blanks at their ends.
func clipped(lines []topLine, width int) []topLine {
	for i := range lines {
		lines[i].text = strings.TrimRight(clip(lines[i].text, width), " ")
	}
	return lines
}

// within returns the first room lines, or all lines if room is 0.
func within(lines []topLine, room int) []topLine {
	if room == 0 {
		return lines
	}
	return lines[:min(len(lines), room)]
}

// header returns the first lines of the screen: the time of the answer, how many local jobs are in each state, and the
// rates.
func (v *topView) header() []topLine {
	n := v.data.Counts
	jobs := jjm.Count(len(v.data.Jobs), "grid job")
	if v.data.More {
		jobs = "the newest " + jobs
	}
	rates := "per minute: not known yet"
	if r := v.data.PerMinute; r != nil {
		rates = fmt.Sprintf("per minute: %.1f submitted, %.1f ended, %.1f failed", r.Submitted, r.Ended, r.Failed)
	}
	return []topLine{
		{fmt.Sprintf("jjm top at %s: %s, %s, %s", v.data.At.Time().Local().Format(time.TimeOnly),
			jjm.Count(len(v.data.Clusters), "cluster"), jobs, v.sort), headStyle},
		{fmt.Sprintf("local jobs: %d running, %d submitted, %d waiting, %d held, %d of %d done, %d failed",
			n.Running+n.Completing, n.Submitted, n.New+n.Submitting, n.Held, n.Completed, n.Expected, n.Failed+n.Killed),
			plainStyle},
		{rates, plainStyle},
	}
}

// rows returns the grid jobs that match the filter, in the order that the user chose.
func (v *topView) rows() []topJob {
	var rows []topJob
	for _, j := range v.data.Jobs {
		text := strings.ToLower(j.Lookup.ID.String() + " " + j.Name + " " + j.Owner + " " + j.Lookup.Status)
		if strings.Contains(text, strings.ToLower(v.filter)) {
			rows = append(rows, j)
		}
	}
	slices.SortStableFunc(rows, func(a, b topJob) int { return compareTop(v.sort, a, b) })
	return rows
}

// compareTop compares two grid jobs for an order. It returns 0 for equal grid jobs; these then stay in the order of the
// daemon, newest first.
func compareTop(by topSort, a, b topJob) int {
	bad := func(j topJob) int { return j.Lookup.Counts.Failed + j.Lookup.Counts.Killed }
	switch by {
	case sortName:
		return strings.Compare(a.Name, b.Name)
	case sortUser:
		return strings.Compare(a.Owner, b.Owner)
	case sortDone:
		return cmp.Compare(fraction(b.Status), fraction(a.Status))
	case sortFailed:
		return cmp.Compare(bad(b), bad(a))
	case sortRate:
		return cmp.Compare(b.PerMinute, a.PerMinute)
	}
	return 0
}

// jobs returns the table of grid jobs. It has as many grid jobs as fit into room lines, the selected grid job among
// them, or all if room is 0. jobs stores which grid jobs these are in v.shown.
func (v *topView) jobs(width, room int) []topLine {
	rows := v.rows()
	first, n := 0, len(rows)
	if room > 0 {
		n = min(n, max(room-1, 0)) // the first line is the head
		at := max(v.position(rows), 0)
		v.first = min(max(min(v.first, at), at-n+1, 0), len(rows)-n)
		first = v.first
	}
	v.shown = []jjm.GridID{}
	cells := [][]string{{"ID", "NAME", "USER", "STATUS", "DONE", "BAR", "FAILED", "/MIN", "END"}}
	for _, j := range rows[first : first+n] {
		v.shown = append(v.shown, j.Lookup.ID)
		c := j.Lookup.Counts
		cells = append(cells, []string{j.Lookup.ID.String(), j.Name, j.Owner, j.Lookup.Status,
			fmt.Sprintf("%d/%d", c.Completed, max(c.Expected, c.Total)), "", fmt.Sprint(c.Failed + c.Killed),
			rateText(j.PerMinute), v.end(j)})
	}
	bar := fitTop(cells, width)
	lines := []topLine{{" " + strings.Join(cells[0], topGap), headStyle}}
	for i, j := range rows[first : first+n] {
		row := cells[i+1]
		row[barColumn] = countBar(j.Lookup.Counts, bar)
		line := topLine{" " + strings.Join(row, topGap), plainStyle}
		if j.Lookup.ID == v.selected {
			line = topLine{">" + line.text[1:], chosenStyle}
		}
		lines = append(lines, line)
	}
	if len(rows) == 0 {
		lines = append(lines, topLine{" " + v.none(), plainStyle})
	}
	return lines
}

// none returns the line for an empty table: the reason why it contains no grid jobs.
func (v *topView) none() string {
	if v.filter != "" {
		return "no grid job fits the filter " + plain.Printable(v.filter)
	}
	return "no grid jobs that are not over"
}

// position returns the index of the selected grid job in rows, or -1 if it is not among them.
func (v *topView) position(rows []topJob) int {
	return slices.IndexFunc(rows, func(j topJob) bool { return j.Lookup.ID == v.selected })
}

const (
	// topGap separates two columns.
	topGap = "  "
	// nameColumn and barColumn are the indexes of columns in the table of grid jobs.
	nameColumn, barColumn = 1, 5
)

// fitTop makes the cells of the table of grid jobs printable, and the cells of each column equally wide, so that a line
// with a bar fits into width. It returns the width of the bar.
func fitTop(cells [][]string, width int) (bar int) {
	const leastName, leastBar, mostBar = 6, 10, 30
	widths := widthsTop(cells, []int{10, 40, 10, 10, 15, 0, 7, 7, 7})
	rest := width - 1 - len(topGap)*(len(widths)-1)
	for _, w := range widths {
		rest -= w
	}
	if rest < leastBar { // the name makes room
		cut := min(leastBar-rest, max(widths[nameColumn]-leastName, 0))
		widths[nameColumn] -= cut
		rest += cut
	}
	bar = max(min(rest, mostBar), 0)
	widths[barColumn] = bar
	alignTop(cells, widths)
	return bar
}

// widthsTop makes cells printable. It returns the width of each column: the width of its widest cell, but at most the
// limit of the column.
func widthsTop(cells [][]string, limits []int) []int {
	widths := make([]int, len(limits))
	for _, row := range cells {
		for j := range row {
			row[j] = plain.Printable(row[j])
			widths[j] = max(widths[j], min(utf8.RuneCountInString(row[j]), limits[j]))
		}
	}
	return widths
}

// alignTop cuts or pads each cell to the width of its column.
func alignTop(cells [][]string, widths []int) {
	for _, row := range cells {
		for j := range row {
			text := shorten(row[j], widths[j])
			row[j] = text + strings.Repeat(" ", max(widths[j]-utf8.RuneCountInString(text), 0))
		}
	}
}

// countBar returns a bar of width characters with the shares of local jobs that are done (=), failed or killed (!),
// running (>), or in another state (.).
func countBar(n wire.Counts, width int) string {
	all := max(n.Expected, n.Total, 1)
	text, sum := "", 0
	for _, p := range []struct {
		n    int
		mark string
	}{{n.Completed, "="}, {n.Failed + n.Killed, "!"}, {n.Running + n.Completing, ">"}} {
		sum += p.n
		text += strings.Repeat(p.mark, max(min(sum*width/all, width)-len(text), 0))
	}
	return text + strings.Repeat(".", width-len(text))
}

// rateText returns a rate as a cell of the table, "-" if it is not known.
func rateText(perMinute float64) string {
	switch {
	case perMinute <= 0:
		return "-"
	case perMinute < 100:
		return fmt.Sprintf("%.1f", perMinute)
	}
	return fmt.Sprintf("%.0f", perMinute)
}

// end returns the expected end of a grid job as a cell of the table: the time if it is today, otherwise the day, and
// "-" if it is not known.
func (v *topView) end(j topJob) string {
	if j.ExpectedEnd == nil {
		return "-"
	}
	at := j.ExpectedEnd.At.Time().In(v.now.Location())
	if at.Format(time.DateOnly) == v.now.Format(time.DateOnly) {
		return "~" + at.Format("15:04")
	}
	return at.Format("Jan 02")
}

// whyLine is a line about a reason why a grid job waits: the word of the cause, and a text.
type whyLine = [2]string

// whyLines returns the lines for an answer of "why".
func whyLines(one wire.Why) (rows []whyLine) {
	if one.Error != nil {
		return []whyLine{{"error", one.Error.Text}}
	}
	if one.Grid != nil {
		rows = append(rows, causeLines(*one.Grid)...)
	}
	for _, cause := range one.Causes {
		rows = append(rows, causeLines(cause)...)
	}
	if one.LeftOut > 0 {
		rows = append(rows, whyLine{"others", jjm.Count(one.LeftOut, "local job") + " with other causes"})
	}
	if len(rows) == 0 {
		rows = []whyLine{{"none", "no local job of this grid job waits for anything"}}
	}
	return rows
}

// why returns the lines that show why a grid job waits.
func (v *topView) why(width int) []topLine {
	lines := []topLine{{fmt.Sprintf(" why grid job %s is not over:", v.reasonsOf), headStyle}}
	if v.reasons == nil {
		return append(lines, topLine{"   asking the daemon", plainStyle})
	}
	return append(lines, textLines(v.reasons, width)...)
}

// textLines returns lines of at most width characters for rows of a title and a text. A row without a title continues
// the row before it, and is indented.
func textLines(rows [][2]string, width int) (lines []topLine) {
	const indent = "   "
	for _, row := range rows {
		text := row[1]
		if row[0] != "" {
			text = row[0] + ": " + text
		}
		for i, line := range wrap(plain.Printable(text), max(width-2*len(indent), 20)) {
			front := indent
			if i > 0 || row[0] == "" {
				front += indent
			}
			lines = append(lines, topLine{front + line, plainStyle})
		}
	}
	return lines
}

// topHelp returns the rows of the help: a key or a word of the screen, and its meaning.
func topHelp() [][2]string {
	return [][2]string{
		{"q", "quit"},
		{"up, down, j, k, page up, page down, home, end", "select a grid job"},
		{"enter", "what the selected grid job waits for, as jjm why"},
		{"s", "sort by the next of: newest, name, user, share done, failures, rate"},
		{"/", "filter by a text in the id, name, user or status; enter keeps it, escape removes it"},
		{"escape", "go back"},
		{"BAR", "= done, ! failed or killed, > running, . the others"},
		{"/MIN", "local jobs that end per minute, over at most the last 5 minutes"},
		{"END", "the expected end, roughly, by the local jobs that ended in the last hour"},
		{"LISTED", "the age of the last complete listing of the batch system"},
	}
}

// footer returns the last line of the screen: the filter, the trouble with the daemon, or the keys.
func (v *topView) footer() topLine {
	switch {
	case v.typing:
		return topLine{"filter: " + plain.Printable(v.filter) + "_", plainStyle}
	case v.lost != "":
		return topLine{plain.Printable(v.lost), troubleStyle}
	case v.helped || v.reasonsOf != 0:
		return topLine{"escape: back  q: quit", plainStyle}
	case v.filter != "":
		return topLine{"filter: " + plain.Printable(v.filter) + "  /: change  escape: remove  q: quit", plainStyle}
	}
	return topLine{"q: quit  enter: why  s: sort  /: filter  ?: help", plainStyle}
}
