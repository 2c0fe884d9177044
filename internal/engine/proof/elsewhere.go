package proof

import (
	"context"
	"fmt"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/work/cover"
)

// Elsewhere returns the local jobs of a grid job whose work was done, or may still be done, by recoveries of the grid
// job. Each local job is returned with the reason why it must not do the work again (decision R15). The error is of
// kind Conflict if a recovery is not over, or if its work cannot be compared with the work of the grid job.
func (pr *Prover) Elsewhere(ctx context.Context, job *jjm.GridJob) (map[int32]string, error) {
	ids, err := pr.b.Store.Recoveries(ctx, job.ID)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	t, recoveries, err := pr.joinedTask(ctx, wire.Caller{UID: job.Owner.UID, Admin: true}, job)
	if err != nil {
		return nil, err
	}
	for _, r := range recoveries {
		var st jjm.GridStatus
		if st.UnmarshalText([]byte(r.Status)) != nil || !st.Final() {
			return nil, jjm.Errorf(jjm.Conflict, "grid job %s, which recovers it, is %s: wait until that is over", r.ID, r.Status)
		}
		if r.Apart != "" && r.Apart != madeNone {
			return nil, jjm.Errorf(jjm.Conflict, "what grid job %s did, which recovers it, cannot be told: %s", r.ID, r.Apart)
		}
	}
	why := map[int32]string{}
	if t.joined == nil {
		return why, nil
	}
	return why, t.rowsOf(ctx, func(r cover.Row) error {
		if k := t.joined.takenOver(&r); k >= 0 && !r.Released {
			why[r.Local] = fmt.Sprintf("grid job %s, which recovers it, did its work", t.joined.tasks[k].grid)
		}
		return nil
	})
}
