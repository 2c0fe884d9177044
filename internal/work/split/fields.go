package split

import (
	"fmt"
	"math"
	"slices"
	"time"

	"jjm/internal/jjm"
)

// The job fields that GenericSplitter may set.
const (
	fieldArgs     = "application.args"
	fieldEnv      = "application.env"
	fieldQueue    = "backend.queue"
	fieldCores    = "backend.cores"
	fieldMemory   = "backend.memory"
	fieldWalltime = "backend.walltime"
)

// Settable returns the job fields that GenericSplitter may set.
func Settable() []string {
	return []string{fieldArgs, fieldEnv, fieldQueue, fieldCores, fieldMemory, fieldWalltime}
}

// Fields are the job fields that a part sets.
type Fields struct {
	// Args are the command's arguments; nil means the arguments in the job file.
	Args []string
	// Env are additional environment variables of the application.
	Env map[string]string
	// Request holds the resources that the part requests. For zero fields the grid job's request is used.
	Request jjm.Request
}

// FieldsOf converts settings (jjm.PartMore.Settings) to fields. Memory is in MiB; the wall time is a duration such as
// "2h" or a number of seconds. The error is of kind Invalid and names the field.
func FieldsOf(settings map[string]any) (f Fields, err error) {
	for path, value := range settings {
		if err = f.set(path, value); err != nil {
			return f, jjm.Errorf(jjm.Invalid, "%s: %w", path, err)
		}
	}
	return f, nil
}

func (f *Fields) set(path string, value any) (err error) {
	const most = 1 << 31
	switch path {
	case fieldArgs:
		if text, ok := value.(string); ok {
			f.Args = []string{text} // one argument, like in Ganga
			return nil
		}
		f.Args, err = scalars(value)
	case fieldEnv:
		f.Env, err = variables(value)
	case fieldQueue:
		text, ok := value.(string)
		if f.Request.Queue = text; !ok || text == "" {
			return fmt.Errorf("%.40v: want the name of a queue", value)
		}
	case fieldCores:
		var n int64
		n, err = wholeNumber(value, most)
		f.Request.Cores = int(n)
	case fieldMemory:
		f.Request.MemoryMB, err = wholeNumber(value, most)
	case fieldWalltime:
		f.Request.Walltime, err = duration(value)
	}
	return err
}

// variables converts a table of names and texts to environment variables.
func variables(value any) (map[string]string, error) {
	all, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%.40v: want a table of names and texts", value)
	}
	out := make(map[string]string, len(all))
	for name, v := range all {
		text, ok := v.(string)
		if !ok || name == "" {
			return nil, fmt.Errorf("%.40s: %.40v: want a text", name, v)
		}
		out[name] = text
	}
	return out, nil
}

// wholeNumber returns value as an int64. It returns an error if value is not a whole number from 1 to most.
func wholeNumber(value any, most int64) (int64, error) {
	var n float64
	switch v := value.(type) {
	case float64:
		n = v
	case int64:
		n = float64(v)
	case int:
		n = float64(v)
	default:
		return 0, fmt.Errorf("%.40v: want a whole number", value)
	}
	if n < 1 || n > float64(most) || n != math.Trunc(n) {
		return 0, fmt.Errorf("%v: want a whole number from 1 to %d", value, most)
	}
	return int64(n), nil
}

// duration returns a value as a duration. The value is a text such as "2h", or a number of seconds.
func duration(value any) (jjm.Duration, error) {
	text, ok := value.(string)
	if !ok {
		n, err := wholeNumber(value, 365*24*3600)
		return jjm.Duration(time.Duration(n) * time.Second), err
	}
	var d jjm.Duration
	if err := d.UnmarshalText([]byte(text)); err != nil {
		return 0, err
	}
	if d.D() < time.Second || d.D() > 365*24*time.Hour {
		return 0, fmt.Errorf("%s: want 1s to 8760h", d)
	}
	return d, nil
}

// RequestOf returns the resources that a part requests differently from its grid job, nil if there are none. It returns
// no error, because the settings were checked when the work was cut.
func RequestOf(p *jjm.Part) *jjm.Request {
	if p.Input == nil || p.Input.More == nil || len(p.Input.More.Settings) == 0 {
		return nil
	}
	f, err := FieldsOf(p.Input.More.Settings)
	if err != nil || f.Request == (jjm.Request{}) {
		return nil
	}
	return &f.Request
}

// maxRequests is the maximum number of different requests of the parts of a grid job. Parts with different requests are
// in different bulks.
const maxRequests = 64

// checkFields returns an error if a field has an invalid value, or if there are too many different requests.
func (g *generic) checkFields(m *method) error {
	seen := map[jjm.Request]bool{}
	for row := range g.rows {
		f, err := FieldsOf(g.settings(row))
		if err != nil {
			return m.invalid("values[%d]: %w", row, err)
		}
		if seen[f.Request] = true; len(seen) > maxRequests {
			return m.invalid("the parts ask for more than %d different queues, cores, memories and wall times: want at most "+
				"that many", maxRequests)
		}
	}
	return nil
}

// settings returns the values of one row, by field.
func (g *generic) settings(row int) map[string]any {
	out := make(map[string]any, len(g.attrs))
	for path, values := range g.attrs {
		out[path] = values[row]
	}
	return out
}

// paths returns the fields, sorted.
func (g *generic) paths() []string {
	var out []string
	for path := range g.attrs {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}
