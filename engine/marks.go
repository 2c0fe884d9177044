package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"jjm"
	"jjm/split"
	"jjm/store"
	"jjm/wire"
)

// mark marks files of a dataset as ones that cannot be read, or takes their marks
// back; a dry run only says what it would do.
func (e *Engine) mark(ctx context.Context, caller wire.Caller, uid int, d wire.Dataset, out *wire.Datasets) error {
	set, err := e.store.DatasetNamed(ctx, uid, d.Name)
	if err != nil {
		return err
	}
	if d.State == jjm.FileReady.String() {
		return e.unmark(ctx, caller, set, d, out)
	}
	state := fileStateOf(d.State)
	marks := make([]store.Mark, len(d.LFNs))
	for i, lfn := range d.LFNs {
		marks[i] = store.Mark{LFN: lfn, State: state}
	}
	return e.changeMarks(ctx, d.DryRun, func(c *change) error {
		reason := d.Reason
		if d.DryRun {
			reason = "dry run"
		}
		all, err := c.tx.MarkFiles(set.ID, marks, caller.User, reason)
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
		c.tellMarks(caller, set, d.State, fmt.Sprintf("%d files of dataset %s are %s: %s", fresh, d.Name, d.State, d.Reason), fresh)
		if err := e.ownersOf(ctx, set.ID, all, out.Marked); err != nil { // as they are before any of them gives a file back
			return err
		}
		return c.eachTaker(set.ID, d.LFNs, func(taker store.Dataset, lfns []string) error {
			marks := make([]store.Mark, len(lfns))
			for i, lfn := range lfns {
				marks[i] = store.Mark{LFN: lfn, State: state}
			}
			all, err := c.tx.MarkFiles(taker.ID, marks, caller.User, reason)
			if err != nil {
				return err
			}
			c.tellMarks(caller, taker, d.State, fmt.Sprintf("%d files of dataset %s are %s in dataset %s: %s", len(lfns), taker.Name, d.State, d.Name, d.Reason), len(lfns))
			return e.ownersOf(ctx, taker.ID, all, out.Marked)
		})
	})
}

// eachTaker calls back with the datasets that took files of one of a container, and
// which of some files each has.
func (c *change) eachTaker(id store.DatasetID, lfns []string, do func(taker store.Dataset, lfns []string) error) error {
	takers, err := c.tx.TakenBy(id)
	if err != nil {
		return err
	}
	for _, taker := range takers {
		var has []string
		for _, lfn := range lfns {
			there, err := c.tx.HasFile(taker.ID, lfn)
			if err != nil {
				return err
			}
			if there {
				has = append(has, lfn)
			}
		}
		if len(has) == 0 {
			continue
		}
		if err := do(taker, has); err != nil {
			return err
		}
	}
	return nil
}

// unmark takes back marks of files.
func (e *Engine) unmark(ctx context.Context, caller wire.Caller, set store.Dataset, d wire.Dataset, out *wire.Datasets) error {
	return e.changeMarks(ctx, d.DryRun, func(c *change) error {
		if err := c.unmarkIn(caller, set, d, d.LFNs, out); err != nil {
			return err
		}
		return c.eachTaker(set.ID, d.LFNs, func(taker store.Dataset, lfns []string) error {
			return c.unmarkIn(caller, taker, d, lfns, out)
		})
	})
}

// unmarkIn takes back marks of files of one dataset; the answer has a line for each
// file, whichever datasets it is in.
func (c *change) unmarkIn(caller wire.Caller, set store.Dataset, d wire.Dataset, lfns []string, out *wire.Datasets) error {
	if err := c.e.cutsNow(set); err != nil {
		return err
	}
	all, err := c.tx.UnmarkFiles(set.ID, lfns)
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
	c.tellMarks(caller, set, d.State, fmt.Sprintf("%d files of dataset %s can be read again: %s", fresh, set.Name, d.Reason), fresh)
	return nil
}

// changeMarks carries out a change of marks; one that is dry is taken back.
func (e *Engine) changeMarks(ctx context.Context, dry bool, decide func(*change) error) error {
	err := e.change(ctx, "dataset-mark", func(c *change) error {
		if err := decide(c); err != nil || !dry {
			return err
		}
		return errDry
	})
	if errors.Is(err, errDry) {
		return nil
	}
	return err
}

// tellMarks journals, if n marks are new, what became of them and who did it, and
// has those who read the dataset look again.
func (c *change) tellMarks(caller wire.Caller, set store.Dataset, to, what string, n int) {
	if n == 0 {
		return
	}
	c.news, c.marked = append(c.news, set.ID), append(c.marked, set.ID)
	c.tell(set.ID, what, caller.User)
	c.journal = append(c.journal, jjm.JournalEntry{Time: c.now, First: -1, Last: -1, To: to, Cause: fmt.Sprintf("%s (uid %d)", what, caller.UID),
		Source: c.name, Actor: caller.User})
}

// cutsNow refuses while a grid job is in the middle of cutting a dataset: it would
// begin again in another file than that in which it stopped. Such a cutting has no
// pauses, so it is over soon.
func (e *Engine) cutsNow(set store.Dataset) error {
	for id, g := range e.grids {
		if g.job.Owner.UID != set.UID || g.job.Step.Closed || len(g.job.Step.Carry) == 0 ||
			!slices.ContainsFunc(g.job.Spec.Datasets, func(d jjm.DatasetInput) bool { return d.Name == set.Name && !d.Secondary }) {
			continue
		}
		var carry split.Carry
		if err := json.Unmarshal(g.job.Step.Carry, &carry); err != nil {
			return jjm.Errorf(jjm.Internal, "grid job %s: carry: %w", id, err)
		}
		if carry.Begun != nil {
			return jjm.Errorf(jjm.Busy, "grid job %s is cutting the dataset at this moment: try again in a minute", id)
		}
	}
	return nil
}

// errDry takes back what a dry run did.
var errDry = jjm.Errorf(jjm.Conflict, "a dry run")

func fileStateOf(word string) jjm.FileState {
	for _, s := range []jjm.FileState{jjm.FileMissing, jjm.FileLost, jjm.FileBroken} {
		if s.String() == word {
			return s
		}
	}
	return jjm.FileReady // the request was checked
}

// ownersOf says which local jobs, not over yet, own some of marked files. Those that
// a batch system has go on, and what they report counts; the others give it back.
func (e *Engine) ownersOf(ctx context.Context, id store.DatasetID, all []store.Marked, out []wire.MarkedFile) error {
	lines := make(map[string]int, len(out))
	for i := range out {
		lines[out[i].LFN] = i
	}
	at := make(map[int64]int, len(all))
	for _, m := range all {
		at[m.File] = lines[m.LFN]
	}
	owners, err := e.store.Owners(ctx, id, at)
	if err != nil {
		return err
	}
	for _, o := range owners {
		one := &out[at[o.File]]
		if l := e.local(o.Local); l != nil && withdrawable(l) {
			one.Back = append(one.Back, o.Local.String())
		} else {
			one.Locals = append(one.Locals, o.Local.String())
		}
	}
	return nil
}

// readable gives what of a part can be done without the files that cannot be read.
func readable(p jjm.Part, gone map[string]bool) jjm.Part {
	in := *p.Input
	at := make([]int32, len(p.Input.Files)) // where each file comes to be, -1 = nowhere
	in.Files, in.Events, in.Lumis = nil, nil, nil
	for i, lfn := range p.Input.Files {
		if at[i] = -1; !gone[lfn] {
			at[i] = int32(len(in.Files))
			in.Files = append(in.Files, lfn)
		}
	}
	p.Count = 0
	if p.Unit == jjm.UnitFile {
		p.Count = int64(len(in.Files))
	}
	for _, r := range p.Input.Events {
		if r.File = at[r.File]; r.File < 0 {
			continue
		}
		in.Events = append(in.Events, r)
		if p.Unit == jjm.UnitRange && r.Count == jjm.ToTheEnd {
			p.Count++
		} else if p.Unit == jjm.UnitRange {
			p.Count += r.Count
		}
	}
	for _, r := range p.Input.Lumis {
		if r.File = at[r.File]; r.File < 0 {
			continue
		}
		in.Lumis = append(in.Lumis, r)
		if p.Unit == jjm.UnitLumi {
			p.Count += r.Count()
		}
	}
	p.Input = &in
	return p
}
