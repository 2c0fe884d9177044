// Package conformance holds the suite that every job type must pass. The suite checks that jobs which the type accepts
// can be cut into parts that cover the work exactly once, and that every part has a command line. It also checks that
// the type respects the site's limit on local jobs and may be called from many goroutines, and that its documentation
// is true.
package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"jjm/handlers"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/testkit/differ"
	"jjm/internal/work/split"
)

// maxCommands is the largest number of parts whose command line is checked, which keeps the suite quick for large jobs.
const maxCommands = 2000

// TB receives the findings of a check; *testing.T implements it. Fatal and Fatalf do not return.
type TB interface {
	Helper()
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

// Check is one check of a job type.
type Check struct {
	Name string
	Run  func(TB)
}

// Good is a spec that a type must accept, with the expected result. Only the author of the spec knows the result: a
// type that drops a row is consistent with itself.
type Good struct {
	// Spec is nil for the example of the type's description.
	Spec *jjm.Spec
	// Parts is the number of local jobs; Units is the total number of their events or rows. A number of 0 is not
	// compared.
	Parts int
	Units int64
}

// Checks returns the checks of a job type against the contract of [handlers.Handler]. good
// are specs that the type must accept; the example of its description is always one of
// them. site is passed to the type; its Open may be nil if no spec names files.
func Checks(h handlers.Handler, site handlers.Site, good ...Good) []Check {
	all := []Check{
		{"describe", func(t TB) { describe(t, h) }},
		{"example", func(t TB) {
			accepted(t, h, site, Good{Spec: example(t, h)})
			packs(t, h, site, &jjm.Spec{Type: h.Type(), Params: example(t, h).Params})
		}},
		{"problems", func(t TB) { refuses(t, h, site, example(t, h)) }},
		{"calls at once", func(t TB) { atOnce(t, h, site, append(slices.Clone(good), Good{})) }},
	}
	for i, g := range good {
		all = append(all, Check{fmt.Sprintf("good %d", i), func(t TB) {
			accepted(t, h, site, g.filled(t, h))
			if g.Spec != nil {
				packs(t, h, site, g.Spec)
			}
		}})
	}
	return all
}

// filled returns g with the example of the type's description if g has no spec.
func (g Good) filled(t TB, h handlers.Handler) Good {
	t.Helper()
	if g.Spec == nil {
		g.Spec = example(t, h)
	}
	return g
}

// describe checks that the description is complete and consistent.
func describe(t TB, h handlers.Handler) {
	if problems := handlers.Learn(h); len(problems) > 0 {
		t.Fatalf("what type %s is cannot be found out: %v", h.Type(), problems)
	}
	d := h.Describe()
	if h.Type() == "" || d.Summary == "" || d.Example == "" {
		t.Errorf("type %q lacks a name, a summary or an example", h.Type())
	}
	if d.Result != jjm.ResultGLF && d.Result != jjm.ResultExit {
		t.Errorf("result is %q, want glf or exit", d.Result)
	}
	seen := map[string]bool{}
	for _, p := range d.Params {
		if p.Name == "" || p.Type == "" || p.Help == "" {
			t.Errorf("setting %q lacks a name, a type or a help", p.Name)
		}
		if p.Required && p.Default != "" {
			t.Errorf("setting %s is required and has a default", p.Name)
		}
		if seen[p.Name] {
			t.Errorf("setting %s is described twice", p.Name)
		}
		seen[p.Name] = true
	}
}

// example parses the job file of the description.
func example(t TB, h handlers.Handler) *jjm.Spec {
	t.Helper()
	doc, problems := jobfile.Parse("example.toml", []byte(h.Describe().Example))
	if problems != nil {
		t.Fatalf("the example of type %s is no job file: %v", h.Type(), problems)
	}
	if doc.Spec.Type != h.Type() {
		t.Errorf("the example is of type %q, want %q", doc.Spec.Type, h.Type())
	}
	return &doc.Spec
}

// refuses checks that the type reports problems, with fields, for parameters that are missing, unknown, or of a wrong
// type.
func refuses(t TB, h handlers.Handler, site handlers.Site, example *jjm.Spec) {
	check := func(what string, params map[string]any) {
		spec := *example
		spec.Params = params
		planned, problems := handlers.Planned(h, &spec, site)
		if len(problems) == 0 {
			problems = h.Check(planned, site)
		}
		if len(problems) == 0 {
			t.Errorf("the type finds nothing wrong with %s (Check)", what)
		}
		for _, p := range problems {
			if p.Field == "" || p.Text == "" {
				t.Errorf("%s: the problem %q lacks a field or a text", what, p.String())
			}
		}
	}
	if slices.ContainsFunc(h.Describe().Params, func(p handlers.Param) bool { return p.Required }) {
		check("no settings", nil)
	}
	for _, p := range h.Describe().Params {
		params := clone(t, example).Params
		if params == nil {
			params = map[string]any{}
		}
		params[p.Name] = map[string]any{"neither": "this"}
		check(p.Name+" being a table", params)
		if p.Required {
			delete(params, p.Name)
			check("no "+p.Name, params)
		}
	}
	params := clone(t, example).Params
	if params == nil {
		params = map[string]any{}
	}
	params["no_such_parameter"] = true
	check("an unknown setting", params)
}

// accepted checks a spec that the type must accept against the whole contract.
func accepted(t TB, h handlers.Handler, site handlers.Site, good Good) {
	spec, problems := handlers.Planned(h, good.Spec, site)
	if len(problems) > 0 {
		t.Fatalf("the type refuses the job file: %v", problems)
	}
	plansAlike(t, h, site, good.Spec, spec)
	before := clone(t, spec)
	if problems := h.Check(spec, site); problems != nil {
		t.Fatalf("the type refuses the job file (Check): %v", problems)
	}
	if problems := handlers.Fits(h.Type(), h.Describe(), spec); problems != nil {
		t.Fatalf("the type has no use for the spec: %v", problems)
	}
	c, err := h.Split(spec, site)
	if err != nil {
		t.Fatalf("Split: %v", err)
	}
	if len(c.Why) == 0 {
		t.Error("Split does not say why")
	}
	whole := c
	if h.Describe().Reads {
		work, all := handlers.Inline(spec)
		if !all {
			t.Fatal("the job file does not list all files: list them with files = [{ lfn = ... }], and leave open out")
		}
		whole.Work.Files, whole.Work.Secondary, whole.Work.Closed = work.Files, work.Secondary, true
	}
	parts := cutAll(t, whole)
	coverOnce(t, whole, parts)
	good.compare(t, parts)
	commands(t, h, spec, parts)
	if !h.Describe().Reads { // the number of files is known only later
		recovers(t, h, site, spec, parts[len(parts)/2])
		keepsLimit(t, h, site, good.Spec, len(parts))
	}
	stored := clone(t, spec) // numbers become float64, as in a spec from the store
	again, err := h.Split(stored, site)
	if err != nil {
		t.Fatalf("Split of the spec as stored: %v", err)
	}
	if how := differ.First(string(asJSON(t, again)), string(asJSON(t, c))); how != "" {
		t.Errorf("Split of the spec as stored differs: it %s", how)
	}
	commands(t, h, stored, parts)
	if !bytes.Equal(asJSON(t, spec), asJSON(t, before)) {
		t.Error("the handler changed the spec")
	}
}

// plansAlike asks the type for the plan of a spec again. Both plans must be equal, because a dry run must show the plan
// that a submission will have.
func plansAlike(t TB, h handlers.Handler, site handlers.Site, spec, planned *jjm.Spec) {
	t.Helper()
	again, problems := handlers.Planned(h, clone(t, spec), site)
	if len(problems) > 0 {
		t.Errorf("asked for its plan twice, the type refuses the second time: %v", problems)
		return
	}
	if how := plansDiffer(asJSON(t, again.Params), asJSON(t, planned.Params)); how != "" {
		t.Errorf("asked for its plan twice, the type answers in another way the second time: %s", how)
		t.Error("the same settings must give the same plan: no clock, process id, unseeded random number, order of a set")
	}
}

// packs checks that the files that the type sends along with a grid job exist.
func packs(t TB, h handlers.Handler, site handlers.Site, spec *jjm.Spec) {
	t.Helper()
	if site.Open == nil {
		return // no files can be read here
	}
	planned, problems := handlers.Planned(h, spec, site)
	if len(problems) > 0 {
		return // the failure is already reported
	}
	inputs, err := handlers.Inputs(h, planned, site)
	if err != nil {
		t.Errorf("the files to pack: %v", err)
	}
	for _, err := range handlers.Lost(inputs, site.Open) {
		t.Errorf("%v", err)
	}
}

// compare fails the test if the number of parts or of their units is not the expected number.
func (g Good) compare(t TB, parts []jjm.Part) {
	t.Helper()
	if g.Parts != 0 && len(parts) != g.Parts {
		t.Errorf("the type makes %s, want %d", jjm.Count(len(parts), "local job"), g.Parts)
	}
	if got := unitsOf(parts); g.Units != 0 && got != g.Units {
		t.Errorf("the local jobs have %d events or rows in all, want %d: does the type drop some?", got, g.Units)
	}
}

// recovers checks a job file that selects only the units of one part, as the job file of a recovery does. The job file
// must result in exactly this part, with the same units and arguments, and with serial number 1.
func recovers(t TB, h handlers.Handler, site handlers.Site, spec *jjm.Spec, part jjm.Part) {
	t.Helper()
	some := clone(t, spec)
	some.Only = []jjm.Span{{First: part.First, Count: part.Count}}
	if problems := h.Check(some, site); problems != nil {
		t.Fatalf("the type refuses a recovery of one part (Check, spec.Only): %v", problems)
	}
	c, err := h.Split(some, site)
	if err != nil {
		t.Fatalf("Split of a recovery of one part (spec.Only): %v", err)
	}
	part.Serial = 1
	only := fmt.Sprintf("only = %d-%d", part.First, part.First+part.Count-1)
	parts := cutAll(t, c)
	if len(parts) != 1 {
		t.Errorf("with %s there are %s, want 1: does Split hand spec.Only on?", only, jjm.Count(len(parts), "part"))
		return
	}
	if how := differ.First(string(asJSON(t, parts[0])), string(asJSON(t, part))); how != "" {
		t.Errorf("with %s the part %s without: does Split hand spec.Only on?", only, how)
	}
}

// cutAll cuts progressively, a few parts at a time.
func cutAll(t TB, c handlers.Cutting) []jjm.Part {
	t.Helper()
	s, err := split.Get(c.Splitter)
	if err != nil {
		t.Fatal(err)
	}
	var parts []jjm.Part
	var carry split.Carry
	for more := true; more; {
		var some []jjm.Part
		var left split.Left
		some, left, carry, err = s.Cut(c.Work, split.Limits{MaxParts: 997}, c.Params, carry)
		if err != nil {
			t.Fatalf("cut: %v", err)
		}
		more = left.More
		if more && len(some) == 0 {
			t.Fatal("the splitter makes no headway")
		}
		parts = append(parts, some...)
	}
	return parts
}

// coverOnce checks that the number of parts is the announced number, and that the parts follow each other without gap
// or overlap.
func coverOnce(t TB, c handlers.Cutting, parts []jjm.Part) {
	t.Helper()
	if len(parts) != c.Jobs || len(parts) == 0 {
		t.Fatalf("Split announced %s, the cutting made %d: set Jobs, or use site.Cut, which counts them",
			jjm.Count(c.Jobs, "local job"), len(parts))
	}
	next := parts[0].First
	for i, p := range parts {
		if c.Work.Only != nil {
			next = max(next, p.First) // a recovery skips units between its spans
		}
		if p.First != next || p.Count < 1 || p.Serial != int64(i)+1 {
			t.Fatalf("part %d starts at %d with %s, serial %d; want it to start at %d, not empty, with serial %d", i, p.First,
				jjm.Count(p.Count, "unit"), p.Serial, next, i+1)
		}
		next += p.Count
	}
	if got, want := unitsOf(parts), units(c); want >= 0 && got != want {
		t.Errorf("the parts cover %d units, want %d", got, want)
	}
}

// unitsOf returns the sum of the units of all parts.
func unitsOf(parts []jjm.Part) (n int64) {
	for i := range parts {
		n += parts[i].Count
	}
	return n
}

// units returns the number of units to cover; -1 if only the splitter knows it.
func units(c handlers.Cutting) int64 {
	switch {
	case c.Work.Files != nil:
		return -1
	case c.Work.Only == nil:
		return c.Work.Events + int64(len(c.Work.Rows))
	}
	var n int64
	for _, s := range c.Work.Only {
		n += s.Count
	}
	return n
}

// commands checks that every part has a command line, and that repeated calls return the same command line.
func commands(t TB, h handlers.Handler, spec *jjm.Spec, parts []jjm.Part) {
	t.Helper()
	step := 1 + len(parts)/maxCommands
	for i := 0; i < len(parts); i += step {
		job := &jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: int32(i)}, Part: parts[i]}
		c, err := h.Command(spec, job)
		if err != nil {
			t.Fatalf("Command of part %d: %v", i, err)
		}
		if len(c.Argv) == 0 || c.Argv[0] == "" {
			t.Fatalf("the command of part %d is %q: it names no program", i, c.Argv)
		}
		job.Attempt, job.RetryArgs = 3, []string{"step2"}
		if d, err := h.Command(spec, job); err != nil || !slices.Equal(d.Argv, c.Argv) {
			how := differ.First(string(asJSON(t, d.Argv)), string(asJSON(t, c.Argv)))
			if err != nil {
				how = "is an error: " + err.Error()
			}
			t.Fatalf("the command of part %d on a retry %s", i, how)
		}
	}
}

// clone copies a spec by writing and reading it in the form of the store.
func clone(t TB, spec *jjm.Spec) *jjm.Spec {
	t.Helper()
	var out jjm.Spec
	if err := json.Unmarshal(asJSON(t, spec), &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// asJSON returns a value as JSON.
func asJSON(t TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
