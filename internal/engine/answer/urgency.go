package answer

import (
	"context"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// urgency finds a part of the local jobs of a grid job, in the order of their urgency.
type urgency struct {
	an   *Answers
	part wire.Urgent
}

// locals returns the part of the local jobs of a grid job. Only the returned local jobs are copied. The caller must
// have checked that the account may see the grid job.
func (u urgency) locals(ctx context.Context, id jjm.GridID) ([]jjm.LocalJob, error) {
	if ls, live := u.live(id); live {
		return ls, nil
	}
	return u.an.b.Store.UrgentLocals(ctx, id, u.part.From, u.part.Limit)
}

// live does the same as locals for a grid job whose local jobs are in memory. It returns false if the local jobs are
// not in memory.
func (u urgency) live(id jjm.GridID) (ls []jjm.LocalJob, live bool) {
	v := u.an.s.View()
	defer v.Close()
	g := v.Grid(id)
	if g == nil || len(g.Locals) == 0 && g.Job.Status.Final() {
		return nil, false
	}
	at := func(i int) (jjm.State, jjm.Phase) { return g.Locals[i].State, g.Locals[i].Phase }
	for _, i := range jjm.MostUrgent(len(g.Locals), at, u.part.From, u.part.Limit) {
		ls = append(ls, g.Locals[i])
	}
	u.an.rooms.Clusters.ShowWaits(v.Memory, g, ls, jjm.At(u.an.b.Now()))
	return ls, true
}

// historyOf returns the last entries of the journal about local jobs of one grid job. The error is of kind Invalid if
// refs are about several grid jobs, or about a whole grid job.
func historyOf(ctx context.Context, an *Answers, caller wire.Caller, refs []jjm.Ref, limit int) ([]jjm.JournalEntry,
	error) {
	for _, ref := range refs {
		if !ref.Locals || ref.Grid != refs[0].Grid {
			return nil, jjm.Errorf(jjm.Invalid, "history: %s and %s: several ids must be local jobs of one grid job",
				refs[0], ref)
		}
	}
	if _, _, err := an.s.Kept(ctx, caller, refs[0].Grid); err != nil {
		return nil, err
	}
	return an.b.Store.HistoryOf(ctx, refs, limit)
}
