package state

import (
	"fmt"

	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// FirstCarry returns the state with which a splitter starts to cut a grid job into parts. A splitter carries its state
// from one cut to the next.
func FirstCarry(spec *jjm.Spec) split.Carry { return split.From(spec.FirstSerial) }

// failUnsubmittable sets those of the new local jobs to failed whose parts must not be submitted (Part.Failure). These
// local jobs keep owning their work, so that the work counts as missing, and a recovery of the grid job includes it
// (decision R27).
func (c *Change) failUnsubmittable(ls []jjm.LocalJob) {
	for i := range ls {
		why := ls[i].Part.Failure()
		if why == nil {
			continue
		}
		l := &ls[i]
		l.Exit, l.Ended = why.Code, c.Now
		l.Message = fmt.Sprintf("never submitted: %s (code %d)", why.Reason, why.Code)
		c.Move(l, jjm.Failed, jjm.CreateFailed, l.Message)
	}
}

// Insert makes a new local job for each of the parts that a splitter has cut, with the next numbers of the grid job. g
// is the change's copy. Insert also sets places, adds the journal entry, and fails local jobs whose parts must not be
// submitted. It replaces c.Inserted, so a change calls it only once.
func (c *Change) Insert(g *jjm.GridJob, parts []jjm.Part) {
	if len(parts) == 0 {
		return
	}
	first := int32(g.Step.Made)
	c.Inserted = make([]jjm.LocalJob, len(parts))
	for i, p := range parts {
		c.Inserted[i] = jjm.LocalJob{ID: jjm.LocalID{Grid: g.ID, N: first + int32(i)}, Part: p, Exit: -1}
	}
	SetPlaces(g, c.Inserted)
	c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: g.ID,
		First: first, Last: first + int32(len(parts)) - 1, To: jjm.New.String(), Source: c.Name,
		Cause: fmt.Sprintf("cut by %s: %s", g.Step.Splitter,
			jjm.UnitsText(parts[0].Unit, parts[0].First, parts[len(parts)-1].Last()))})
	c.failUnsubmittable(c.Inserted)
}
