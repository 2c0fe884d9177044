package conformance

import (
	"fmt"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Errorf calls Errorf of the TB. Reports and other values of jjm appear as text for people.
func (s *suite) Errorf(format string, args ...any) {
	s.Helper()
	s.TB.Errorf(format, readable(args)...)
}

// Fatalf records a failure in the same way as Errorf, and then ends the check.
func (s *suite) Fatalf(format string, args ...any) {
	s.Helper()
	s.TB.Fatalf(format, readable(args)...)
}

// Logf records a remark that is useful even if nothing is wrong.
func (s *suite) Logf(format string, args ...any) {
	s.Helper()
	s.TB.Logf(format, readable(args)...)
}

// readable returns the arguments of a message, with text in place of values that would appear in Go's syntax.
func readable(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case jjm.Report:
			out[i] = tell(v)
		case []jjm.Report:
			out[i] = list(v, tell)
		case time.Duration:
			out[i] = jjm.HowLong(v)
		case adapters.Ref:
			out[i] = tellRef(v)
		case adapters.Found:
			out[i] = tellFound(v)
		case []adapters.Found:
			out[i] = list(v, tellFound)
		case adapters.Capabilities:
			out[i] = tellCapabilities(v)
		default:
			out[i] = arg
		}
	}
	return out
}

func list[E any](all []E, tell func(E) string) string {
	if len(all) == 0 {
		return "nothing"
	}
	texts := make([]string, len(all))
	for i, e := range all {
		texts[i] = tell(e)
	}
	return strings.Join(texts, "; ")
}

// tell returns a job's report as text: "job 17.0 (index 0) RUNNING on node3, submitted 12:00:01, started 12:00:02".
func tell(r jjm.Report) string {
	if r.ID == "" && r.Tag == "" {
		return "not listed"
	}
	id := "a job without an id"
	if r.ID != "" {
		id = "job " + r.ID
	}
	text := fmt.Sprintf("%s (index %d) %s", id, r.Index, r.State)
	if r.Host != "" {
		text += " on " + r.Host
	}
	for _, t := range []struct {
		what string
		at   jjm.Time
	}{{"submitted", r.Submitted}, {"started", r.Started}, {"ended", r.Ended}} {
		if t.at != 0 {
			text += ", " + t.what + " " + t.at.Time().Local().Format("15:04:05")
		}
	}
	if r.State.Ended() {
		text += fmt.Sprintf(", exit code %d", r.Exit)
	}
	if r.Signal != 0 {
		text += fmt.Sprintf(", signal %d", r.Signal)
	}
	if r.Restarts != 0 {
		text += fmt.Sprintf(", restarts: %d", r.Restarts)
	}
	if reason := strings.TrimSpace(r.Hold + " " + r.Reason); reason != "" {
		text += fmt.Sprintf(", because %q", reason)
	}
	return text
}

// tellRef returns a reference as text.
func tellRef(r adapters.Ref) string {
	if r.Index < 0 {
		return fmt.Sprintf("job %s (named %s)", r.ID, r.Tag)
	}
	return fmt.Sprintf("job %d of %s (named %s)", r.Index, r.ID, r.Tag)
}

// tellFound returns the answer to a search as text.
func tellFound(f adapters.Found) string {
	switch f.Presence {
	case adapters.Present:
		return fmt.Sprintf("%s present as %s", f.Tag, strings.Join(f.IDs, ", "))
	case adapters.Absent:
		return fmt.Sprintf("%s surely absent", f.Tag)
	}
	return fmt.Sprintf("%s not known yet", f.Tag)
}

// tellCapabilities returns the limits and times of a batch system as text.
func tellCapabilities(c adapters.Capabilities) string {
	return fmt.Sprintf("max_bulk %d, max_queued %d, slots %d, max_cores %d, max_memory_mb %d, max_walltime %s, settle %s, "+
		"lag %s, guarantee %q", c.MaxBulk, c.MaxQueued, c.Slots, c.MaxCores, c.MaxMemoryMB, jjm.HowLong(c.MaxWalltime),
		jjm.HowLong(c.Settle), jjm.HowLong(c.Lag), c.Guarantee)
}
