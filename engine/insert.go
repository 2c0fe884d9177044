package engine

import (
	"fmt"
	"jjm"
	"jjm/split"
)

// firstCarry begins the cutting.
func firstCarry(spec *jjm.Spec) split.Carry {
	return split.Carry{Serial: max(spec.FirstSerial-1, 0)}
}

// bar ends those of new local jobs whose parts must not be submitted: they own their
// work, which so is missing, and is in the recovery (decision R27).
func (c *change) bar(ls []jjm.LocalJob) {
	for i := range ls {
		why := ls[i].Part.Failure()
		if why == nil {
			continue
		}
		l := &ls[i]
		l.Exit, l.Ended = why.Code, c.now
		l.Message = fmt.Sprintf("never submitted: %s (code %d)", why.Reason, why.Code)
		c.move(l, jjm.Failed, jjm.CreateFailed, l.Message)
	}
}

// insert makes local jobs of parts.
func (c *change) insert(g *jjm.GridJob, parts []jjm.Part) {
	if len(parts) == 0 {
		return
	}
	first := int32(g.Step.Made)
	c.inserted = make([]jjm.LocalJob, len(parts))
	for i, p := range parts {
		c.inserted[i] = jjm.LocalJob{ID: jjm.LocalID{Grid: g.ID, N: first + int32(i)}, Part: p, Exit: -1}
	}
	bind(g, c.inserted)
	c.journal = append(c.journal, jjm.JournalEntry{Time: c.now, Grid: g.ID,
		First: first, Last: first + int32(len(parts)) - 1, To: jjm.New.String(), Source: c.name,
		Cause: fmt.Sprintf("cut by %s: %ss %d to %d", g.Step.Splitter, parts[0].Unit, parts[0].First, parts[len(parts)-1].Last())})
	c.bar(c.inserted)
}
