package verdict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/store"
)

// triesOfRows is the number of refused transactions after which a harvest halves no more.
const triesOfRows = 64

// storing stores judgements, in one transaction if possible. If the store refuses the transaction because of a row, the
// grid jobs are tried one by one, then the attempts of a refused grid job in halves. In this way, only the attempts
// with the refused rows wait.
//
// The number of refused transactions is limited. After this limit, a refused part is not halved any more, and its good
// attempts wait together with the refused ones. The refused attempts come back with each harvest; so that they do not
// use up the limit each time before the same good attempts are reached, the order of the parts is random.
type storing struct {
	put    func(context.Context, []judgement) error // stores judgements in one transaction
	refuse func([]judgement, error)                 // called with judgements that the store refuses
	tries  int                                      // if it is not positive, nothing is halved any more
	// shuffle is rand.Shuffle.
	shuffle func(n int, swap func(i, j int))
}

// each stores judgements. If the store cannot store anything now, the error is the reason, and refuse was not called
// for the remaining judgements. Otherwise the error is about the last refused transaction.
func (st *storing) each(ctx context.Context, all []judgement) error {
	err := st.put(ctx, all)
	if err == nil || !ofRows(err) || ctx.Err() != nil {
		return err
	}
	st.tries--
	parts := divided(all, st.tries > 0)
	st.shuffle(len(parts), func(i, k int) { parts[i], parts[k] = parts[k], parts[i] })
	if len(parts) < 2 {
		st.refuse(all, err)
		return err
	}
	var trouble error
	for _, part := range parts {
		err := st.each(ctx, part)
		if err != nil && (!ofRows(err) || ctx.Err() != nil) {
			return err
		}
		trouble = cmp.Or(err, trouble)
	}
	return trouble
}

// ofRows reports whether an error of a transaction is caused by the rows that were to be stored. It returns false if
// the store, or the daemon, cannot store any row now.
func ofRows(err error) bool {
	switch jjm.KindOf(err) {
	case jjm.Invalid, jjm.Conflict, jjm.Gone, jjm.Internal:
		return !store.Damaged(err) && !errors.Is(err, base.ErrCrashed)
	}
	return false
}

// divided returns judgements in parts: the judgements of each grid job; or if all belong to one grid job and halve is
// set, two halves.
func divided(all []judgement, halve bool) [][]judgement {
	of := map[jjm.GridID][]judgement{}
	for _, j := range all {
		of[j.id.Grid] = append(of[j.id.Grid], j)
	}
	if len(of) == 1 && len(all) > 1 && halve {
		return [][]judgement{all[:len(all)/2], all[len(all)/2:]}
	}
	var parts [][]judgement
	for _, id := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, of[id])
	}
	return parts
}

// delays postpones attempts that cannot be judged yet.
type delays struct {
	b    *base.Base
	ends *endings.Endings
}

// postpone sets when to look at an attempt again: after step.After, or after CancelAgain if
// step.After is not set.
func (de *delays) postpone(id jjm.AttemptID, step plan.EndStep) {
	after := step.After
	if after <= 0 {
		after = de.b.Conf().CancelAgain.D()
	}
	now := jjm.At(de.b.Now())
	de.ends.With(id, func(en *endings.Ending) { en.Due, en.DueAt = now.Add(after), now })
}

// troubled postpones an attempt after an error, and notes the error for people.
func (de *delays) troubled(id jjm.AttemptID, err error) {
	de.ends.Troubled(id, err.Error(), jjm.At(de.b.Now()))
	de.postpone(id, plan.EndStep{After: lookAgain})
}

// refuse postpones attempts whose verdicts the store refuses.
func (de *delays) refuse(all []judgement, err error) {
	for _, j := range all {
		de.troubled(j.id, fmt.Errorf("its end cannot be stored: %w", err))
	}
}

// Unjudged returns the local jobs on which errors prevent the verdict.
func (de *delays) Unjudged() health.Unjudged {
	t := de.ends.Trouble(jjm.At(de.b.Now()))
	return health.Unjudged{Jobs: t.Attempts, First: t.First.LocalID, Error: t.Text, Since: t.Since}
}
