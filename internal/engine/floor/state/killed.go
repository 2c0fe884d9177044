package state

import (
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Kill marks a local job to be killed. If no batch system can have the local job, and it
// does not wait to be merged, it ends in this change. by is for the journal.
func (c *Change) Kill(id jjm.LocalID, by string) {
	l := c.Local(id)
	l.Kill = true
	cause := "kill requested"
	if by != "" {
		cause += " by " + by
	}
	if l.IsMerging() {
		c.UnmergedKills = append(c.UnmergedKills, l)
		return
	}
	if inBatch := l.State.InBatch() && l.Phase != jjm.RetryWait && l.Tag != ""; inBatch {
		c.Kills = append(c.Kills, l.AttemptID())
		c.Aside(l, cause, by)
		return
	}
	l.Ended, l.Message, l.Holding = c.Now, cause, plan.HoldNext(l.Holding)
	c.Move(l, jjm.Killed, jjm.ByPerson, cause)
}
