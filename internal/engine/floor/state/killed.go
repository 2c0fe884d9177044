package state

import (
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// IsToKill reports whether a local job of g is to be killed. The order to kill g comes first; its local jobs are marked
// one after the other, and batch systems may cancel a job before its local job is marked.
func IsToKill(g *Grid, l *jjm.LocalJob) bool { return g.Job.Kill || l.Kill }

// Kill marks a local job to be killed. by is who ordered the kill, for the journal; it may be "". There are three
// cases. If the outputs of the local job wait to be merged, Kill adds the local job to UnmergedKills. If a batch system
// may have the local job, Kill adds its attempt to Kills. In all other cases, the local job ends as killed in this
// change.
func (c *Change) Kill(id jjm.LocalID, by string) {
	l := c.Local(id)
	if !l.Kill {
		l.Kill, l.Since = true, c.Now
	}
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
