package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"time"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
)

// listColumn is a column of jjm list. Exactly one of the functions number, text and at is set; this function returns
// the value of the column for a grid job.
type listColumn struct {
	name   string
	number func(*wire.Status) int64
	text   func(*wire.Status) string
	at     func(*wire.Status) jjm.Time
}

// numbered, worded and timed make columns of numbers, texts and times.
func numbered(name string, of func(*wire.Status) int64) listColumn {
	return listColumn{name: name, number: of}
}

func worded(name string, of func(*wire.Status) string) listColumn {
	return listColumn{name: name, text: of}
}

func timed(name string, of func(*wire.Status) jjm.Time) listColumn {
	return listColumn{name: name, at: of}
}

// counted makes a column of a number of local jobs.
func counted(name string, of func(wire.Counts) int) listColumn {
	return numbered(name, func(s *wire.Status) int64 { return int64(of(s.Lookup.Counts)) })
}

// usualColumns are the columns of the table and of --csv, unless --columns names others.
const usualColumns = "id,status,jobs,done,running,failed,type,owner,accepted,name"

// listColumns returns the columns that --columns and --sort know.
func listColumns() []listColumn {
	origin := func(of func(*jjm.Origin) string) func(*wire.Status) string {
		return func(s *wire.Status) string {
			if s.Origin == nil {
				return ""
			}
			return of(s.Origin)
		}
	}
	return []listColumn{
		numbered("id", func(s *wire.Status) int64 { return int64(s.Lookup.ID) }),
		worded("status", func(s *wire.Status) string { return s.Lookup.Status }),
		counted("jobs", func(n wire.Counts) int { return max(n.Expected, n.Total) }),
		counted("done", func(n wire.Counts) int { return n.Completed }),
		counted("running", func(n wire.Counts) int { return n.Running }),
		counted("failed", func(n wire.Counts) int { return n.Failed + n.Killed }),
		counted("killed", func(n wire.Counts) int { return n.Killed }),
		counted("held", func(n wire.Counts) int { return n.Held }),
		counted("queued", func(n wire.Counts) int { return n.Submitted }),
		worded("type", func(s *wire.Status) string { return s.Type }),
		worded("owner", func(s *wire.Status) string { return s.Owner }),
		worded("name", func(s *wire.Status) string { return s.Name }),
		worded("cluster", func(s *wire.Status) string { return s.Cluster }),
		timed("accepted", func(s *wire.Status) jjm.Time { return s.Accepted }),
		timed("ended", func(s *wire.Status) jjm.Time { return s.Ended }),
		worded("key", func(s *wire.Status) string { return s.Key }),
		worded("dn", origin(func(o *jjm.Origin) string { return o.Subject })),
		worded("gatekeeper", origin(func(o *jjm.Origin) string { return o.Gatekeeper })),
		worded("gatekeeper-id", origin(func(o *jjm.Origin) string { return o.Job })),
		worded("steps", func(s *wire.Status) string { return stepsText(s.Steps) }),
		numbered("warnings", func(s *wire.Status) int64 { return int64(len(s.Warnings)) }),
		worded("after", func(s *wire.Status) string { return plain.IDs(s.Awaited) }),
		worded("cause", func(s *wire.Status) string { return causeCell(*s) }),
		worded("tar", func(s *wire.Status) string { return s.Lookup.Tar }),
	}
}

// columnNamed returns the column with a name. If there is no such column, the error names the flag and the known
// columns.
func columnNamed(flag, name string) (listColumn, error) {
	all := listColumns()
	var names []string
	for _, col := range all {
		names = append(names, col.name)
		if col.name == name || name == "user" && col.name == "owner" {
			return col, nil
		}
	}
	near := ""
	if n := nearest.Of(name, names); n != "" {
		near = fmt.Sprintf(": did you mean %q?", n)
	}
	return listColumn{}, usage("%s: there is no column %.40q%s; the columns are %s", flag, name, near,
		strings.Join(names, ", "))
}

// columnsNamed returns the columns that --columns names, separated by commas. It returns an error for an unknown name.
func columnsNamed(list string) (all []listColumn, err error) {
	for name := range strings.SplitSeq(list, ",") {
		col, err := columnNamed("--columns", strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		all = append(all, col)
	}
	return all, nil
}

// sortOrder returns a function that compares two grid jobs by the key of --sort: the name of a column, and :desc for
// the reverse order, such as "failed:desc". It returns an error for another key.
func sortOrder(key string) (func(a, b wire.Status) int, error) {
	name, way, _ := strings.Cut(key, ":")
	if way != "" && way != "desc" && way != "asc" || way == "" && strings.HasSuffix(key, ":") {
		return nil, usage("--sort %.40q: want a column, or a column with :desc, such as failed:desc", key)
	}
	col, err := columnNamed("--sort", name)
	if err != nil {
		return nil, err
	}
	return func(a, b wire.Status) int {
		if way == "desc" {
			a, b = b, a
		}
		return col.compare(&a, &b)
	}, nil
}

// compare compares two grid jobs by the column: numbers and times by size, texts by their bytes.
func (col *listColumn) compare(a, b *wire.Status) int {
	switch {
	case col.number != nil:
		return cmp.Compare(col.number(a), col.number(b))
	case col.at != nil:
		return cmp.Compare(col.at(a), col.at(b))
	}
	return cmp.Compare(col.text(a), col.text(b))
}

// cell returns the value of the column for the table.
func (col *listColumn) cell(s *wire.Status) string {
	switch {
	case col.number != nil:
		return fmt.Sprint(col.number(s))
	case col.at != nil:
		return plain.Stamp(col.at(s))
	}
	return col.text(s)
}

// csvCell returns the value of the column for CSV: times in UTC in the form of RFC 3339, texts in one line. If a
// spreadsheet would read a text as a formula, the text begins with a quote.
func (col *listColumn) csvCell(s *wire.Status) string {
	switch {
	case col.number != nil:
		return fmt.Sprint(col.number(s))
	case col.at != nil && col.at(s) == 0:
		return ""
	case col.at != nil:
		return col.at(s).Time().UTC().Format(time.RFC3339)
	}
	text := plain.Printable(col.text(s))
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

// columnTable prints the named columns of grid jobs.
func (c *cli) columnTable(cols []listColumn, all []wire.Status) error {
	zone, cuts := true, []string(nil)
	header := make([]string, len(cols))
	for i, col := range cols {
		header[i] = strings.ToUpper(col.name)
		if col.at != nil && zone { // a table has one zone, which its first column of times names
			header[i], zone = plain.Zoned(header[i]), false
		}
		if col.text != nil && col.name != "status" {
			cuts = append(cuts, header[i])
		}
	}
	rows := [][]string{header}
	for i := range all {
		row := make([]string, len(cols))
		for j := range cols {
			row[j] = cols[j].cell(&all[i])
		}
		rows = append(rows, row)
	}
	return c.table(rows, cuts...)
}

// columnCSV prints the named columns of grid jobs as CSV (RFC 4180), with a header.
func (c *cli) columnCSV(cols []listColumn, all []wire.Status) error {
	w := csv.NewWriter(c.out)
	w.UseCRLF = true
	row := make([]string, len(cols))
	for i, col := range cols {
		row[i] = col.name
	}
	if err := w.Write(row); err != nil {
		return err
	}
	for i := range all {
		for j := range cols {
			row[j] = cols[j].csvCell(&all[i])
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// layout holds the columns and the order in which jjm list prints grid jobs. by compares two grid jobs; nil keeps their
// order.
type layout struct {
	columns []listColumn // nil for the usual table
	by      func(a, b wire.Status) int
}

// layout returns the layout that the flags request. It returns an error for flags that exclude each other, and for an
// unknown column or key.
func (l *list) layout() (lay layout, err error) {
	if l.JSON && (l.CSV || l.Columns != "") {
		return lay, usage("--json prints all that is known of each grid job: want it without --columns and --csv")
	}
	names := l.Columns
	if l.CSV {
		names = cmp.Or(names, usualColumns)
	}
	if names != "" {
		if lay.columns, err = columnsNamed(names); err != nil {
			return lay, err
		}
	}
	if l.Sort != "" {
		lay.by, err = sortOrder(l.Sort)
	}
	return lay, err
}

// sorted returns the grid jobs in the order that --sort requests.
func (lay *layout) sorted(all []wire.Status) []wire.Status {
	if lay.by == nil {
		return all
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, lay.by)
	return all
}
