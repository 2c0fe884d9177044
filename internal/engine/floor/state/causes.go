package state

import (
	"cmp"
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

const (
	// mostCauses limits the different causes of a grid job; further causes are counted together.
	mostCauses = 100
	// ShownCauses limits the causes that are shown.
	ShownCauses = 10
)

// causes counts why local jobs failed or are tried again. An entry stays when its count is 0, because its key never
// changes.
type causes map[causeKey]*causeTally

type causeKey struct {
	text  string
	again bool
}

type causeTally struct {
	jobs  int
	first int32  // the first of these local jobs, -1 once it continued
	told  string // the common text of the messages of all these local jobs, numbers included
}

// causeOf returns the cause that a local job counts for. ok is false if it neither failed nor is tried again.
func causeOf(l *jjm.LocalJob) (k causeKey, ok bool) {
	again := l.State == jjm.Submitting && l.Phase == jjm.RetryWait && l.Message != ""
	if !again && (l.State != jjm.Failed || l.Phase == jjm.GivenBack) {
		return k, false
	}
	return causeKey{plan.Cause(l.Message), again}, true
}

// blame adds d to the count of a local job's cause.
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
	case d > 0 && t.told != k.text: // else nothing more can be in common
		t.told = plan.InCommon(t.told, l.Message)
	}
	switch {
	case d > 0 && (t.jobs == 1 || t.first >= 0 && l.ID.N < t.first):
		t.first = l.ID.N
	case d < 0 && l.ID.N == t.first:
		t.first = -1
	}
}

// Causes returns why local jobs failed or are tried again: failures first, then by frequency. For an ended grid job it
// returns the stored causes.
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
			c.First, c.Exit = g.Locals[t.first].ID.String(), g.Locals[t.first].Exit
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

// firstOf returns the lowest number of a local job that counts for a cause, -1 if there is none.
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
