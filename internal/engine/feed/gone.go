package feed

import (
	"fmt"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// readerActor is the actor in marks on files that local jobs found missing when they read the files. No account has
// this name.
const readerActor = "(reader)"

// LoseFiles marks the files of datasets that local jobs found missing (jedi.md 23). If a local job owns all the files
// that it missed, its files return to the files to be processed, and the local job counts as never submitted.
func (fd *Feeder) LoseFiles(c *state.Change) error {
	for _, l := range c.Changed {
		own := len(c.Gone[l.ID]) > 0
		for _, f := range c.Gone[l.ID] {
			if err := lose(c, l.ID, f); err != nil {
				return err
			}
			own = own && f.Own
		}
		if !own {
			continue // another attempt would miss the same file again, so this attempt counts
		}
		if c.Withdrawn == nil {
			c.Withdrawn = map[jjm.LocalID]bool{}
		}
		c.Withdrawn[l.ID] = true
	}
	return nil
}

// lose marks a file in all datasets that have it: the dataset in which a local job read the file, the datasets from
// which this dataset took the file, and the datasets that took it from any of these.
func lose(c *state.Change, by jjm.LocalID, f state.GoneFile) error {
	from, err := c.Tx.MembersTaken(f.Dataset, f.LFN)
	if err != nil {
		return err
	}
	for _, id := range append(from, f.Dataset) {
		if err := loseOne(c, by, id, f); err != nil {
			return err
		}
		err := state.EachTaker(c, id, []string{f.LFN}, func(taker store.Dataset, _ []string) error {
			return loseOne(c, by, taker.ID, f)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func loseOne(c *state.Change, by jjm.LocalID, id store.DatasetID, f state.GoneFile) error {
	marked, err := c.Tx.MarkFiles(id, []store.Mark{{LFN: f.LFN, State: f.State}}, readerActor, f.Why)
	if err != nil || marked[0].Before != jjm.FileReady {
		return err
	}
	c.News, c.Marked = append(c.News, id), append(c.Marked, id)
	for gid, g := range c.Live.Grids() {
		if g.Reads != nil && g.Reads.Knows(id) {
			c.Note(gid, "", f.State.String(), fmt.Sprintf("%s: %s, as local job %s found", f.LFN, f.Why, by), readerActor)
		}
	}
	return nil
}
