package feed

import (
	"jjm"
	"jjm/engine/state"
)

// loseUnmerged has what a local job made, which waits to be merged, made again. The next
// look at what there is to merge drops it.
func (r *retraction) loseUnmerged(c *state.Change, id jjm.LocalID, why string) (next string, err error) {
	l := c.Local(id)
	below, err := outputsBelow(c, l)
	if err != nil {
		return "", err
	}
	if below[jjm.FilePicked] > 0 {
		return "", jjm.Errorf(jjm.Busy,
			"another local job merges what local job %s made at this moment: retract it once that is over", id)
	}
	return makeAgain(c, l, why, r.caller.User)
}

// dissolve undoes the merges that hold something lost, of a grid job that lives: their
// files go back to where all those are that nobody merges, and are dropped there.
func (r *retraction) dissolve(c *state.Change, reason string) error {
	for _, n := range r.merges {
		id := jjm.LocalID{Grid: r.job.ID, N: n}
		if _, err := c.Tx.Retract(id, r.caller.User, reason); err != nil {
			return err
		}
		takeBack(c, c.Local(id), "some of what it merged is lost: "+reason, r.caller.User)
	}
	return nil
}
