package plain

import (
	"fmt"
	"strings"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Clusters returns the names of the clusters that a grid job may use, the best cluster first.
func Clusters(st wire.Status) string {
	if len(st.Clusters) < 2 {
		return st.Cluster
	}
	return strings.Join(st.Clusters, ", ")
}

// After returns the grid jobs that must end before a grid job begins, and how they must end: "12, 13: ok". It returns
// "" if there are none.
func After(st *wire.Status) string {
	if len(st.After) == 0 {
		return ""
	}
	return IDs(st.After) + ": " + st.AfterEnd
}

// IDs returns ids of grid jobs as a list: "18, 19".
func IDs(ids []jjm.GridID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, ", ")
}

// Counts returns how many local jobs of a grid job are in each state.
func Counts(l *wire.Lookup) string {
	n := l.Counts
	all := max(n.Expected, n.Total)
	switch {
	case all == 0 && Final(l.Status):
		return "none made"
	case all == 0:
		return "the number of local jobs is not known yet"
	}
	s := fmt.Sprintf("%d of %d done", n.Completed, all)
	if n.Total < n.Expected {
		s += fmt.Sprintf(", %d made so far", n.Total)
	}
	for _, p := range []struct {
		n    int
		word string
	}{{n.Completing, "completing"}, {n.Running, "running"}, {n.Submitted, "submitted"},
		{n.Submitting, "submitting"}, {n.New, "new"}, {n.Held, "held"}, {n.Failed, "failed"}, {n.Killed, "killed"},
		{n.GivenBack, "done again by others"}} {
		if p.n > 0 {
			s += fmt.Sprintf(", %d %s", p.n, p.word)
		}
	}
	return s
}

// Final reports whether a status means that the grid job is over. For an unknown word, which a newer daemon may use, it
// returns false.
func Final(status string) bool {
	var s jjm.GridStatus
	return s.UnmarshalText([]byte(status)) == nil && s.Final()
}

// CauseTitle returns the title of the row about a cause: "tried again" if the local jobs get another attempt, otherwise
// "failed".
func CauseTitle(c jjm.Cause) string {
	if c.Again {
		return "tried again"
	}
	return "failed"
}

// Cause describes a cause of failures: the number of local jobs that have it, its text and, if there is one, an example
// with its host and its exit code.
func Cause(c jjm.Cause) string {
	text := c.Text
	if text == "" {
		text = "other reasons"
	}
	text = jjm.Count(c.Jobs, "local job") + ": " + text
	if c.First == "" {
		return text
	}
	text += "; such as " + c.First
	if c.Host != "" {
		text += " on " + c.Host
	}
	if code := fmt.Sprintf("exit code %d", c.Exit); c.Exit >= 0 && !strings.Contains(c.Text, code) {
		text += ", " + code
	}
	return text
}

// Mebibytes converts KiB to MiB. It rounds up, so that a small memory usage is not shown as 0.
func Mebibytes(kb int64) int64 { return (kb + 1023) >> 10 }
