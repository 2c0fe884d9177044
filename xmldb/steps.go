package xmldb

import (
	"strconv"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
	"jjm/xmldb/internal/xmltext"
)

// steps writes the steps from the last to the first. Readers that know only one step use the last step that they read,
// which is then the first step.
func (e *encoder) steps(h *head.Head) {
	var first *jjm.StepCounts
	for i := len(h.Steps) - 1; i >= 0; i-- {
		if c := &h.Steps[i]; c.Step == jjm.StepWork {
			first = c
		} else {
			e.laterStep(h, c)
		}
	}
	e.firstStep(&h.Grid.Step, first)
}

// firstStep writes the step that every grid job has; c is nil if the grid job has only this step.
func (e *encoder) firstStep(s *jjm.Step, c *jjm.StepCounts) {
	const path = "step:0"
	cut := false
	e.raw("\n  <step")
	e.int("n", 0)
	e.opt("cluster", s.Cluster, &cut)
	e.opt("splitter", s.Splitter, &cut)
	e.int("expected", int64(s.Expected))
	e.int("made", int64(s.Made))
	e.b = xmltext.Flag(e.b, "closed", s.Closed)
	e.b = xmltext.Flag(e.b, "prepared", s.Prepared)
	e.stepCounts(c)
	if len(s.Why) == 0 {
		e.leaf(path, "step", "", cut)
		return
	}
	why := s.Why[:min(len(s.Why), e.lim.list)]
	e.startDone(path, cut || len(why) < len(s.Why))
	for i, w := range why {
		e.raw("\n    <why")
		e.leaf(kidPath(path, "why", strconv.Itoa(i)), "why", w, false)
	}
	e.end(path, "step", "\n    ")
}

// laterStep writes a step after the first.
func (e *encoder) laterStep(h *head.Head, c *jjm.StepCounts) {
	cut := false
	e.raw("\n  <step")
	e.int("n", int64(c.Step))
	made := 0
	if m := h.Grid.Merging; m != nil {
		e.opt("splitter", m.Splitter, &cut)
		made = m.Made
	}
	e.int("expected", int64(made))
	e.int("made", int64(made))
	e.b = xmltext.Flag(e.b, "closed", c.Closed)
	e.stepCounts(c)
	e.leaf("step:"+strconv.Itoa(int(c.Step)), "step", "", cut)
}

// stepCounts writes the counts of a step. It writes nothing if c is nil, because the grid job has only one step.
func (e *encoder) stepCounts(c *jjm.StepCounts) {
	if c == nil {
		return
	}
	e.must("name", jjm.StepName(c.Step), new(bool))
	e.int("done", int64(c.Done()))
	e.int("of", int64(c.Expected))
	for s, n := range c.Counts {
		e.count(jjm.State(s).String(), n)
	}
	e.count("merging", c.Merging)
	e.count("givenBack", c.GivenBack)
}
