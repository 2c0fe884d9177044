package engine

import (
	"context"
	"errors"
	"fmt"

	"jjm"
	"jjm/store"
	"jjm/wire"
)

// mark marks files of a dataset as ones that cannot be read, for good; a dry run
// only says what it would do.
func (e *Engine) mark(ctx context.Context, caller wire.Caller, uid int, d wire.Dataset, out *wire.Datasets) error {
	set, err := e.store.DatasetNamed(ctx, uid, d.Name)
	if err != nil {
		return err
	}
	state := fileStateOf(d.State)
	marks := make([]store.Mark, len(d.LFNs))
	for i, lfn := range d.LFNs {
		marks[i] = store.Mark{LFN: lfn, State: state}
	}
	var all []store.Marked
	err = e.change(ctx, "dataset-mark", func(c *change) error {
		reason := d.Reason
		if d.DryRun {
			reason = "dry run"
		}
		var err error
		if all, err = c.tx.MarkFiles(set.ID, marks, caller.User, reason); err != nil {
			return err
		}
		if d.DryRun {
			return errDry
		}
		fresh := 0
		for _, m := range all {
			if m.Before == jjm.FileReady {
				fresh++
			}
		}
		if fresh > 0 {
			c.news, c.marked = append(c.news, set.ID), append(c.marked, set.ID)
			what := fmt.Sprintf("%d files of dataset %s are %s: %s", fresh, d.Name, d.State, d.Reason)
			c.tell(set.ID, what, caller.User)
			c.journal = append(c.journal, jjm.JournalEntry{Time: c.now, First: -1, Last: -1, To: d.State, Cause: fmt.Sprintf("%s (uid %d)", what, uid),
				Source: c.name, Actor: caller.User})
		}
		return nil
	})
	if err != nil && !errors.Is(err, errDry) {
		return err
	}
	for _, m := range all {
		one := wire.MarkedFile{LFN: m.LFN, State: m.State.String()}
		if m.Before != jjm.FileReady {
			one.State, one.Before = m.Before.String(), true
		}
		out.Marked = append(out.Marked, one)
	}
	return e.ownersOf(ctx, set.ID, all, out.Marked)
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

// ownersOf says which local jobs, not over yet, own some of marked files: they go on,
// and what they report counts.
func (e *Engine) ownersOf(ctx context.Context, id store.DatasetID, all []store.Marked, out []wire.MarkedFile) error {
	at := make(map[int64]int, len(all))
	for i, m := range all {
		at[m.File] = i
	}
	owners, err := e.store.Owners(ctx, id, at)
	if err != nil {
		return err
	}
	for _, o := range owners {
		one := &out[at[o.File]]
		one.Locals = append(one.Locals, o.Local.String())
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
