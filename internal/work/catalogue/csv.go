package catalogue

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"jjm/internal/jjm"
)

// setters returns, by column, a function that parses a cell and sets the file's field.
func setters() map[string]func(f *jjm.File, cell string) error {
	number := func(at func(*jjm.File) *int64) func(*jjm.File, string) error {
		return func(f *jjm.File, cell string) (err error) {
			if cell == "" {
				return nil
			}
			if *at(f), err = strconv.ParseInt(cell, 10, 64); err != nil {
				return fmt.Errorf("%.40q: want a whole number", cell)
			}
			return nil
		}
	}
	return map[string]func(*jjm.File, string) error{
		"lfn":         func(f *jjm.File, s string) error { f.LFN = s; return nil },
		"checksum":    func(f *jjm.File, s string) error { f.Checksum = s; return nil },
		"group":       func(f *jjm.File, s string) error { f.Group = s; return nil },
		"size":        number(func(f *jjm.File) *int64 { return &f.Size }),
		"events":      number(func(f *jjm.File) *int64 { return &f.Events }),
		"first_event": number(func(f *jjm.File) *int64 { return &f.FirstEvent }),
		"locations":   func(f *jjm.File, s string) error { f.Locations = strings.Fields(s); return nil },
		"parents":     func(f *jjm.File, s string) error { f.Parents = strings.Fields(s); return nil },
		"lumis":       func(f *jjm.File, s string) (err error) { f.Lumis, err = parseLumis(s); return err },
	}
}

// csv reads a list in CSV: a header and rows.
func (l *list) csv(r io.Reader) error {
	limited := &budget{r: r, left: MaxLine}
	in := csv.NewReader(limited)
	header, err := in.Read()
	if err != nil {
		return l.csvError(1, err)
	}
	columns, set, err := l.columns(header)
	if err != nil {
		return err
	}
	in.ReuseRecord, in.FieldsPerRecord = true, len(columns)
	for {
		limited.left = MaxLine
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			line, _ := in.FieldPos(0)
			err = l.row(line, cells, columns, set)
		} else if wrong := (*csv.ParseError)(nil); errors.As(err, &wrong) && errors.Is(wrong.Err, csv.ErrFieldCount) {
			err = l.bad(wrong.Line, "", "%d cells: the header has %d", len(cells), len(columns))
		} else {
			return l.csvError(0, err)
		}
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// csvError returns the error for a text that the CSV reader cannot read any further.
func (l *list) csvError(line int, err error) error {
	var wrong *csv.ParseError
	switch {
	case errors.Is(err, errLongRow):
		return jjm.Errorf(jjm.Invalid, "%s: %w", l.name, err)
	case errors.As(err, &wrong):
		return jjm.Errorf(jjm.Invalid, "%s:%d: %w", l.name, wrong.Line, wrong.Err)
	case errors.Is(err, io.EOF):
		return jjm.Errorf(jjm.Invalid, "%s:%d: the list is empty: want a header such as lfn,size,events", l.name, line)
	}
	return jjm.Errorf(jjm.Busy, "read %s: %w", l.name, err)
}

// columns parses the header. It returns the names of the columns and a setter for each column.
func (l *list) columns(header []string) (names []string, set []func(*jjm.File, string) error, err error) {
	known, seen := setters(), map[string]bool{}
	for _, name := range header {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		switch {
		case known[name] == nil:
			return nil, nil, jjm.Errorf(jjm.Invalid, "%s:1: %w", l.name, unknown("column", name))
		case seen[name]:
			return nil, nil, jjm.Errorf(jjm.Invalid, "%s:1: column %s is given twice", l.name, name)
		}
		seen[name] = true
		names, set = append(names, name), append(set, known[name])
	}
	if !seen["lfn"] {
		return nil, nil, jjm.Errorf(jjm.Invalid, "%s:1: no column lfn: want a header such as lfn,size,events", l.name)
	}
	return names, set, nil
}

// row parses one row.
func (l *list) row(line int, cells, columns []string, set []func(*jjm.File, string) error) error {
	var f jjm.File
	before := len(l.problems)
	for i, cell := range cells {
		err := errors.New("not UTF-8")
		if utf8.ValidString(cell) {
			err = set[i](&f, strings.Clone(strings.TrimSpace(cell)))
		}
		if err != nil {
			if err := l.bad(line, columns[i], "%v", err); err != nil {
				return err
			}
		}
	}
	if len(l.problems) > before {
		return nil
	}
	return l.file(line, &f)
}

// parseLumis parses sections such as "1:1-4 2:7".
func parseLumis(s string) ([]jjm.LumiRange, error) {
	var out []jjm.LumiRange
	for word := range strings.FieldsSeq(s) {
		run, sections, ok := strings.Cut(word, ":")
		first, last, isRange := strings.Cut(sections, "-")
		if !isRange {
			last = first
		}
		r, err1 := strconv.ParseUint(run, 10, 32)
		a, err2 := strconv.ParseUint(first, 10, 32)
		b, err3 := strconv.ParseUint(last, 10, 32)
		if !ok || errors.Join(err1, err2, err3) != nil || a > b {
			return nil, fmt.Errorf("%.40q: want sections as run:first-last or run:number", word)
		}
		out = append(out, jjm.LumiRange{Run: uint32(r), First: uint32(a), Last: uint32(b)})
	}
	return out, nil
}

// errLongRow stops the reading of a CSV list at a row longer than MaxLine.
var errLongRow = fmt.Errorf("a row is longer than %d bytes: is a double quote never closed?", MaxLine)

// budget limits how many bytes are read for one row. Without a limit, an unclosed quote would load the rest of the text
// into memory.
type budget struct {
	r    io.Reader
	left int
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLongRow
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}
