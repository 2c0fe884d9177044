package proof

import (
	"context"
	"errors"
	"fmt"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// reopenings returns the open request to reopen a grid job; the bool is false if there is none.
type reopenings func(jjm.GridID) (store.Reopening, bool)

// reopening is a reopenings outside of a change.
func (pr *Prover) reopening(id jjm.GridID) (store.Reopening, bool) {
	v := pr.s.View()
	defer v.Close()
	return v.Reopening(id)
}

// CheckRecovers returns a problem if the grid job that spec recovers is not the owner's, has
// not ended, is in another generation, is being reopened, or if another grid job may do the same work.
func (pr *Prover) CheckRecovers(ctx context.Context, owner jjm.Owner, spec *jjm.Spec) jjm.Problems {
	if spec.Recovers == 0 {
		return nil
	}
	job, err := pr.s.Find(ctx, wire.Caller{UID: owner.UID, GID: owner.GID, User: owner.User}, spec.Recovers)
	if err != nil {
		return jjm.Problems{{Field: "recovers", Text: fmt.Sprintf("%v: name a grid job of yours, or leave it out", err)}}
	}
	err = pr.mayRecover(ctx, pr.reopening, spec, &job)
	if ps := (jjm.Problems{}); errors.As(err, &ps) {
		return ps
	}
	if err != nil {
		return jjm.Problems{{Field: "recovers", Text: err.Error()}}
	}
	return nil
}

// StillRecovers repeats CheckRecovers in the change that stores the recovery, because the grid job to recover may have
// been reopened, recovered or removed meanwhile. It does not check the owner again: the owner of a grid job never
// changes.
func (pr *Prover) StillRecovers(c *state.Change, spec *jjm.Spec) error {
	if spec.Recovers == 0 {
		return nil
	}
	job, err := pr.b.Store.Grid(c.Ctx, spec.Recovers)
	if err != nil {
		return err
	}
	return pr.mayRecover(c.Ctx, c.Live.Reopening, spec, &job)
}

// Recoverable returns an error of kind Conflict if no recovery of a grid job can be made now: it has not ended, or
// another grid job may do the work that it left undone.
func (pr *Prover) Recoverable(ctx context.Context, job *jjm.GridJob) error {
	if !job.Status.Final() {
		return jjm.Errorf(jjm.Conflict, "grid job %s is %s: what is missing is known once it has ended", job.ID, job.Status)
	}
	switch why, err := pr.doneElsewhere(ctx, pr.reopening, job); {
	case err != nil:
		return err
	case why != "":
		return jjm.Errorf(jjm.Conflict, "%s", why)
	}
	return nil
}

// mayRecover returns an error of type jjm.Problems if spec cannot recover a grid job now, because of the present state
// of the grid job, or because another grid job may do the same work. All other errors come from the store. The store
// refuses the same recoveries (recoveries_once in its schema).
func (pr *Prover) mayRecover(ctx context.Context, asked reopenings, spec *jjm.Spec, job *jjm.GridJob) error {
	if ps := unfit(asked, spec, job); len(ps) > 0 {
		return ps
	}
	switch why, err := pr.doneElsewhere(ctx, asked, job); {
	case err != nil:
		return err
	case why != "":
		return jjm.Problems{{Field: "recovers", Text: why}}
	}
	others, err := pr.b.Store.Recoveries(ctx, job.ID)
	if err != nil {
		return err
	}
	if why := outnumbered(spec, len(others)); why != "" {
		return jjm.Problems{{Field: "recovers_number", Text: why}}
	}
	return nil
}

// outnumbered returns why the number of the recovery spec is not the number of the next recovery; "" if it is. others
// is the number of recoveries that the grid job has. A file without a number is that of the first recovery.
func outnumbered(spec *jjm.Spec, others int) string {
	have := jjm.Count(others, "recovery", "recoveries")
	switch n := max(spec.RecoversNumber, 1); {
	case n > others+1:
		return fmt.Sprintf("the file is that of recovery %d, and grid job %s has only %s: the next one is recovery %d", n,
			spec.Recovers, have, others+1)
	case n == others+1:
		return ""
	case spec.RecoversNumber == 0:
		return fmt.Sprintf("a file without it is that of recovery 1, and grid job %s has %s by now, which may do the same "+
			"work: make the file anew, with jjm verify %[1]s --recovery FILE, or write recovers_number = %[3]d if the file is "+
			"about what all of them leave undone", spec.Recovers, have, others+1)
	default:
		return fmt.Sprintf("the file is that of recovery %d, and grid job %s has %s by now, which may do the same work: "+
			"make it anew, with jjm verify %[2]s --recovery FILE", n, spec.Recovers, have)
	}
}

// unfit returns a problem if spec cannot recover a grid job in the grid job's present state.
func unfit(asked reopenings, spec *jjm.Spec, job *jjm.GridJob) jjm.Problems {
	bad := func(format string, args ...any) jjm.Problems {
		return jjm.Problems{{Field: "recovers", Text: fmt.Sprintf(format, args...)}}
	}
	switch generation := max(spec.RecoversGeneration, 1); {
	case generation != job.Generation:
		return bad("the file says what generation %d left undone, and grid job %s is in generation %d: make it anew, with "+
			"jjm verify %s --recovery FILE", generation, job.ID, job.Generation, job.ID)
	case !job.Status.Final():
		return bad("grid job %s is %s: what it leaves undone is known once it has ended", job.ID, job.Status)
	}
	if r, open := asked(job.ID); open {
		return bad("grid job %s is being reopened by %s: %s", job.ID, r.Actor, r.Why)
	}
	return nil
}

// doneElsewhere returns why another grid job may do the work that a grid job left undone; "" if none may. This can
// happen only if the grid job is itself a recovery: a grid job in its chain of recoveries may have been reopened, or
// may have a later recovery. The work of a removed grid job does not count.
func (pr *Prover) doneElsewhere(ctx context.Context, asked reopenings, job *jjm.GridJob) (string, error) {
	if job.Spec.Recovers == 0 {
		return "", nil
	}
	if why, err := pr.reopenedAbove(ctx, asked, job); err != nil || why != "" {
		return why, err
	}
	root, err := pr.b.Store.RecoveryRoot(ctx, job.ID)
	if err != nil {
		return "", err
	}
	tree, err := pr.b.Store.RecoveryTree(ctx, root)
	if err != nil {
		return "", err
	}
	rival, found := laterRival(tree, job.ID)
	if !found {
		return "", nil
	}
	why := fmt.Sprintf("grid job %s recovers grid job %s and is later than grid job %s: both do what grid job %s left "+
		"undone, and may do the same work: ", rival.Grid, rival.Recovers, job.ID, root)
	_, err = pr.b.Store.Grid(ctx, root)
	switch {
	case jjm.KindOf(err) == jjm.Gone:
		return why + fmt.Sprintf("jjm verify %s --recovery FILE writes what that one leaves undone", rival.Grid), nil
	case err != nil:
		return "", err
	}
	return why + fmt.Sprintf("jjm verify %s --recovery FILE writes what all of them leave undone", root), nil
}

// reopenedAbove returns why a grid job in the chain of recoveries of a recovery may do its work; "" if none may. It
// stops at a removed grid job, because all grid jobs above a removed one are removed.
func (pr *Prover) reopenedAbove(ctx context.Context, asked reopenings, job *jjm.GridJob) (string, error) {
	for child := *job; child.Spec.Recovers != 0; {
		parent, err := pr.b.Store.Grid(ctx, child.Spec.Recovers)
		if jjm.KindOf(err) == jjm.Gone {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if len(unfit(asked, &child.Spec, &parent)) > 0 {
			return fmt.Sprintf("grid job %s, which grid job %s recovers, was reopened since and may do the same work: "+
				"jjm verify %[1]s --recovery FILE writes what all of them leave undone", parent.ID, child.ID), nil
		}
		child = parent
	}
	return "", nil
}

// laterRival returns the latest recovery in a tree that is later than grid job id, not removed, and neither a recovery
// of grid job id nor a recovery of its recoveries; false if there is none. tree is in ascending order, so each recovery
// comes after the grid job that it recovers.
func laterRival(tree []store.Kin, id jjm.GridID) (rival store.Kin, found bool) {
	own := map[jjm.GridID]bool{id: true}
	for _, k := range tree {
		switch {
		case own[k.Recovers]:
			own[k.Grid] = true
		case k.Grid > id && !k.Gone:
			rival, found = k, true
		}
	}
	return rival, found
}
