package feed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/outputs"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/store"
	"jjm/sandbox"
)

// Retract declares outputs of a grid job lost (decision R15). All other outputs of the same local jobs are lost too; if
// a merged file is lost, the outputs in it are lost. While the grid job is live, new local jobs do the work again. For
// an ended grid job, the work counts as missing, and the result has the job file of a recovery if w asks for a
// recovery. Package reopen handles requests to reopen the grid job. With DryRun nothing is stored. The error is of kind
// Conflict if w asks for a recovery or NewOutput before the grid job has ended, or for a recovery while another grid
// job may do the same work, and of kind Busy while the grid job is being reopened.
func (fd *Feeder) Retract(ctx context.Context, caller wire.Caller, id jjm.GridID, w wire.Retract) (wire.Retracted,
	error) {
	out := wire.Retracted{ID: id}
	job, err := fd.s.Find(ctx, caller, id)
	if err != nil {
		return out, err
	}
	if (w.Recovery != "" || w.NewOutput) && !job.Status.Final() {
		return out, jjm.Errorf(jjm.Conflict,
			"grid job %s is %s: it makes its lost outputs again by itself, without a recovery", id, job.Status)
	}
	if w.Recovery != "" {
		if err := fd.recoverer.Recoverable(ctx, &job); err != nil {
			return out, fmt.Errorf("retract outputs of grid job %s: %w", id, err)
		}
	}
	v := fd.s.View()
	_, requested := v.Reopening(id)
	if v.Close(); requested {
		return out, jjm.Errorf(jjm.Busy, "grid job %s is being reopened: try again when it runs", id)
	}
	r := &retraction{fd: fd, ctx: ctx, job: &job, caller: caller, request: w}
	if err := r.find(); err != nil {
		return out, fmt.Errorf("retract outputs of grid job %s: %w", id, err)
	}
	err = fd.s.Change(ctx, "retract", func(c *state.Change) error {
		if err := r.store(c); err != nil || !w.DryRun {
			return err
		}
		return state.ErrDryRun
	})
	if err != nil && !errors.Is(err, state.ErrDryRun) {
		return out, fmt.Errorf("retract outputs of grid job %s: %w", id, err)
	}
	out.Notes = retractedBefore(r.locals)
	if out.Locals, out.Lost = r.locals, r.lost; w.Recovery == "" || w.DryRun {
		return out, nil
	}
	again, err := r.fd.recoverer.Redo(r.ctx, r.caller, r.job, r.work, r.request.Recovery)
	out.Recovery, out.RecoveryFiles, out.RecoveryRanges = string(again.Job), string(again.Files), string(again.Ranges)
	return out, err
}

// retractedBefore returns the reason, for people, why a retraction changed nothing for local jobs: it was ordered
// before. It returns nil if there are no such local jobs.
func retractedBefore(locals []wire.RetractedLocal) []string {
	n, example := 0, ""
	for i := range locals {
		if !locals[i].Before {
			continue
		}
		if n++; n == 1 {
			example = locals[i].Local
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return []string{"the outputs of local job " + example + " were retracted before: see jjm history " + example}
	}
	return []string{fmt.Sprintf("the outputs of %s were retracted before: see jjm history %s", jjm.Count(n, "local job"),
		example)}
}

// retraction carries out one request to retract outputs. It holds the request, the local jobs that are affected, and
// the answer.
type retraction struct {
	fd      *Feeder
	ctx     context.Context
	job     *jjm.GridJob
	caller  wire.Caller
	request wire.Retract
	// work are the local jobs of the first step whose outputs are lost. merges are the local jobs of the second step
	// whose merged files contain some of these outputs. Both are in ascending order. made are the names of all outputs
	// of these local jobs, by local job.
	work, merges []int32
	made         map[int32][]string
	// locals and lost are the parts of the answer: the local jobs, and the names of their lost outputs.
	locals []wire.RetractedLocal
	lost   []string
}

// find sets work, merges and made: it finds the local jobs that made the named outputs, and the other local jobs whose
// outputs are lost with these outputs. Its errors are those of maker and outputs.
func (r *retraction) find() error {
	r.made = map[int32][]string{}
	named := map[int32]bool{}
	for _, name := range r.request.Outputs {
		n, err := r.maker(name)
		if err != nil {
			return err
		}
		named[n] = true
	}
	work, merges, err := r.affected(named)
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

// maker returns the number of the local job that made an output, given the output's name in the tar. The error is of
// kind Gone if no local job made this output.
func (r *retraction) maker(name string) (int32, error) {
	none := jjm.Errorf(jjm.Gone, "%.80q: it made no such output: want a name from its tar, such as %s", name,
		sandbox.OutputName(outputs.Stem(r.job), jjm.LocalID{Grid: r.job.ID, N: 3}, "out.root"))
	n, err := r.fd.lineage.NumberOf(r.ctx, r.job, path.Base(name))
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

// outputs returns the names in the tar of the outputs of a local job, without logs; nil if the local job does not
// exist. The local job must have completed, or its outputs must wait to be merged; in any other state, the error is of
// kind Conflict.
func (r *retraction) outputs(n int32) ([]string, error) {
	if made, known := r.made[n]; known {
		return made, nil
	}
	id := jjm.LocalID{Grid: r.job.ID, N: n}
	locals, err := r.fd.b.Store.Locals(r.ctx, r.job.ID, n, n)
	if err != nil || len(locals) == 0 {
		return nil, err
	}
	switch l := &locals[0]; {
	case l.State == jjm.CompletedFrozen:
		return nil, jjm.Errorf(jjm.Conflict, "local job %s is %s: unfreeze it first (jjm unfreeze %[1]s)", id, l.State)
	case l.State != jjm.Completed && !l.IsMerging():
		return nil, jjm.Errorf(jjm.Conflict, "local job %s is %s: only outputs of a completed local job can be lost", id,
			jjm.StateWord(l.State, l.Phase))
	}
	attempts, err := r.fd.b.Store.Attempts(r.ctx, id)
	if err != nil {
		return nil, err
	}
	made := []string{}
	for _, a := range attempts {
		// The local job may have begun another attempt since it was read. Only the outputs of the completed attempt
		// count.
		if a.ID.Attempt != locals[0].Attempt || a.Evidence == nil || a.Evidence.Result == nil {
			continue
		}
		names := outputs.Names(&r.job.Spec, &locals[0])
		for _, o := range a.Evidence.Result.Outputs {
			if o.Absent == "" && !names[o.Name].Log {
				made = append(made, outputs.Name(outputs.Stem(r.job), id, o.Name, names))
			}
		}
	}
	r.made[n] = made
	return made, nil
}

// affected returns the local jobs of the first step whose outputs are lost, and the merges whose
// files hold some of these outputs. If a merged file is lost, all outputs in it are lost, and so are
// other merged files that hold outputs of the same local jobs, until nothing more is found.
func (r *retraction) affected(named map[int32]bool) (work, merges map[int32]bool, err error) {
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

// merged returns, for each completed merge, the local jobs that made the outputs in its
// file.
func (r *retraction) merged() (map[int32][]int32, error) {
	locals, err := r.fd.b.Store.Locals(r.ctx, r.job.ID, 0, int32(r.job.Step.Made))
	if err != nil {
		return nil, err
	}
	var numbers []int32
	for i := range locals {
		if l := &locals[i]; l.Step == jjm.StepMerge && l.State.IsCompleted() {
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

// store stores which outputs are lost, and makes new local jobs for the work if the grid job lives. The error is of
// kind Conflict if the grid job ended since it was read; otherwise it can be an error of mayRedo or redo.
func (r *retraction) store(c *state.Change) error {
	reason := r.request.Reason
	if r.request.DryRun {
		reason = "dry run"
	}
	live := c.Live.Grid(r.job.ID)
	if live != nil && live.Job.Status.Final() {
		live = nil
	}
	if live == nil && !r.job.Status.Final() {
		return jjm.Errorf(jjm.Conflict, "it has just ended: try again")
	}
	if live != nil {
		if err := mayRedo(live); err != nil {
			return err
		}
	}
	for _, n := range r.work {
		one, err := r.retractOne(c, live, jjm.LocalID{Grid: r.job.ID, N: n}, reason)
		if err != nil {
			return err
		}
		r.locals = append(r.locals, one)
	}
	if live != nil {
		if err := r.undoMerges(c, reason); err != nil {
			return err
		}
	}
	for _, n := range slices.Sorted(maps.Keys(r.made)) {
		r.lost = append(r.lost, r.made[n]...)
	}
	fresh := func(l wire.RetractedLocal) bool { return !l.Before }
	if slices.ContainsFunc(r.locals, fresh) {
		if err := state.TellConsumers(c, plan.Remade{Producer: r.job.ID}, r.caller.User); err != nil {
			return err
		}
	}
	return r.markLost(c, reason)
}

// retractOne stores that the outputs of one local job are lost. If the grid job is live, it makes a new local job for
// the work; live is nil if the grid job has ended. If the outputs were retracted earlier, retractOne makes no local job
// and sets one.Before.
func (r *retraction) retractOne(c *state.Change, live *state.Grid, id jjm.LocalID,
	reason string) (one wire.RetractedLocal,
	err error) {
	one = wire.RetractedLocal{Local: id.String(), Outputs: r.made[id.N]}
	why := "what it made is lost: " + reason
	if live != nil && live.Locals[id.N].IsMerging() {
		one.Next, err = r.redoUnmerged(c, id, why)
		return one, err
	}
	fresh, err := c.Tx.Retract(id, r.caller.User, reason)
	if err != nil {
		return one, err
	}
	one.Before = !fresh
	if fresh && live != nil {
		one.Next, err = redo(c, c.Local(id), why, r.caller.User)
		return one, err
	}
	if fresh {
		c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: id.Grid, First: id.N, Last: id.N, To: "retracted",
			Cause: why, Source: c.Name, Actor: r.caller.User})
	}
	return one, nil
}

// mayRedo returns an error if a live grid job cannot make lost outputs again (decision R15): it is being killed, its
// type generates its work, or its outputs are being collected or its merges are closed.
func mayRedo(g *state.Grid) error {
	switch {
	case g.Job.Kill:
		return jjm.Errorf(jjm.Conflict, "it is being killed: once it has ended, retract them and submit the recovery")
	case !g.Processes():
		return jjm.Errorf(jjm.Conflict,
			"its type generates its work, and each part only once: once it has ended, retract what is lost and submit the recovery")
	case g.Job.Status == jjm.Prepared || g.Job.Merging != nil && g.Job.Merging.Closed:
		return jjm.Errorf(
			jjm.Busy, "its outputs are being collected: once it has ended, retract what is lost and submit the recovery")
	}
	return nil
}

// redo makes a new local job for the part of l, whose outputs are lost, and returns the new id. l gives its part back.
// The error is of kind Conflict if no input of the part can be read any longer, or if the grid job may not have one
// more local job.
func redo(c *state.Change, l *jjm.LocalJob, why, actor string) (next string, err error) {
	if l == nil {
		return "", jjm.Errorf(jjm.Internal, "retract: the local job is not in memory")
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
			"local job %s: its inputs are lost themselves: %s: recover these first, and mark them as ready (jjm dataset mark NAME LFN... ready --reason WHY)", l.ID, strings.Join(in.Input.Files, " "))
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
	endGivenBack(c, l, why+fmt.Sprintf("; local job %s makes it again", id), actor)
	l.Message = why
	return id.String(), nil
}

// endGivenBack sets the state of a local job that had completed, or whose outputs wait to be merged, to
// failed/given-back.
func endGivenBack(c *state.Change, l *jjm.LocalJob, why, actor string) {
	from, to := jjm.StateWord(l.State, l.Phase), string(jjm.GivenBack)
	if l.State == jjm.Completed {
		c.Retracted = append(c.Retracted, l)
	} else { // the local job had not ended before
		to = jjm.StateWord(jjm.Failed, jjm.GivenBack)
	}
	l.State, l.Phase, l.Message = jjm.Failed, jjm.GivenBack, why
	c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: l.ID.Grid, First: l.ID.N, Last: l.ID.N,
		From: from, To: to, Cause: why, Source: c.Name, Actor: actor})
}

// markLost marks the lost outputs in the output datasets of the grid job. Grid jobs that read these datasets then stop
// using the lost outputs.
func (r *retraction) markLost(c *state.Change, reason string) error {
	if r.job.Spec.OutputDataset == "" || len(r.lost) == 0 {
		return nil
	}
	ids, err := outputDatasets(c, r.job)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := r.markLostIn(c, id, reason); err != nil {
			return err
		}
	}
	return nil
}

// markLostIn marks the lost outputs in one dataset, and in the datasets that took files from this dataset.
func (r *retraction) markLostIn(c *state.Change, id store.DatasetID, reason string) error {
	var marks []store.Mark
	for _, name := range r.lost {
		there, err := c.Tx.HasFile(id, name)
		if err != nil {
			return err
		}
		if there { // the dataset has the merged file, not the outputs in it
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
