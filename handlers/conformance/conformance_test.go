package conformance

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"jjm/handlers"
	"jjm/handlers/script"
	"jjm/internal/jjm"
)

// broken is the script type with one planted violation of the contract.
type broken struct {
	script.Handler
	describe func(*handlers.Description)
	check    func(jjm.Problems) jjm.Problems
	checked  func(*handlers.Site)
	split    func(*handlers.Cutting) error
	command  func(*jjm.Spec, *jjm.LocalJob, *handlers.Command) error
}

func (b broken) Describe() handlers.Description {
	d := b.Handler.Describe()
	if b.describe != nil {
		b.describe(&d)
	}
	return d
}

func (b broken) Check(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	if b.checked != nil {
		b.checked(&site)
	}
	problems := b.Handler.Check(spec, site)
	if b.check != nil {
		return b.check(problems)
	}
	return problems
}

func (b broken) Split(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, error) {
	if b.checked != nil {
		b.checked(&site)
	}
	c, err := b.Handler.Split(spec, site)
	if b.split != nil {
		err = b.split(&c)
	}
	return c, err
}

func (b broken) Command(spec *jjm.Spec, job *jjm.LocalJob) (handlers.Command, error) {
	c, err := b.Handler.Command(spec, job)
	if b.command != nil {
		err = b.command(spec, job, &c)
	}
	return c, err
}

// recorder is a testing.TB that records failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper()        {}
func (r *recorder) Error(a ...any) { r.failures = append(r.failures, fmt.Sprint(a...)) }
func (r *recorder) Errorf(format string, a ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, a...))
}
func (r *recorder) Fatal(a ...any) {
	r.Error(a...)
	runtime.Goexit()
}
func (r *recorder) Fatalf(format string, a ...any) {
	r.Errorf(format, a...)
	runtime.Goexit()
}

// failures returns the findings of the suite about a handler.
func failures(t *testing.T, h handlers.Handler) string {
	var all []string
	for _, part := range []func(testing.TB){
		func(t testing.TB) { describe(t, h) },
		func(t testing.TB) { accepted(t, h, handlers.Site{}, Good{example(t, h), 2, 2}) },
		func(t testing.TB) { refuses(t, h, handlers.Site{}, example(t, h)) },
		func(t testing.TB) { atOnce(t, h, handlers.Site{}, []Good{{}}) },
	} {
		r := &recorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			part(r)
		}()
		<-done
		all = append(all, r.failures...)
	}
	return strings.Join(all, "\n")
}

func TestSuite_AcceptsAGoodHandler(t *testing.T) {
	if got := failures(t, broken{}); got != "" {
		t.Errorf("failures:\n%s", got)
	}
}

func TestSuite_FindsBrokenPromises(t *testing.T) {
	calls := 0
	var shared atomic.Pointer[[]string]
	buffer := make([]string, 1)
	tests := map[string]struct {
		h    broken
		want string
	}{
		"no summary": {broken{describe: func(d *handlers.Description) {
			d.Summary = ""
		}}, "lacks a name, a summary or an example"},
		"no result": {broken{describe: func(d *handlers.Description) { d.Result = "maybe" }}, `result is "maybe"`},
		"no help": {broken{describe: func(d *handlers.Description) {
			d.Params[0].Help = ""
		}}, "lacks a name, a type or a help"},
		"twice": {broken{describe: func(d *handlers.Description) {
			d.Params[1] = d.Params[0]
		}}, "is described twice"},
		"default": {broken{describe: func(d *handlers.Description) {
			d.Params[0].Default = "x"
		}}, "is required and has a default"},
		"bad example": {broken{describe: func(d *handlers.Description) { d.Example = "type = 3" }}, "is no job file"},
		"other example": {broken{describe: func(d *handlers.Description) {
			d.Example = "type = \"x\"\n[params]\ncommand = [\"a\"]"
		}}, `the example is of type "x"`},
		"wrong example": {broken{describe: func(d *handlers.Description) {
			d.Example = `type = "script"`
		}}, "the type refuses the job file (Check)"},
		"lenient": {broken{check: func(jjm.Problems) jjm.Problems {
			return nil
		}}, "the type finds nothing wrong with no settings (Check)"},
		"strict": {broken{check: func(jjm.Problems) jjm.Problems {
			return jjm.Problems{{Text: "no"}}
		}}, "lacks a field or a text"},
		"cannot split": {broken{split: func(*handlers.Cutting) error { return errors.New("sorry") }}, "Split: sorry"},
		"no why":       {broken{split: func(c *handlers.Cutting) error { c.Why = nil; return nil }}, "does not say why"},
		"wrong number": {broken{split: func(c *handlers.Cutting) error {
			c.Jobs++
			return nil
		}}, "announced 3 local jobs, the cutting made 2: set Jobs, or use site.Cut"},
		"no splitter": {broken{split: func(c *handlers.Cutting) error {
			c.Splitter = "x"
			return nil
		}}, `unknown splitter "x"`},
		"no work": {broken{split: func(c *handlers.Cutting) error {
			c.Work.Rows = nil
			c.Jobs = 0
			return nil
		}}, "announced 0 local jobs"},
		"a row dropped": {broken{split: func(c *handlers.Cutting) error {
			if len(c.Work.Rows) > 1 {
				c.Work.Rows, c.Jobs = c.Work.Rows[1:], c.Jobs-1
			}
			return nil
		}}, "the type makes 1 local job, want 2"},
		"a limit ignored": {broken{checked: func(s *handlers.Site) {
			s.MaxLocalJobs = 0
		}}, "the site allows 1 local job (MaxLocalJobs), and the type makes 2"},
		"a limit only at the cutting": {broken{check: func(ps jjm.Problems) jjm.Problems {
			return slices.DeleteFunc(ps, func(p jjm.Problem) bool { return strings.Contains(p.Text, "this site allows") })
		}}, "Check accepts what Split refuses"},
		"a global": {broken{command: func(_ *jjm.Spec, _ *jjm.LocalJob, c *handlers.Command) error {
			mine := c.Argv
			shared.Store(&mine)
			runtime.Gosched()
			c.Argv = *shared.Load()
			return nil
		}}, "asked about several jobs at once, the type mixes them up: the command of part"},
		"a global of the last check": {broken{split: func(c *handlers.Cutting) error {
			shared.Store(&[]string{fmt.Sprint(c.Work.Only)})
			return nil
		}, command: func(_ *jjm.Spec, _ *jjm.LocalJob, c *handlers.Command) error {
			c.Argv = *shared.Load()
			return nil
		}}, "asked about several jobs in turn, the type mixes them up: the command of part"},
		"a global of the last settings": {broken{split: func(c *handlers.Cutting) error {
			shared.Store(&[]string{fmt.Sprint(c.Work.Rows)}) // all parts of a job share one list
			return nil
		}, command: func(_ *jjm.Spec, _ *jjm.LocalJob, c *handlers.Command) error {
			c.Argv = *shared.Load()
			return nil
		}}, "asked about several jobs in turn, the type mixes them up: the command of part"},
		"one buffer for all": {broken{command: func(_ *jjm.Spec, _ *jjm.LocalJob, c *handlers.Command) error {
			buffer[0] = strings.Join(c.Argv, " ")
			c.Argv = buffer
			return nil
		}}, "the type mixes them up"},
		"fickle split": {broken{split: func(c *handlers.Cutting) error {
			calls++
			c.Why = []string{fmt.Sprint(calls)}
			return nil
		}}, "Split of the spec as stored differs"},
		"no command": {broken{command: func(_ *jjm.Spec, _ *jjm.LocalJob, c *handlers.Command) error {
			c.Argv = nil
			return nil
		}}, "it names no program"},
		"command fails": {broken{command: func(*jjm.Spec, *jjm.LocalJob, *handlers.Command) error {
			return errors.New("sorry")
		}}, "Command of part 0: sorry"},
		"fickle command": {broken{command: func(_ *jjm.Spec, j *jjm.LocalJob, c *handlers.Command) error {
			c.Argv = append(c.Argv, fmt.Sprint(j.Attempt))
			return nil
		}}, "on a retry"},
		"changes the spec": {broken{command: func(s *jjm.Spec, _ *jjm.LocalJob, _ *handlers.Command) error {
			s.Name = "changed"
			return nil
		}},
			"the handler changed the spec"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := failures(t, test.h); !strings.Contains(got, test.want) {
				t.Errorf("failures are:\n%s\nwant %q", got, test.want)
			}
		})
	}
}

// The suite also compares the number of units with the expected number, because the number of local jobs may be right
// although events are left out.
func TestGood_ComparesAlsoTheUnits(t *testing.T) {
	r := &recorder{TB: t}
	Good{Parts: 2, Units: 250}.compare(r, []jjm.Part{{Count: 100}, {Count: 149}})
	if want := "the local jobs have 249 events or rows in all, want 250"; !strings.Contains(strings.Join(r.failures, "\n"), want) {
		t.Errorf("%q, want %q", r.failures, want)
	}
	r = &recorder{TB: t}
	Good{}.compare(r, []jjm.Part{{Count: 100}})
	if len(r.failures) > 0 {
		t.Errorf("nothing was expected: %q", r.failures)
	}
}
