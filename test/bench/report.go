package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// row is one line of the table: a figure, and the figure with which it is compared, if there is one.
type row struct {
	Section string  `json:"section"`
	Name    string  `json:"name"`
	Figure  float64 `json:"figure"`
	Unit    string  `json:"unit"`
	// Against names the figure or target with which Figure is compared; "" if there is none. With is the value of that
	// figure, in the same unit.
	Against string  `json:"against,omitempty"`
	With    float64 `json:"with,omitempty"`
	// Ratio is Figure divided by With. Limit is its limit, 0 = none.
	Ratio float64 `json:"ratio,omitempty"`
	Limit float64 `json:"limit,omitempty"`
	// Verdict is "ok" or "MISSED" if there is a limit.
	Verdict string `json:"verdict,omitempty"`
}

const (
	ok     = "ok"
	missed = "MISSED"
)

// target adds a figure that must not exceed a target.
func (b *bench) target(section, name string, figure float64, unit string, target float64) {
	b.beside(section, name, figure, unit, "target: at most", target, 1)
}

// beside adds a figure and the figure with which it is compared. Their ratio must not exceed limit; if limit is 0,
// there is no verdict.
func (b *bench) beside(section, name string, figure float64, unit, against string, with, limit float64) {
	r := row{Section: section, Name: name, Figure: figure, Unit: unit, Against: against, With: with, Limit: limit}
	if with > 0 {
		r.Ratio = figure / with
	}
	if limit > 0 {
		r.Verdict = missed
		if r.Ratio <= limit {
			r.Verdict = ok
		}
	}
	b.rows = append(b.rows, r)
}

// tell adds a figure without a comparison.
func (b *bench) tell(section, name string, figure float64, unit string) {
	b.rows = append(b.rows, row{Section: section, Name: name, Figure: figure, Unit: unit})
}

// report is the whole output.
type report struct {
	Machine machine `json:"machine"`
	Rows    []row   `json:"rows"`
}

func (r report) missed() bool {
	for _, row := range r.Rows {
		if row.Verdict == missed {
			return true
		}
	}
	return false
}

func (r report) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r report) text(w io.Writer) error {
	fmt.Fprintln(w, r.Machine)
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "section\tfigure\t\tcompared with\t\tratio\t")
	for _, row := range r.Rows {
		with, ratio := "", ""
		if row.Against != "" {
			with = quantity(row.With, row.Unit)
			ratio = fmt.Sprintf("%.2f", row.Ratio)
		}
		if row.Limit > 0 && row.Limit != 1 {
			ratio += fmt.Sprintf(" (at most %g)", row.Limit)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Section, row.Name, quantity(row.Figure, row.Unit), row.Against,
			with, ratio, row.Verdict)
	}
	return t.Flush()
}

// quantity returns a figure with its unit. The figure has three significant digits; from 100 on it is a whole number.
func quantity(f float64, unit string) string {
	s := fmt.Sprintf("%.3g", f)
	if f >= 100 || strings.Contains(s, "e") {
		s = fmt.Sprintf("%.0f", f)
	}
	if unit == "" {
		return s
	}
	return s + " " + unit
}
