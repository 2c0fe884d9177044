package state

import (
	"fmt"

	"jjm"
	"jjm/split"
)

// FirstCarry begins the cutting.
func FirstCarry(spec *jjm.Spec) split.Carry { return split.From(spec.FirstSerial) }

// bar ends those of new local jobs whose parts must not be submitted: they own their
// work, which so is missing, and is in the recovery (decision R27).
func (c *Change) bar(ls []jjm.LocalJob) {
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

// Insert makes local jobs of parts.
func (c *Change) Insert(g *jjm.GridJob, parts []jjm.Part) {
	if len(parts) == 0 {
		return
	}
	first := int32(g.Step.Made)
	c.Inserted = make([]jjm.LocalJob, len(parts))
	for i, p := range parts {
		c.Inserted[i] = jjm.LocalJob{ID: jjm.LocalID{Grid: g.ID, N: first + int32(i)}, Part: p, Exit: -1}
	}
	Bind(g, c.Inserted)
	c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: g.ID,
		First: first, Last: first + int32(len(parts)) - 1, To: jjm.New.String(), Source: c.Name,
		Cause: fmt.Sprintf("cut by %s: %ss %d to %d", g.Step.Splitter, parts[0].Unit, parts[0].First,
			parts[len(parts)-1].Last())})
	c.bar(c.Inserted)
}
