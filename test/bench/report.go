package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
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

// table collects the rows.
type table struct {
	of   string // the section of the next rows
	rows []row
}

// target adds a figure that must not exceed a target.
func (t *table) target(name string, figure float64, unit string, target float64) {
	t.beside(name, figure, unit, "target: at most", target, 1)
}

// beside adds a figure and the figure with which it is compared. The ratio must not exceed limit; 0 = no verdict.
func (t *table) beside(name string, figure float64, unit, against string, with, limit float64) {
	r := row{Section: t.of, Name: name, Figure: figure, Unit: unit, Against: against, With: with, Limit: limit}
	if with > 0 {
		r.Ratio = figure / with
	}
	if limit > 0 {
		r.Verdict = missed
		if r.Ratio <= limit {
			r.Verdict = ok
		}
	}
	t.rows = append(t.rows, r)
}

// tell adds a figure without a comparison.
func (t *table) tell(name string, figure float64, unit string) {
	t.beside(name, figure, unit, "", 0, 0)
}

func (t *table) missed() bool {
	return slices.ContainsFunc(t.rows, func(r row) bool { return r.Verdict == missed })
}

// print writes the table as text or as JSON.
func (t *table) print(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"machine": machine(), "rows": t.rows})
	}
	fmt.Fprintf(w, "%s\n\n", machine())
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "section\tfigure\t\tcompared with\t\tratio\t")
	for _, r := range t.rows {
		with, ratio := "", ""
		if r.Against != "" {
			with, ratio = quantity(r.With, r.Unit), fmt.Sprintf("%.2f", r.Ratio)
		}
		if r.Limit > 0 && r.Limit != 1 {
			ratio += fmt.Sprintf(" (at most %g)", r.Limit)
		}
		fmt.Fprintln(columns, strings.Join([]string{r.Section, r.Name, quantity(r.Figure, r.Unit), r.Against, with, ratio,
			r.Verdict}, "\t"))
	}
	return columns.Flush()
}

// quantity returns a figure with its unit. The figure has three significant digits; from 100 on it is a whole number.
func quantity(f float64, unit string) string {
	s := fmt.Sprintf("%.3g", f)
	if f >= 100 || strings.Contains(s, "e") {
		s = fmt.Sprintf("%.0f", f)
	}
	return strings.TrimSpace(s + " " + unit)
}

// machine describes where the figures were measured. Its load is that of the last minutes: other processes make wall
// times longer.
func machine() string {
	read := func(path string) string {
		text, _ := os.ReadFile(path) // an unknown fact is empty
		return strings.TrimSpace(string(text))
	}
	cpu := "an unknown CPU"
	if m := regexp.MustCompile(`(?m)^model name\s*: (.+)$`).FindStringSubmatch(read("/proc/cpuinfo")); m != nil {
		cpu = m[1]
	}
	return fmt.Sprintf("%d cores of %s, Linux %s, %s; load %s", runtime.NumCPU(), cpu,
		read("/proc/sys/kernel/osrelease"), runtime.Version(), read("/proc/loadavg"))
}

// series holds repeated measurements by name.
type series map[string][]float64

func (s series) add(name string, figure float64) { s[name] = append(s[name], figure) }

func (s series) median(name string) float64 { return s.quantile(name, 0.5) }

// quantile returns the smallest figure that a share q of the figures does not exceed, 0 if there are none.
func (s series) quantile(name string, q float64) float64 {
	sorted := slices.Sorted(slices.Values(s[name]))
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}
