package operations_test

import (
	"strings"

	"jjm/internal/testkit/site"
)

// answer is what a gatekeeper learns of a grid job.
type answer struct {
	ID      int64     `json:"id"`
	Error   *fault    `json:"error"`
	Status  string    `json:"status"`
	GRAM    int       `json:"gram"`
	Code    int       `json:"code"`
	Exit    int       `json:"exit"`
	Message string    `json:"message"`
	Tar     string    `json:"tar"`
	Removed *struct{} `json:"removed"`
}

// The numbers with which GRAM names the two ends of a job.
const (
	gramDone   = 8
	gramFailed = 4
)

// ask looks up all grid jobs as a gatekeeper does, also while no daemon answers. It stores the first final answer about
// each grid job, and checks that later answers are the same.
func (w *world) ask() {
	w.t.Helper()
	args := []string{"lookup", "--json"}
	for _, j := range w.jobs {
		args = append(args, j.id)
	}
	s := w.jjm(site.Root(), args...)
	all, err := lines[answer](s.out)
	if err != nil || len(all) != len(w.jobs) {
		w.t.Errorf("jjm lookup: exit %d, %d answers about %d grid jobs: %v", s.exit, len(all), len(w.jobs), err)
		return
	}
	for i, now := range all {
		id := w.jobs[i].id
		first, ended := w.told[id]
		switch {
		case now.Error != nil: // no daemon answers, and the record is not written yet or is removed
		case ended:
			w.same(id, first, now)
		case now.GRAM == gramDone || now.GRAM == gramFailed:
			w.told[id] = now
		}
	}
}

// same requires that an answer about a grid job equals the first final answer. After a removal the answer has no tar,
// and its message says that the grid job was removed.
func (w *world) same(id string, first, now answer) {
	w.t.Helper()
	if now.Removed != nil || strings.Contains(now.Message, "removed by ") {
		if !strings.HasPrefix(now.Message, first.Message) || now.Tar != "" {
			w.t.Errorf("the gatekeeper of the removed grid job %s is told %+v, was told %+v", id, now, first)
		}
		now.Message, now.Tar, now.Removed = first.Message, first.Tar, first.Removed
	}
	if now != first {
		w.t.Errorf("the gatekeeper of grid job %s is told %+v, was told %+v", id, now, first)
	}
}
