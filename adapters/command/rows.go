package command

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// field is one column of a listing that jjm uses.
type field int

// These are the fields. A listing identifies a job either by fieldJob or by fieldBulk and fieldIndex.
const (
	fieldJob field = iota
	fieldBulk
	fieldIndex
	fieldName
	fieldState
	fieldReason
	fieldHold
	fieldExit
	fieldSignal
	fieldHost
	fieldSubmitted
	fieldStarted
	fieldEnded
	fieldStarts
	fieldRestarts
	fieldCPU
	fieldRSS
	numFields
)

// fieldNames returns the names of the fields in descriptions.
func fieldNames() []string {
	return []string{"job", "bulk", "index", "name", "state", "reason", "hold", "exit", "signal", "host",
		"submitted", "started", "ended", "starts", "restarts", "cpu", "rss"}
}

// skipColumn is the name for a column that is not read.
const skipColumn = "skip"

// row holds the texts that a listing has about one job, by field.
type row [numFields]string

// format is the form of a listing. rows splits an output into the texts of its jobs; odd are the lines that do not have
// the form. rows returns an error if the output is incomplete.
type format interface {
	rows(text string) (all []row, odd []string, err error)
	// fields returns the fields that the format can fill.
	fields() []field
}

// columns is the form of a listing that has one line for each job and separators between the fields of a line. The last
// column contains the rest of the line, including separators. If the form has an end marker, the text of a job may
// extend over several lines, because users can put newlines into the names of their jobs.
type columns struct {
	separator string // separator of fields; "" for blanks
	columns   []field
	end       string // end marker of each job's text; "" for the newline
	ignore    []*regexp.Regexp
}

// skipped marks a column that is not read.
const skipped = numFields

func (c columns) fields() []field {
	return slices.DeleteFunc(slices.Clone(c.columns), func(f field) bool { return f == skipped })
}

func (c columns) rows(text string) (all []row, odd []string, err error) {
	number, open := 0, ""
	for line := range lines(text) {
		number++
		if open == "" && ignored(line, c.ignore) {
			continue
		}
		if line = open + line; !strings.HasSuffix(line, c.end) {
			open = line + "\n"
			continue
		}
		open, line = "", strings.TrimSuffix(line, c.end)
		words := c.split(line)
		if len(words) != len(c.columns) {
			odd = append(odd, fmt.Sprintf("line %d has %d of %d columns: %.200q", number, len(words), len(c.columns), line))
			continue
		}
		var r row
		for i, f := range c.columns {
			if f != skipped {
				r[f] = strings.TrimSpace(words[i])
			}
		}
		all = append(all, r)
	}
	if open != "" {
		return nil, nil, fmt.Errorf("after line %d %q is missing: %.200q", number, c.end, open)
	}
	return all, odd, nil
}

func (c columns) split(line string) []string {
	if c.separator != "" {
		words := strings.SplitN(line, c.separator, len(c.columns))
		if n := len(words); n == len(c.columns) && c.end == "" {
			words[n-1] = strings.TrimSuffix(words[n-1], c.separator)
		}
		return words
	}
	var words []string
	for len(words) < len(c.columns)-1 {
		line = strings.TrimLeft(line, " \t")
		i := strings.IndexAny(line, " \t")
		if i < 0 {
			break
		}
		words, line = append(words, line[:i]), line[i:]
	}
	return append(words, strings.TrimSpace(line))
}

// ignored reports whether a line is empty or matches one of the expressions for lines that are not about a job.
func ignored(line string, ignore []*regexp.Regexp) bool {
	return line == "" || slices.ContainsFunc(ignore, func(re *regexp.Regexp) bool { return re.MatchString(line) })
}

// expression is the form of a listing that has one line for each job. The fields are the groups of a regular
// expression.
type expression struct {
	re     *regexp.Regexp
	groups []field // field of each group of re; skipped for groups without a name
	ignore []*regexp.Regexp
}

func (e expression) fields() []field {
	return slices.DeleteFunc(slices.Clone(e.groups), func(f field) bool { return f == skipped })
}

func (e expression) rows(text string) (all []row, odd []string, err error) {
	number := 0
	for line := range lines(text) {
		number++
		if ignored(line, e.ignore) {
			continue
		}
		m := e.re.FindStringSubmatch(line)
		if m == nil {
			odd = append(odd, fmt.Sprintf("line %d is not of the form of the description: %.200q", number, line))
			continue
		}
		var r row
		for i, f := range e.groups {
			if f != skipped && m[i] != "" {
				r[f] = strings.TrimSpace(m[i])
			}
		}
		all = append(all, r)
	}
	return all, odd, nil
}

// records is the form of a listing that has several lines for each job. A record begins at a line that begin matches
// and ends before the next such line. Each field has its own expression. The last match in the record counts, because a
// record may contain the history of a job, oldest entry first. Text before the first record is not read.
type records struct {
	begin *regexp.Regexp
	find  [numFields]*regexp.Regexp
}

func (r records) fields() []field {
	var all []field
	for f, re := range r.find {
		if re != nil {
			all = append(all, field(f))
		}
	}
	return all
}

func (r records) rows(text string) (all []row, odd []string, err error) {
	var record []string
	add := func() {
		if len(record) > 0 {
			all = append(all, r.row(strings.Join(record, "\n")))
		}
	}
	for line := range lines(text) {
		if r.begin.MatchString(line) {
			add()
			record = []string{line}
		} else if len(record) > 0 {
			record = append(record, line)
		}
	}
	add()
	return all, nil, nil
}

func (r records) row(text string) row {
	var out row
	for f, re := range r.find {
		if re == nil {
			continue
		}
		if all := re.FindAllStringSubmatch(text, -1); len(all) > 0 {
			out[f] = strings.TrimSpace(all[len(all)-1][1])
		}
	}
	return out
}
