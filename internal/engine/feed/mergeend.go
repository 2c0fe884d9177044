package feed

import (
	"fmt"

	"jjm/internal/engine/floor/outputs"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/sandbox"
)

// MergesOver sets the states of the local jobs whose outputs were read by merges that end in this change:
//
//	all outputs merged             completed
//	the merge failed permanently   failed; if the local job reads files, and no other merge has or merged
//	                               its outputs, its work is done again (JEDI: unmerged cancelled, inputs
//	                               retried)
func (fd *Feeder) MergesOver(c *state.Change) error {
	settled := map[jjm.LocalID]*jjm.LocalJob{}
	for _, l := range c.EndedReaders {
		if l.Step != jjm.StepMerge || l.Phase == jjm.GivenBack {
			continue
		}
		makers, err := makers(c, l)
		if err != nil {
			return err
		}
		for _, id := range makers {
			j := c.Local(id)
			if !j.IsMerging() {
				continue
			}
			if err := settleMaker(c, l, j); err != nil {
				return err
			}
			if !j.IsMerging() {
				settled[id] = j
			}
		}
		if l.State == jjm.Failed { // FeedMerge drops the outputs that this merge read
			l.Phase = jjm.GivenBack
			if err := c.Tx.SaveLocals([]*jjm.LocalJob{l}); err != nil {
				return err
			}
			if err := c.Tx.GiveBack([]jjm.LocalID{l.ID}); err != nil {
				return err
			}
		}
	}
	return saveSettled(c, settled)
}

// makers returns the live local jobs whose outputs a merge read.
func makers(c *state.Change, l *jjm.LocalJob) ([]jjm.LocalID, error) {
	inputs, err := c.S.B.Store.PartInputs(c.Ctx, l.ID.Grid, []int32{l.ID.N})
	if err != nil {
		return nil, err
	}
	in := inputs[l.ID.N].Input
	if in == nil {
		return nil, jjm.Errorf(jjm.Internal, "local job %s: what it merges is not known", l.ID)
	}
	var ids []jjm.LocalID
	seen := map[jjm.LocalID]bool{}
	for _, lfn := range in.Files {
		if id, ok := outputs.Maker(l.ID.Grid, lfn); ok && !seen[id] && c.Live.Local(id) != nil {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// settleMaker sets the new state of local job j, whose outputs merge l read, now that l has ended. If another merge has
// some of j's outputs, or if some are still to be merged, j can keep its state.
func settleMaker(c *state.Change, l, j *jjm.LocalJob) error {
	below, err := outputsBelow(c, j)
	if err != nil {
		return err
	}
	switch {
	case l.State == jjm.Completed:
		switch waiting := below[jjm.FileReady] + below[jjm.FileDropped] + below[jjm.FileFailed]; {
		case below[jjm.FilePicked] > 0: // another merge has some of the outputs
		case waiting == 0:
			c.Move(j, jjm.Completed, "", "its outputs are merged")
		case j.Kill:
			c.Move(j, jjm.Killed, jjm.ByPerson, "killed before all that it made was merged")
		}
		return nil
	case state.IsToKill(c.Live.Grid(j.ID.Grid), j):
		c.Move(j, jjm.Killed, jjm.ByPerson, "its merge was killed")
		return nil
	}
	j.Message = fmt.Sprintf("local job %s, which merges what it made, is %s: %s", l.ID, jjm.StateWord(l.State, l.Phase),
		l.Message)
	c.Move(j, jjm.Failed, jjm.ByLimit, j.Message)
	alone := below[jjm.FilePicked]+below[jjm.FileFinished] == 0
	if alone && l.State == jjm.Failed && c.Live.Grid(j.ID.Grid).Processes() {
		return makeSuccessor(c, j)
	}
	return nil
}

// failOrphan fails a local job whose outputs cannot be merged, because another local job that read the same file failed
// permanently (WMCore fails these jobs when the fileset closes). The local job gets no successor, because the
// successor's outputs could not be merged either.
func failOrphan(c *state.Change, id jjm.LocalID, why string) {
	if live := c.Live.Local(id); live == nil || !live.IsMerging() || c.Orphans[id] {
		return
	}
	if c.Orphans == nil {
		c.Orphans = map[jjm.LocalID]bool{}
	}
	c.Orphans[id] = true
	j := c.Local(id)
	j.Message = "what it made is not merged: " + why
	c.Move(j, jjm.Failed, jjm.ByLimit, j.Message)
}

// outputsBelow counts the outputs of the present attempt of a local job, by the states that they have as files of the
// merge step.
func outputsBelow(c *state.Change, j *jjm.LocalJob) (store.Below, error) {
	return c.Tx.FilesBelow(j.ID.Grid, jjm.StepMerge, sandbox.AttemptDir(j.AttemptID())+"/")
}

// saveSettled stores the local jobs whose states MergesOver changed, and the new states of the files that these local
// jobs read.
func saveSettled(c *state.Change, settled map[jjm.LocalID]*jjm.LocalJob) error {
	var all, reading []*jjm.LocalJob
	for _, j := range settled {
		all = append(all, j)
		if c.Live.Grid(j.ID.Grid).Processes() {
			reading = append(reading, j)
		}
	}
	if len(all) == 0 {
		return nil
	}
	if err := c.Tx.SaveLocals(all); err != nil {
		return err
	}
	return endInputs(c, reading)
}

// KillUnmerged ends the local jobs that are to be killed while their outputs wait to be merged. A local job does not
// end yet if a merge has some of its outputs: MergesOver then sets the local job's state when the merge ends.
func (fd *Feeder) KillUnmerged(c *state.Change) error {
	for _, j := range c.UnmergedKills {
		below, err := outputsBelow(c, j)
		if err != nil {
			return err
		}
		if below[jjm.FilePicked] == 0 {
			j.Message = "killed before what it made was merged"
			c.Move(j, jjm.Killed, jjm.ByPerson, j.Message)
		}
	}
	return nil
}
