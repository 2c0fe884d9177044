// Package conformance holds the suite that every job type must pass: what it
// accepts can be cut into parts that cover the work exactly once, every part
// has a command line, and what it documents is true.
package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"jjm"
	"jjm/handlers"
	"jjm/jobfile"
	"jjm/split"
)

// maxCommands bounds the parts whose command line is asked for, so that the
// suite stays quick with large jobs.
const maxCommands = 2000

// TB is what a check tells its findings to; *testing.T is one. Fatal and Fatalf do not
// return.
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

// Checks hold a job type against the contract of [handlers.Handler]. The specs are ones
// that the type must accept; the example of its description is always among them. The
// site is what the type gets to know; its Open may be nil if no spec names files.
func Checks(h handlers.Handler, site handlers.Site, good ...*jjm.Spec) []Check {
	all := []Check{
		{"describe", func(t TB) { describe(t, h) }},
		{"example", func(t TB) { accepted(t, h, site, example(t, h)) }},
		{"problems", func(t TB) { refuses(t, h, site, example(t, h)) }},
	}
	for i, spec := range good {
		all = append(all, Check{fmt.Sprintf("good %d", i), func(t TB) { accepted(t, h, site, spec) }})
	}
	return all
}

// describe holds the description against itself.
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
			t.Errorf("parameter %+v lacks a name, a type or a help", p)
		}
		if p.Required && p.Default != "" {
			t.Errorf("parameter %s is required and has a default", p.Name)
		}
		if seen[p.Name] {
			t.Errorf("parameter %s is described twice", p.Name)
		}
		seen[p.Name] = true
	}
}

// example reads the job file of the description.
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

// refuses demands problems, with fields, for parameters that are missing,
// unknown, or of a wrong type.
func refuses(t TB, h handlers.Handler, site handlers.Site, example *jjm.Spec) {
	check := func(what string, params map[string]any) {
		spec := *example
		spec.Params = params
		planned, problems := handlers.Planned(h, &spec, site)
		if len(problems) == 0 {
			problems = h.Check(planned, site)
		}
		if len(problems) == 0 {
			t.Errorf("Check finds nothing wrong with %s", what)
		}
		for _, p := range problems {
			if p.Field == "" || p.Text == "" {
				t.Errorf("%s: problem %+v lacks a field or a text", what, p)
			}
		}
	}
	check("no parameters", nil)
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
	check("an unknown parameter", params)
}

// accepted follows a spec that must be accepted through the contract.
func accepted(t TB, h handlers.Handler, site handlers.Site, spec *jjm.Spec) {
	spec, problems := handlers.Planned(h, spec, site)
	if len(problems) > 0 {
		t.Fatalf("Plan refuses a good spec: %v", problems)
	}
	before := clone(t, spec)
	if problems := h.Check(spec, site); problems != nil {
		t.Fatalf("Check refuses a good spec: %v", problems)
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
			t.Fatal("the suite wants all files in the job file, and the dataset closed")
		}
		whole.Work.Files, whole.Work.Secondary, whole.Work.Closed = work.Files, work.Secondary, true
	}
	parts := cutAll(t, whole)
	covers(t, whole, parts)
	commands(t, h, spec, parts)
	if !h.Describe().Reads {
		chosen(t, h, site, spec, parts[len(parts)/2])
	}
	stored := clone(t, spec) // as it comes back from the store: numbers are float64
	again, err := h.Split(stored, site)
	if err != nil {
		t.Fatalf("Split of the spec as stored: %v", err)
	}
	if !bytes.Equal(asJSON(t, again), asJSON(t, c)) {
		t.Errorf("Split of the spec as stored differs:\n%s\n%s", asJSON(t, again), asJSON(t, c))
	}
	commands(t, h, stored, parts)
	if !bytes.Equal(asJSON(t, spec), asJSON(t, before)) {
		t.Error("the handler changed the spec")
	}
}

// chosen demands that a job file which chooses the units of one part, as a recovery
// does, gets that part alone, with its numbers and words.
func chosen(t TB, h handlers.Handler, site handlers.Site, spec *jjm.Spec, part jjm.Part) {
	t.Helper()
	some := clone(t, spec)
	some.Only = []jjm.Span{{First: part.First, Count: part.Count}}
	if problems := h.Check(some, site); problems != nil {
		t.Fatalf("Check refuses only = %v: %v", some.Only, problems)
	}
	c, err := h.Split(some, site)
	if err != nil {
		t.Fatalf("Split with only = %v: %v", some.Only, err)
	}
	part.Serial = 1
	if parts := cutAll(t, c); len(parts) != 1 || !bytes.Equal(asJSON(t, parts[0]), asJSON(t, part)) {
		t.Errorf("with only = %v the parts are %s, want %s: does Split hand spec.Only on?", some.Only, asJSON(t, parts),
			asJSON(t, part))
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

// covers demands that the parts are as many as announced and follow on each
// other without gap or overlap.
func covers(t TB, c handlers.Cutting, parts []jjm.Part) {
	t.Helper()
	if len(parts) != c.Jobs || len(parts) == 0 {
		t.Fatalf("Split announced %d local jobs, the cutting made %d", c.Jobs, len(parts))
	}
	next := parts[0].First
	for i, p := range parts {
		if c.Work.Only != nil {
			next = max(next, p.First) // what is not chosen lies between
		}
		if p.First != next || p.Count < 1 || p.Serial != int64(i)+1 {
			t.Fatalf("part %d is %+v, want it to start at %d, not empty, with serial %d", i, p, next, i+1)
		}
		next += p.Count
	}
	if got, want := unitsOf(parts), units(c); want >= 0 && got != want {
		t.Errorf("the parts cover %d units, want %d", got, want)
	}
}

func unitsOf(parts []jjm.Part) (n int64) {
	for i := range parts {
		n += parts[i].Count
	}
	return n
}

// units is how many units there are to cover; -1 if the splitter alone knows.
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

// commands demands a command line for every part, the same each time.
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
			t.Fatalf("the command of part %d is %q on a retry, was %q (%v)", i, d.Argv, c.Argv, err)
		}
	}
}

// clone copies a spec the way the store does.
func clone(t TB, spec *jjm.Spec) *jjm.Spec {
	t.Helper()
	var out jjm.Spec
	if err := json.Unmarshal(asJSON(t, spec), &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

func asJSON(t TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
