package state

import (
	"cmp"
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

const (
	// mostCauses is the greatest number of different causes that are counted separately for a grid job. Local jobs with
	// further causes are counted together, under the text "".
	mostCauses = 100
	// ShownCauses is the greatest number of causes that are shown.
	ShownCauses = 10
)

// causes counts the local jobs that failed or will be tried again, by cause. The entry of a cause stays in the map when
// its count becomes 0.
type causes map[causeKey]*causeTally

// causeKey is a cause (plan.Cause of the message). again is true for local jobs that will be tried again, false for
// failed local jobs.
type causeKey struct {
	text  string
	again bool
}

// causeTally counts the local jobs of one cause.
type causeTally struct {
	jobs  int
	first int32  // the lowest number of these local jobs; -1 if not known, because that local job is no longer counted
	told  string // the text that the messages of all these local jobs have in common, numbers included
}

// causeOf returns the cause under which a local job is counted. ok is false if the local job neither failed nor will be
// tried again, or if other local jobs do its work again.
func causeOf(l *jjm.LocalJob) (k causeKey, ok bool) {
	again := l.State == jjm.Submitting && l.Phase == jjm.RetryWait && l.Message != ""
	if !again && (l.State != jjm.Failed || l.Phase == jjm.GivenBack) {
		return k, false
	}
	return causeKey{plan.Cause(l.Message), again}, true
}

// blame adds d to the count of the cause of a local job: 1 for a new row, -1 for a row that is replaced.
func (g *Grid) blame(l *jjm.LocalJob, d int) {
	k, ok := causeOf(l)
	if !ok {
		return
	}
	t := g.causes[k]
	if t == nil && len(g.causes) >= mostCauses {
		k.text = ""
		t = g.causes[k]
	}
	if t == nil {
		if g.causes == nil {
			g.causes = causes{}
		}
		t = &causeTally{first: -1}
		g.causes[k] = t
	}
	t.jobs += d
	switch {
	case t.jobs == 0 || k.text == "":
		t.told = ""
	case d > 0 && t.told != k.text: // if told is already the bare cause, no message shortens it
		t.told = plan.InCommon(t.told, l.Message)
	}
	switch {
	case d > 0 && (t.jobs == 1 || t.first >= 0 && l.ID.N < t.first):
		t.first = l.ID.N
	case d < 0 && l.ID.N == t.first:
		t.first = -1
	}
}

// Causes returns the causes for which local jobs failed or will be tried again, at most ShownCauses: causes of failures
// first, and each group in the order of the number of local jobs. For an ended grid job it returns the stored causes.
func (g *Grid) Causes() []jjm.Cause {
	if g.Job.Status.Final() {
		return g.Job.Causes
	}
	var out []jjm.Cause
	for k, t := range g.causes {
		if t.jobs == 0 {
			continue
		}
		if t.first < 0 {
			t = &causeTally{t.jobs, g.firstOf(k), t.told}
		}
		c := jjm.Cause{Text: t.told, Again: k.again, Jobs: t.jobs, Exit: -1}
		if t.first >= 0 {
			l := &g.Locals[t.first]
			c.First, c.Exit, c.Host = l.ID.String(), l.Exit, l.Host
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b jjm.Cause) int {
		if a.Again != b.Again {
			return map[bool]int{true: 1, false: -1}[a.Again]
		}
		return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Text, b.Text))
	})
	return out[:min(len(out), ShownCauses)]
}

// firstOf returns the lowest number of the local jobs that are counted under a cause, -1 if there is none.
func (g *Grid) firstOf(k causeKey) int32 {
	for i := range g.Locals {
		own, ok := causeOf(&g.Locals[i])
		if !ok || own.again != k.again {
			continue
		}
		if own == k || k.text == "" && g.causes[own] == nil {
			return int32(i)
		}
	}
	return -1
}
