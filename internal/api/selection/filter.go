package selection

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm/internal/jjm"
)

// Filters are filters in the form in which people write them and requests contain them. The text "" selects every job.
// [Filters.Parse] parses them.
type Filters struct {
	// State, Host, Exit, Reason and Cluster are filters of local jobs.
	State   string `json:"state,omitempty"`  // states, separated by commas, such as failed,killed
	Host    string `json:"host,omitempty"`   // a Glob
	Exit    string `json:"exit,omitempty"`   // codes and ranges of codes, separated by commas, such as 3,128-255
	Reason  string `json:"reason,omitempty"` // a Glob
	Cluster string `json:"cluster,omitempty"`
	// Status, Type, User and Age are filters of grid jobs.
	Status string `json:"status,omitempty"` // statuses, separated by commas, such as failed,finished
	Type   string `json:"type,omitempty"`
	User   string `json:"user,omitempty"`
	Age    string `json:"age,omitempty"` // time since the acceptance: at least 7d; or between two ages, such as 0-12h
}

// maxFilter is the longest text of a filter, in bytes.
const maxFilter = 256

// Check returns the first mistake in the filters, nil if there is none. The error is of kind Invalid and names the
// filter.
func (f Filters) Check() error {
	_, err := f.Parse()
	return err
}

// Any reports whether a filter is set.
func (f Filters) Any() bool { return f != (Filters{}) }

// OfLocals reports whether one of the filters of local jobs is set.
func (f Filters) OfLocals() bool {
	return f.State != "" || f.Host != "" || f.Exit != "" || f.Reason != "" || f.Cluster != ""
}

// Parse parses the filters. Its errors are those of Check.
func (f Filters) Parse() (Filter, error) {
	for _, text := range [][2]string{{"state", f.State}, {"host", f.Host}, {"exit", f.Exit}, {"reason", f.Reason},
		{"cluster", f.Cluster}, {"status", f.Status}, {"type", f.Type}, {"user", f.User}, {"age", f.Age}} {
		if len(text[1]) > maxFilter {
			return Filter{}, jjm.Errorf(jjm.Invalid, "%s: the filter is longer than %d bytes", text[0], maxFilter)
		}
	}
	out := Filter{Host: Glob(f.Host), Reason: Glob(f.Reason), Cluster: f.Cluster, Type: f.Type, User: f.User,
		ofLocals: f.OfLocals()}
	for word := range words(f.State) {
		var s jjm.State
		if err := s.UnmarshalText([]byte(word)); err != nil {
			return Filter{}, jjm.Errorf(jjm.Invalid, "%w; grid jobs have a status, local jobs a state", err)
		}
		out.States = append(out.States, s)
	}
	var err error
	if out.Statuses, err = jjm.GridStatuses(f.Status); err != nil {
		return Filter{}, jjm.Errorf(jjm.Invalid, "status: %w; grid jobs have a status, local jobs a state", err)
	}
	for word := range words(f.Exit) {
		c, err := parseCodes(word)
		if err != nil {
			return Filter{}, err
		}
		out.Exit = append(out.Exit, c)
	}
	out.Age, err = parseAges(f.Age)
	return out, err
}

// words returns the words of a list that is separated by commas, and no words for "".
func words(list string) func(yield func(string) bool) {
	if list == "" {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(list, ",")
}

// Filter is a parsed [Filters]. It selects among grid jobs and local jobs; a job must match all filters that are set.
// The zero value selects all jobs.
type Filter struct {
	States  []jjm.State // one of these states; empty means any state
	Host    Glob
	Exit    []Codes // in one of these ranges; empty means any code
	Reason  Glob
	Cluster string
	// Statuses are the allowed statuses of grid jobs; empty means any status.
	Statuses []jjm.GridStatus
	Type     string
	User     string
	Age      Ages

	ofLocals bool
}

// OfLocals reports whether one of the filters of local jobs is set.
func (f *Filter) OfLocals() bool { return f.ofLocals }

// Grid reports whether a grid job matches the filters of grid jobs at the time now.
func (f *Filter) Grid(job *jjm.GridJob, now jjm.Time) bool {
	return (len(f.Statuses) == 0 || slices.Contains(f.Statuses, job.Status)) &&
		(f.Type == "" || job.Spec.Type == f.Type) &&
		(f.User == "" || job.Owner.User == f.User) && f.Age.Has(now.Sub(job.Accepted))
}

// MayHold reports whether a grid job with this status may have a local job that matches the filter of states. Callers
// use it to skip most grid jobs that are over.
func (f *Filter) MayHold(s jjm.GridStatus) bool {
	if len(f.States) == 0 || !s.Final() {
		return true
	}
	return slices.ContainsFunc(f.States, func(want jjm.State) bool {
		return want.IsCompleted() || (want.Final() || want == jjm.New) && s != jjm.Done
	})
}

// Local reports whether a local job matches the filters of local jobs. As in the counts of jjm status, a local job that
// gave its work back is in no state.
func (f *Filter) Local(l *jjm.LocalJob) bool {
	return (len(f.States) == 0 || slices.ContainsFunc(f.States, func(s jjm.State) bool { return in(l, s) })) &&
		(f.Host == "" || f.Host.Fits(l.Host)) && (f.Cluster == "" || l.Cluster == f.Cluster) &&
		(len(f.Exit) == 0 || slices.ContainsFunc(f.Exit, func(c Codes) bool { return c.Has(l.Exit) })) &&
		(f.Reason == "" || f.hasReason(l))
}

// in reports whether a local job is counted in a state. A local job that its batch system holds is counted as held as
// well as in its own state.
func in(l *jjm.LocalJob, s jjm.State) bool {
	if s == jjm.Held {
		return l.State == jjm.Held || l.IsHeld()
	}
	return l.State == s && l.Phase != jjm.GivenBack
}

// hasReason reports whether the filter Reason matches a reason of the local job: why it ended, is tried again, is held
// or waits.
func (f *Filter) hasReason(l *jjm.LocalJob) bool {
	texts := []string{l.Message}
	if h := l.Holding; h.Now() {
		texts = append(texts, h.Code, h.Text)
	}
	if w := l.Waits; w != nil {
		texts = append(texts, w.Reason, w.Hold)
	}
	return slices.ContainsFunc(texts, func(s string) bool { return s != "" && f.Reason.Fits(s) })
}

// Codes is a range of exit codes, including First and Last.
type Codes struct{ First, Last int }

// Has reports whether an exit code is in the range. An attempt that has not ended has the code -1, which is in no
// range.
func (c Codes) Has(code int) bool { return c.First <= code && code <= c.Last }

// maxCode is the largest exit code that a filter accepts. waitpid(2) returns 8 bits. The codes of parts that were never
// submitted are larger than maxCode and cannot be selected.
const maxCode = 1 << 16

func parseCodes(word string) (Codes, error) {
	first, last, ranged := strings.Cut(word, "-")
	if !ranged {
		last = first
	}
	a, errA := strconv.ParseUint(first, 10, 32)
	b, errB := strconv.ParseUint(last, 10, 32)
	if errA != nil || errB != nil || b < a || b > maxCode {
		return Codes{}, jjm.Errorf(jjm.Invalid, "exit %.40q: want exit codes such as 3, or ranges such as 128-255, "+
			"with commas between", word)
	}
	return Codes{int(a), int(b)}, nil
}

// Ages is a range of ages, including Least and Most. If Most is 0, the range has no upper end.
type Ages struct{ Least, Most time.Duration }

// Has reports whether an age is in the range.
func (a Ages) Has(age time.Duration) bool {
	return age >= a.Least && (a.Most == 0 || age <= a.Most) || a == Ages{}
}

func parseAges(text string) (Ages, error) {
	least, most, ranged := strings.Cut(text, "-")
	var a Ages
	var okLeast, okMost bool
	a.Least, okLeast = parseAge(least)
	if a.Most, okMost = parseAge(most); !ranged {
		okMost = true
	}
	switch {
	case text == "":
		return Ages{}, nil
	case !okLeast || !okMost || ranged && (a.Most < a.Least || a.Most == 0):
		return Ages{}, jjm.Errorf(jjm.Invalid, "age %.40q: want an age such as 7d or 36h (at least that old), "+
			"or a range such as 0-12h", text)
	}
	return a, nil
}

// parseAge parses an age: a number of days, or a duration in the form of time.ParseDuration.
func parseAge(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 15)
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
