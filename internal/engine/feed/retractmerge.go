package feed

import (
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// redoUnmerged makes a new local job for the work of local job id, whose lost outputs wait to be merged, and returns
// the id of the new local job as text. FeedMerge then drops the lost outputs. The error is of kind Busy if an
// unfinished merge owns some of the outputs.
func (r *retraction) redoUnmerged(c *state.Change, id jjm.LocalID, why string) (next string, err error) {
	l := c.Local(id)
	states, err := outputsBelow(c, l) // the number of outputs in each state of the merge step
	if err != nil {
		return "", err
	}
	if states[jjm.FilePicked] > 0 { // an unfinished merge owns some of the outputs
		return "", jjm.Errorf(jjm.Busy,
			"another local job is merging the outputs of local job %s: retract them once that has ended", id)
	}
	return redo(c, l, why, r.caller.User)
}

// undoMerges retracts the merges of a live grid job whose merged files contain lost outputs (r.merges). The outputs
// that these merges read become unmerged again, and FeedMerge drops the lost outputs.
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
