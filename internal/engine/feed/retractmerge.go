package feed

import (
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// redoUnmerged makes a new local job for the work of a local job whose lost outputs wait to
// be merged. FeedMerge then drops these outputs. The error is of kind Busy while a merge
// reads some of them.
func (r *retraction) redoUnmerged(c *state.Change, id jjm.LocalID, why string) (next string, err error) {
	l := c.Local(id)
	below, err := outputsBelow(c, l)
	if err != nil {
		return "", err
	}
	if below[jjm.FilePicked] > 0 {
		return "", jjm.Errorf(jjm.Busy,
			"another local job is merging the outputs of local job %s: retract them once that has ended", id)
	}
	return redo(c, l, why, r.caller.User)
}

// undoMerges retracts the merges of a live grid job that hold lost outputs. The outputs that the
// merges read become unmerged again, and FeedMerge drops these outputs.
func (r *retraction) undoMerges(c *state.Change, reason string) error {
	for _, n := range r.merges {
		id := jjm.LocalID{Grid: r.job.ID, N: n}
		if _, err := c.Tx.Retract(id, r.caller.User, reason); err != nil {
			return err
		}
		endGivenBack(c, c.Local(id), "some of what it merged is lost: "+reason, r.caller.User)
	}
	return nil
}
