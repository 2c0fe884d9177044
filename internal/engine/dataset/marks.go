package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/split"
)

// marker marks files of datasets as missing, lost or broken, and removes marks.
type marker struct {
	b *base.Base
	s *state.State
}

// mark marks the files of set that d names with d.State, or removes their marks if d.State is "ready". It adds the
// outcome for each file to out. A dry run stores nothing.
func (mk marker) mark(ctx context.Context, caller wire.Caller, set store.Dataset, d wire.Dataset,
	out *wire.Datasets) error {
	if d.State == jjm.FileReady.String() {
		return mk.unmark(ctx, caller, set, d, out)
	}
	return mk.markAll(ctx, caller, set, d, out)
}

// markAll marks files of a dataset, and the same files in datasets that took the files from it.
func (mk marker) markAll(ctx context.Context, caller wire.Caller, set store.Dataset, d wire.Dataset,
	out *wire.Datasets) error {
	lost := fileStateOf(d.State)
	marks := make([]store.Mark, len(d.LFNs))
	for i, lfn := range d.LFNs {
		marks[i] = store.Mark{LFN: lfn, State: lost}
	}
	return mk.changeMarks(ctx, d.DryRun, func(c *state.Change) error {
		reason := d.Reason
		if d.DryRun {
			reason = "dry run"
		}
		all, err := c.Tx.MarkFiles(set.ID, marks, caller.User, reason)
		if err != nil {
			return err
		}
		fresh := 0
		for _, m := range all {
			one := wire.MarkedFile{LFN: m.LFN, State: m.State.String()}
			if m.Before != jjm.FileReady {
				one.State, one.Before = m.Before.String(), true
			} else {
				fresh++
			}
			out.Marked = append(out.Marked, one)
		}
		tellMarks(c, caller, set, d.State, fmt.Sprintf("%s of dataset %s now %s: %s", jjm.Count(fresh, "file"), d.Name,
			d.State,
			d.Reason), fresh)
		// Find the owners now, before Withdraw makes local jobs give the files back.
		if err := mk.ownersOf(c.Live, ctx, set.ID, all, out.Marked); err != nil {
			return err
		}
		return state.EachTaker(c, set.ID, d.LFNs, func(taker store.Dataset, lfns []string) error {
			marks := make([]store.Mark, len(lfns))
			for i, lfn := range lfns {
				marks[i] = store.Mark{LFN: lfn, State: lost}
			}
			all, err := c.Tx.MarkFiles(taker.ID, marks, caller.User, reason)
			if err != nil {
				return err
			}
			tellMarks(c, caller, taker, d.State,
				fmt.Sprintf("%s of dataset %s now %s in dataset %s: %s", jjm.Count(len(lfns), "file"), taker.Name, d.State,
					d.Name, d.Reason),
				len(lfns))
			return mk.ownersOf(c.Live, ctx, taker.ID, all, out.Marked)
		})
	})
}

// unmark removes marks of files of a dataset, and of the same files in datasets that took the files from it.
func (mk marker) unmark(ctx context.Context, caller wire.Caller, set store.Dataset, d wire.Dataset,
	out *wire.Datasets) error {
	return mk.changeMarks(ctx, d.DryRun, func(c *state.Change) error {
		if err := mk.unmarkIn(c, caller, set, d, d.LFNs, out); err != nil {
			return err
		}
		return state.EachTaker(c, set.ID, d.LFNs, func(taker store.Dataset, lfns []string) error {
			return mk.unmarkIn(c, caller, taker, d, lfns, out)
		})
	})
}

// unmarkIn removes marks of files of one dataset. The error is of kind Busy while a grid job is in the middle of
// cutting the dataset. out has one entry for each file, even if several datasets have the file.
func (mk marker) unmarkIn(c *state.Change, caller wire.Caller, set store.Dataset, d wire.Dataset, lfns []string,
	out *wire.Datasets) error {
	if err := mk.cutsNow(c.Live, set); err != nil {
		return err
	}
	all, err := c.Tx.UnmarkFiles(set.ID, lfns)
	if err != nil {
		return err
	}
	fresh := 0
	for _, u := range all {
		if u.Before != jjm.FileReady {
			fresh++
		}
		at := slices.IndexFunc(out.Marked, func(m wire.MarkedFile) bool { return m.LFN == u.LFN })
		if at < 0 {
			at = len(out.Marked)
			out.Marked = append(out.Marked, wire.MarkedFile{LFN: u.LFN, State: d.State, Before: u.Before == jjm.FileReady})
		}
		one := &out.Marked[at]
		one.Again, one.Without = append(one.Again, u.Again...), append(one.Without, u.Without...)
	}
	tellMarks(c, caller, set, d.State,
		fmt.Sprintf("%s of dataset %s can be read again: %s", jjm.Count(fresh, "file"), set.Name, d.Reason), fresh)
	return nil
}

// changeMarks carries out a change of marks; a dry run is rolled back.
func (mk marker) changeMarks(ctx context.Context, dry bool, decide func(*state.Change) error) error {
	err := mk.s.Change(ctx, "dataset-mark", func(c *state.Change) error {
		if err := decide(c); err != nil || !dry {
			return err
		}
		return state.ErrDryRun
	})
	if errors.Is(err, state.ErrDryRun) {
		return nil
	}
	return err
}

// tellMarks adds a change of n marks and the caller's name to the journal, and wakes the grid jobs that read the
// dataset. If n is 0, it does nothing.
func tellMarks(c *state.Change, caller wire.Caller, set store.Dataset, to, what string, n int) {
	if n == 0 {
		return
	}
	c.News, c.Marked = append(c.News, set.ID), append(c.Marked, set.ID)
	noteReaders(c, set.ID, what, caller.User)
	by := fmt.Sprintf("uid %d", caller.UID)
	if caller.UID != set.UID { // the owner may read the entry too; see shows of package answer
		by += fmt.Sprintf(", dataset of uid %d", set.UID)
	}
	c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, First: -1, Last: -1, To: to,
		Cause:  fmt.Sprintf("%s (%s)", what, by),
		Source: c.Name, Actor: caller.User})
}

// cutsNow returns an error of kind Busy while a grid job is in the middle of cutting a dataset: if a mark were removed,
// there would be one more file to read, and the splitter would continue in another file than the file in which it
// stopped. Such a cutting does not pause, so it ends soon.
func (mk marker) cutsNow(mem state.Memory, set store.Dataset) error {
	for id, g := range mem.Grids() {
		if g.Job.Owner.UID != set.UID || g.Job.Step.Closed || len(g.Job.Step.Carry) == 0 ||
			!slices.ContainsFunc(g.Job.Spec.Datasets, func(d jjm.DatasetInput) bool {
				return d.Name == set.Name && !d.Secondary
			}) {
			continue
		}
		var carry split.Carry
		if err := json.Unmarshal(g.Job.Step.Carry, &carry); err != nil {
			return jjm.Errorf(jjm.Internal, "grid job %s: carry: %w", id, err)
		}
		if carry.Checkpoint != nil {
			return jjm.Errorf(jjm.Busy, "grid job %s is cutting the dataset: try again in a minute", id)
		}
	}
	return nil
}

// ownersOf adds to out the local jobs that own some of the marked files. In Back it adds the local jobs that wait for
// submission and will give the files back. In Locals it adds the local jobs that a batch system has; these continue,
// and their reports count.
func (mk marker) ownersOf(mem state.Memory, ctx context.Context, id store.DatasetID, all []store.Marked,
	out []wire.MarkedFile) error {
	lines := make(map[string]int, len(out))
	for i := range out {
		lines[out[i].LFN] = i
	}
	at := make(map[int64]int, len(all))
	for _, m := range all {
		at[m.File] = lines[m.LFN]
	}
	owners, err := mk.b.Store.Owners(ctx, id, at)
	if err != nil {
		return err
	}
	for _, o := range owners {
		one := &out[at[o.File]]
		if l := mem.Local(o.Local); l != nil && state.Withdrawable(l) {
			one.Back = append(one.Back, o.Local.String())
		} else {
			one.Locals = append(one.Locals, o.Local.String())
		}
	}
	return nil
}

// unmarked returns a sentence, for people, for each state in which a request to mark files left some files unchanged:
//
//	the mark is the same      "2 files stay lost: they have this mark already"
//	another mark              "1 file stays missing: remove its mark first (jjm dataset mark raw LFN ready --reason WHY)"
//	no mark is to be removed  "1 file stays ready: it has no mark"
func unmarked(d wire.Dataset, marked []wire.MarkedFile) (notes []string) {
	counts, states := map[string]int{}, []string(nil)
	for i := range marked {
		m := &marked[i]
		if !m.Before {
			continue
		}
		if counts[m.State]++; counts[m.State] == 1 {
			states = append(states, m.State)
		}
	}
	for _, state := range states {
		stays, have, its := "stays", "it has", "its mark"
		if counts[state] > 1 {
			stays, have, its = "stay", "they have", "their marks"
		}
		why := have + " this mark already"
		switch {
		case state == jjm.FileReady.String():
			why = have + " no mark"
		case state != d.State:
			why = fmt.Sprintf("remove %s first (jjm dataset mark %s LFN ready --reason WHY)", its, d.Name)
		}
		notes = append(notes, fmt.Sprintf("%s %s %s: %s", jjm.Count(counts[state], "file"), stays, state, why))
	}
	return notes
}

// fileStateOf returns the state of a mark by its word, FileReady for any other word.
func fileStateOf(word string) jjm.FileState {
	for _, s := range []jjm.FileState{jjm.FileMissing, jjm.FileLost, jjm.FileBroken} {
		if s.String() == word {
			return s
		}
	}
	return jjm.FileReady // the request was checked
}
