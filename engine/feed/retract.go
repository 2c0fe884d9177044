package feed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"jjm"
	"jjm/engine/outputs"
	"jjm/engine/state"
	"jjm/sandbox"
	"jjm/store"
	"jjm/stream"
	"jjm/wire"
)

// Retract says of outputs of a grid job that they are lost, and with them all that
// the same local jobs made. While the grid job lives, new local jobs make them again
// (decision R15). Once it is over, a recovery does: what the local jobs did is
// missing from then on. Lost merged files lead to the local jobs that made what is
// in them.
func (fd *Feeder) Retract(ctx context.Context, caller wire.Caller, id jjm.GridID, w wire.Retract) (wire.Retracted,
	error) {
	out := wire.Retracted{ID: id}
	job, err := fd.s.Find(ctx, caller, id)
	if err != nil {
		return out, err
	}
	if w.Recovery != "" && !job.Status.Final() {
		return out, jjm.Errorf(jjm.Conflict,
			"grid job %s is %s: it makes its lost outputs again by itself, and needs no recovery", id, job.Status)
	}
	r := &retraction{fd: fd, ctx: ctx, job: &job, caller: caller, wish: w}
	if err := r.find(); err != nil {
		return out, fmt.Errorf("retract outputs of grid job %s: %w", id, err)
	}
	err = fd.s.Change(ctx, "retract", func(c *state.Change) error {
		if err := r.store(c); err != nil || !w.DryRun {
			return err
		}
		return state.ErrDry
	})
	if err != nil && !errors.Is(err, state.ErrDry) {
		return out, fmt.Errorf("retract outputs of grid job %s: %w", id, err)
	}
	if out.Locals, out.Lost = r.locals, r.lost; w.Recovery == "" || w.DryRun {
		return out, nil
	}
	again, err := r.fd.recoverer.Again(r.ctx, r.caller, r.job, r.work, r.wish.Recovery)
	out.Recovery, out.RecoveryFiles, out.RecoveryRanges = string(again.Job), string(again.Files), string(again.Ranges)
	return out, err
}

// retraction is one wish to retract.
type retraction struct {
	fd     *Feeder
	ctx    context.Context
	job    *jjm.GridJob
	caller wire.Caller
	wish   wire.Retract
	// work are the local jobs whose results are lost, ascending, and made what each
	// local job made that is lost, merges included. Merges are those that hold some of
	// it, ascending.
	work, merges []int32
	made         map[int32][]string
	// locals and lost are the answer.
	locals []wire.RetractedLocal
	lost   []string
}

// find finds the local jobs behind the names.
func (r *retraction) find() error {
	r.made = map[int32][]string{}
	named := map[int32]bool{}
	for _, name := range r.wish.Outputs {
		n, err := r.maker(name)
		if err != nil {
			return err
		}
		named[n] = true
	}
	work, merges, err := r.behind(named)
	if err != nil {
		return err
	}
	for n := range merges {
		if _, err := r.outputs(n); err != nil {
			return err
		}
	}
	for n := range work {
		if _, err := r.outputs(n); err != nil {
			return err
		}
	}
	r.work, r.merges = slices.Sorted(maps.Keys(work)), slices.Sorted(maps.Keys(merges))
	return nil
}

// maker returns the local job that made an output, by the name that it has in the
// tar.
func (r *retraction) maker(name string) (int32, error) {
	none := jjm.Errorf(jjm.Gone, "%.80q: it made no such output: want a name as it is in its tar, such as %s", name,
		sandbox.OutputName(outputs.Stem(r.job), jjm.LocalID{Grid: r.job.ID, N: 3}, "out.root"))
	n, err := r.numberIn(path.Base(name))
	if jjm.KindOf(err) == jjm.Gone {
		return 0, none
	}
	if err != nil {
		return 0, err
	}
	made, err := r.outputs(n)
	if err != nil {
		return 0, err
	}
	if !slices.Contains(made, path.Base(name)) {
		return 0, none
	}
	return n, nil
}

// numberIn returns the local job that an output in the tar is of, by its name; Gone if
// there is none.
func (r *retraction) numberIn(name string) (int32, error) {
	for _, step := range [...]int32{jjm.StepWork, jjm.StepMerge} {
		if template, serial, ok := stream.Made(&r.job.Spec, step, name); ok {
			return r.fd.b.Store.LocalWithSerial(r.ctx, r.job.ID, step, template, serial)
		}
	}
	rest, ok := strings.CutPrefix(name, outputs.Stem(r.job)+"."+r.job.ID.String()+".")
	number, _, dot := strings.Cut(rest, ".")
	n, err := strconv.ParseInt(number, 10, 32)
	if !ok || !dot || err != nil {
		return 0, jjm.Errorf(jjm.Gone, "it is no name of an output")
	}
	return int32(n), nil
}

// outputs returns what a completed local job made, under the names in the tar.
func (r *retraction) outputs(n int32) ([]string, error) {
	if made, known := r.made[n]; known {
		return made, nil
	}
	id := jjm.LocalID{Grid: r.job.ID, N: n}
	locals, err := r.fd.b.Store.Locals(r.ctx, r.job.ID, n, n)
	if err != nil || len(locals) == 0 {
		return nil, err
	}
	if l := &locals[0]; l.State != jjm.Completed && !l.IsMerging() {
		return nil, jjm.Errorf(jjm.Conflict, "local job %s is %s: only what a completed one made can be lost", id,
			jjm.StateWord(l.State, l.Phase))
	}
	attempts, err := r.fd.b.Store.Attempts(r.ctx, id)
	if err != nil {
		return nil, err
	}
	made := []string{}
	if len(attempts) > 0 {
		if ev := attempts[len(attempts)-1].Evidence; ev != nil && ev.Result != nil {
			names := outputs.Names(&r.job.Spec, &locals[0])
			for _, o := range ev.Result.Outputs {
				if o.Absent == "" && !names[o.Name].Log {
					made = append(made, outputs.Name(outputs.Stem(r.job), id, o.Name, names))
				}
			}
		}
	}
	r.made[n] = made
	return made, nil
}

// behind returns the local jobs of the first step whose results are lost, and the
// merges that hold some of them: a merged file that is lost loses all that is in it,
// and with that the other merged files that hold what the same local jobs made.
func (r *retraction) behind(named map[int32]bool) (work, merges map[int32]bool, err error) {
	work, merges = map[int32]bool{}, map[int32]bool{}
	if r.job.Spec.Merge == nil {
		return named, merges, nil
	}
	holds, err := r.merged()
	if err != nil {
		return nil, nil, err
	}
	for n := range named {
		if _, merge := holds[n]; merge {
			merges[n] = true
		} else {
			work[n] = true
		}
	}
	for grew := true; grew; {
		grew = false
		for merge, makers := range holds {
			touched := merges[merge] || slices.ContainsFunc(makers, func(n int32) bool { return work[n] })
			for _, n := range makers {
				if touched && !(work[n] && merges[merge]) {
					work[n], merges[merge], grew = true, true, true
				}
			}
		}
	}
	return work, merges, nil
}

// merged returns, by completed merge, the local jobs that made what is in it.
func (r *retraction) merged() (map[int32][]int32, error) {
	locals, err := r.fd.b.Store.Locals(r.ctx, r.job.ID, 0, int32(r.job.Step.Made))
	if err != nil {
		return nil, err
	}
	var numbers []int32
	for i := range locals {
		if l := &locals[i]; l.Step == jjm.StepMerge && l.State == jjm.Completed {
			numbers = append(numbers, l.ID.N)
		}
	}
	inputs, err := r.fd.b.Store.PartInputs(r.ctx, r.job.ID, numbers)
	if err != nil {
		return nil, err
	}
	holds := map[int32][]int32{}
	for n, in := range inputs {
		for _, lfn := range in.Input.Files {
			if id, ok := outputs.Maker(r.job.ID, lfn); ok && !slices.Contains(holds[n], id.N) {
				holds[n] = append(holds[n], id.N)
			}
		}
	}
	return holds, nil
}

// store notes what is lost, and has it made again if the grid job lives.
func (r *retraction) store(c *state.Change) error {
	reason := r.wish.Reason
	if r.wish.DryRun {
		reason = "dry run"
	}
	live := c.Live.Grid(r.job.ID)
	if live != nil && live.Job.Status.Final() {
		live = nil
	}
	if live == nil && !r.job.Status.Final() {
		return jjm.Errorf(jjm.Conflict, "it ended at this moment: try again")
	}
	if live != nil {
		if err := mayMakeAgain(live); err != nil {
			return err
		}
	}
	for _, n := range r.work {
		one, err := r.lose(c, live, jjm.LocalID{Grid: r.job.ID, N: n}, reason)
		if err != nil {
			return err
		}
		r.locals = append(r.locals, one)
	}
	if live != nil {
		if err := r.dissolve(c, reason); err != nil {
			return err
		}
	}
	for _, n := range slices.Sorted(maps.Keys(r.made)) {
		r.lost = append(r.lost, r.made[n]...)
	}
	return r.loseFiles(c, reason)
}

// lose notes that what one local job made is lost, and has it made again if its grid
// job lives; nil says that it does not.
func (r *retraction) lose(c *state.Change, live *state.Grid, id jjm.LocalID, reason string) (one wire.RetractedLocal,
	err error) {
	one = wire.RetractedLocal{Local: id.String(), Outputs: r.made[id.N]}
	why := "what it made is lost: " + reason
	if live != nil && live.Locals[id.N].IsMerging() {
		one.Next, err = r.loseUnmerged(c, id, why)
		return one, err
	}
	fresh, err := c.Tx.Retract(id, r.caller.User, reason)
	if err != nil {
		return one, err
	}
	one.Before = !fresh
	if fresh && live != nil {
		one.Next, err = makeAgain(c, c.Local(id), why, r.caller.User)
		return one, err
	}
	if fresh {
		c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: id.Grid, First: id.N, Last: id.N, To: "retracted",
			Cause: why, Source: c.Name, Actor: r.caller.User})
	}
	return one, nil
}

// mayMakeAgain refuses to have a live grid job make lost outputs again that it
// cannot (decision R15).
func mayMakeAgain(g *state.Grid) error {
	switch {
	case g.Job.Kill:
		return jjm.Errorf(jjm.Conflict, "it is being killed: once it is over, a recovery makes them again")
	case !g.Processes():
		return jjm.Errorf(jjm.Conflict,
			"its type makes its work itself, and each part is made once: once it is over, retract what is lost then, and a recovery makes it again")
	case g.Job.Status == jjm.Prepared || g.Job.Merging != nil && g.Job.Merging.Closed:
		return jjm.Errorf(
			jjm.Busy, "its outputs are being collected: once it is over, retract what is lost then, and a recovery makes it again")
	}
	return nil
}

// makeAgain gives what a completed local job owns, to a new one.
func makeAgain(c *state.Change, l *jjm.LocalJob, why, actor string) (next string, err error) {
	if l == nil {
		return "", jjm.Errorf(jjm.Internal, "it is not among the live ones")
	}
	inputs, err := c.S.B.Store.PartInputs(c.Ctx, l.ID.Grid, []int32{l.ID.N})
	if err != nil {
		return "", err
	}
	in := inputs[l.ID.N]
	if in.Input == nil {
		return "", jjm.Errorf(jjm.Internal, "local job %s: what it reads is not known", l.ID)
	}
	part, err := stillReadable(c, l, in.Input)
	if err != nil {
		return "", err
	}
	if part.Count == 0 {
		return "", jjm.Errorf(jjm.Conflict,
			"local job %s: what it read is lost itself: %s: recover that first, and take its marks back (jjm dataset mark NAME LFN... ready)", l.ID, strings.Join(in.Input.Files, " "))
	}
	if err := c.MayInsert(c.Grid(l.ID.Grid), l.Step); err != nil {
		return "", jjm.Errorf(jjm.Conflict, "%w", err)
	}
	before := 1
	if in.Origin != nil {
		before += int(in.Origin.Before)
	}
	id, err := replace(c, l, part, before)
	if err != nil {
		return "", err
	}
	takeBack(c, l, why+fmt.Sprintf("; local job %s makes it again", id), actor)
	l.Message = why
	return id.String(), nil
}

// takeBack ends what was completed, or waited to be merged, as work that is given back.
func takeBack(c *state.Change, l *jjm.LocalJob, why, actor string) {
	from, to := jjm.StateWord(l.State, l.Phase), string(jjm.GivenBack)
	if l.State == jjm.Completed {
		c.Retracted = append(c.Retracted, l)
	} else { // its first end
		to = jjm.StateWord(jjm.Failed, jjm.GivenBack)
	}
	l.State, l.Phase, l.Message = jjm.Failed, jjm.GivenBack, why
	c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: l.ID.Grid, First: l.ID.N, Last: l.ID.N,
		From: from, To: to, Cause: why, Source: c.Name, Actor: actor})
}

// loseFiles marks what is lost in the dataset that the grid job fills, for those who
// read that.
func (r *retraction) loseFiles(c *state.Change, reason string) error {
	if r.job.Spec.OutputDataset == "" || len(r.lost) == 0 {
		return nil
	}
	ids, err := outputDatasets(c, r.job)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := r.loseIn(c, id, reason); err != nil {
			return err
		}
	}
	return nil
}

// loseIn marks what is lost of one dataset, and of those that took files of it.
func (r *retraction) loseIn(c *state.Change, id store.DatasetID, reason string) error {
	var marks []store.Mark
	for _, name := range r.lost {
		there, err := c.Tx.HasFile(id, name)
		if err != nil {
			return err
		}
		if there { // of merged outputs only the merged file is
			marks = append(marks, store.Mark{LFN: name, State: jjm.FileLost})
		}
	}
	if len(marks) == 0 {
		return nil
	}
	lose := func(id store.DatasetID, marks []store.Mark) error {
		_, err := c.Tx.MarkFiles(id, marks, r.caller.User, reason)
		c.News, c.Marked = append(c.News, id), append(c.Marked, id)
		return err
	}
	if err := lose(id, marks); err != nil {
		return err
	}
	return state.EachTaker(c, id, r.lost, func(taker store.Dataset, lfns []string) error {
		return lose(taker.ID, slices.DeleteFunc(slices.Clone(marks), func(m store.Mark) bool {
			return !slices.Contains(lfns, m.LFN)
		}))
	})
}
