package operations_test

import (
	"fmt"
	"slices"

	"jjm/internal/testkit/site"
)

// fault is an error in an answer.
type fault struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// status is the answer of "jjm status --json ID.*".
type status struct {
	Lookup struct {
		Status string `json:"status"`
		Error  *fault `json:"error"`
	} `json:"lookup"`
	Reopening *struct{} `json:"reopening"`
	Locals    []local   `json:"locals"`
}

// local is a local job in the answer of jjm status.
type local struct {
	ID struct {
		Grid int64 `json:"grid"`
		N    int   `json:"n"`
	} `json:"id"`
	Part struct {
		Count int64 `json:"count"`
	} `json:"part"`
	State   string    `json:"state"`
	Phase   string    `json:"phase"`
	Attempt int       `json:"attempt"`
	Kill    bool      `json:"kill"`
	Failing string    `json:"failing"`
	Holding *struct{} `json:"holding"`
}

func (l *local) ref() string { return fmt.Sprintf("%d.%d", l.ID.Grid, l.ID.N) }

// asked reports whether a kill, a hold or a forced state is on its way.
func (l *local) asked() bool {
	return l.Kill || l.Failing != "" || l.Holding != nil && l.State != "held"
}

// over reports whether the grid job has ended and nobody asked to reopen it.
func (st status) over() bool {
	return st.Reopening == nil &&
		slices.Contains([]string{"done", "finished", "failed", "broken", "aborted"}, st.Lookup.Status)
}

// status returns the status of a grid job with all its local jobs, as an administrator sees it.
func (w *world) status(j *job) status {
	w.t.Helper()
	return one[status](w, "status", w.jjm(site.Root(), "status", "--json", j.id+".*"))
}

// entry is a line of the journal.
type entry struct {
	Seq   int64  `json:"seq"`
	First int    `json:"first"`
	Last  int    `json:"last"`
	From  string `json:"from"`
	To    string `json:"to"`
	Actor string `json:"actor"`
}

// journal returns the lines of the journal about a grid job.
func (w *world) journal(j *job) []entry {
	w.t.Helper()
	s := w.jjm(site.Root(), "history", "--json", j.id)
	all, err := lines[entry](s.out)
	if err != nil || s.exit != 0 {
		w.t.Fatalf("the history of %s: exit %d, %v", j.id, s.exit, err)
	}
	return all
}
