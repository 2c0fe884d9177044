package verdict

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"jjm"
	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/endings"
	"jjm/plan"
	"jjm/sandbox"
)

// batchOfVerdicts is how many attempts are judged in one transaction.
const batchOfVerdicts = 2000

// lookAgain is when to look again at an attempt whose files make trouble.
const lookAgain = 5 * time.Second

// batchOfEvidence is how much evidence is gathered for one transaction, in bytes.
const batchOfEvidence = 16 << 20

// settleEndings looks at an account's attempts that may be over, for as long as
// time goes, and judges those whose evidence is complete, many in one transaction.
// More is true when it stopped at a limit.
func (ju *Judge) settleEndings(ctx, time context.Context, uid int) (more bool, err error) {
	ids := ju.ends.Due(uid, jjm.At(ju.b.Now()), batchOfVerdicts)
	var ready []judgement
	var trouble error
	var bytes int64
	cut := false
	for _, id := range ids {
		if cut = time.Err() != nil || bytes > batchOfEvidence; cut {
			break
		}
		j, ok, err := ju.look(ctx, id)
		switch {
		case errors.Is(err, base.ErrCrashed):
			return false, err
		case err != nil: // of this one, or of its owner's area: the others go on
			trouble = fmt.Errorf("attempt %d of local job %s: %w", id.Attempt, id.LocalID, err)
			ju.postpone(id, plan.EndStep{After: lookAgain})
		case ok:
			ready = append(ready, j)
			bytes += int64(len(j.evidence.GLF))
			if j.evidence.Result != nil {
				bytes += endings.Weight(j.evidence.Result)
			}
		}
	}
	if len(ready) > 0 {
		if err := ju.judge(ctx, ready); err != nil {
			return false, err
		}
	}
	return ctx.Err() == nil && (cut || len(ready) > 0 && len(ids) == batchOfVerdicts), trouble
}

// look asks plan.Ending about one attempt and does what it says, until it is
// to be judged or has to wait.
func (ju *Judge) look(ctx context.Context, id jjm.AttemptID) (judgement, bool, error) {
	for range 5 { // claim, repoint, ask again: bounded, the next look goes on
		l, owner, ok := ju.s.AttemptRow(id)
		if !ok {
			ju.ends.Forget(id)
			return judgement{}, false, nil
		}
		ar, err := ju.areas.Of(owner)
		if err != nil {
			return judgement{}, false, err
		}
		en := ju.ends.Copy(id, jjm.At(ju.b.Now()))
		if got, err := ju.fetch(ar, &l, id, &en); err != nil || got {
			if err != nil {
				return judgement{}, false, err
			}
			continue
		}
		ju.readClaim(ar, &l, id, &en)
		if en.Suspect != nil {
			ju.settleDuplicate(&l, owner, id, &en)
		}
		step := plan.Ending(ju.endFacts(ar, &l, &en), ju.endRules(&l))
		if step.Cancel {
			ju.systems.AskCancel(&l)
		}
		switch step.Do {
		case plan.Judge:
			if en.Result == nil && ju.lastLook(ar, &l, id) {
				continue
			}
			ju.recordAll(ctx, ar, &l, id, &en)
			ju.recordLast(ctx, ar, &l, id, &en)
			en.Report = en.Judged()
			ownCancel := en.Proving && en.Report.State == jjm.BatchCancelled
			if ownCancel {
				en.Report = jjm.Report{} // nobody else's wish: it was given up as lost
			}
			return judgement{id: id, evidence: ju.evidence(ar, id, &en), opinion: ju.types.opinion(&l, &en),
				lost: step.Lost || ownCancel, spoiled: en.Spoiled}, true, nil
		case plan.TakeClaim:
			if err := ju.takeClaim(ar, &l, id); err != nil {
				return judgement{}, false, err
			}
		case plan.Repoint:
			if err := ju.repoint(ctx, id, step); err != nil {
				return judgement{}, false, err
			}
		default:
			ju.postpone(id, step)
			return judgement{}, false, nil
		}
	}
	return judgement{}, false, nil
}

// endRules are those of the cluster that has the attempt.
func (ju *Judge) endRules(l *jjm.LocalJob) plan.EndRules {
	rules := plan.EndRules{ResultSettle: ju.b.Conf().ResultSettle.D(), BatchSettle: ju.b.Conf().BatchSettle.D(),
		UnseenSettle: ju.b.Conf().AbsentFor.D()}
	if own, open := ju.systems.Settle(l.Tag); open {
		rules.BatchSettle = own
	}
	return rules
}

// lastLook reads the attempt's result itself before it is judged without one:
// the time stamp of the folder may have hidden it, for it is the file server's
// clock. It reports whether there is one.
func (ju *Judge) lastLook(ar *areas.Area, l *jjm.LocalJob, id jjm.AttemptID) bool {
	r, err := ar.ReadResult(l.Tag, l.Pos)
	if err != nil || r == nil || r.AttemptID() != id {
		return false
	}
	ju.ends.Result(r, jjm.At(ju.b.Now()))
	return true
}

// postpone sets when to look again, at the latest in a cancel's own rhythm.
func (ju *Judge) postpone(id jjm.AttemptID, step plan.EndStep) {
	after := step.After
	if after <= 0 {
		after = ju.b.Conf().CancelAgain.D()
	}
	now := jjm.At(ju.b.Now())
	ju.ends.With(id, func(en *endings.Ending) { en.Due, en.Set = now.Add(after), now })
}

// endFacts gathers what plan.Ending decides on.
func (ju *Judge) endFacts(ar *areas.Area, l *jjm.LocalJob, en *endings.Ending) plan.EndFacts {
	now := jjm.At(ju.b.Now())
	f := plan.EndFacts{Kill: l.Kill || l.Holding.GivenUp(), Batch: batchState(l, en), Absence: en.Absence}
	if en.Result != nil {
		f.HasResult, f.ResultAge = true, now.Sub(en.ResultAt)
	}
	if en.Ended != 0 {
		f.EndAge = now.Sub(en.Ended)
	}
	f.Claim = plan.HolderOf(en.Claim, l.BatchID, ju.shows(l, en))
	if en.Claim != nil {
		f.ClaimBatch, f.ClaimAge = en.Claim.Batch, now.Sub(en.ClaimAt)
	}
	if en.Ended != 0 && !f.HasResult {
		f.Beating = ju.beating(ar, l.AttemptID(), now)
	}
	if en.Missing {
		age, ok, err := ar.HeartbeatAge(l.AttemptID(), ju.b.Now())
		f.HeartbeatFresh = err != nil || ok && age < ju.b.Conf().HeartbeatStale.D()
		ju.ends.BeatLooked(l.AttemptID(), f.HeartbeatFresh)
	}
	return f
}

// missedBeats is how many heartbeats a wrapper leaves out before it counts as
// gone after the end of its batch job.
const missedBeats = 2

// beating reports whether an attempt's wrapper shows signs of life, told by
// changes: what two clocks say is not compared. The first look cannot know, and
// takes it for alive.
func (ju *Judge) beating(ar *areas.Area, id jjm.AttemptID, now jjm.Time) bool {
	beat, ok, err := ar.Heartbeat(id)
	if err != nil || !ok {
		return err != nil
	}
	return ju.ends.Beats(id, beat, now) < missedBeats*ju.b.Conf().Heartbeat.D()
}

// batchState is the batch system's last word, as far as it is about the batch
// job that the attempt points to.
func batchState(l *jjm.LocalJob, en *endings.Ending) jjm.BatchState {
	switch {
	case en.Report.State.Ended() && (l.BatchID == "" || en.Report.ID == "" || en.Report.ID == l.BatchID):
		return en.Report.State
	case en.Missing || l.BatchID == "":
		return jjm.BatchUnknown
	case l.State == jjm.Running:
		return jjm.BatchRunning
	}
	return jjm.BatchQueued
}

// fetch unpacks the parcel of an attempt that is over in a batch system which
// carries files. One that is damaged counts as none: the batch system's word
// decides then. It reports whether the attempt's result is known now.
func (ju *Judge) fetch(ar *areas.Area, l *jjm.LocalJob, id jjm.AttemptID, en *endings.Ending) (bool, error) {
	if en.Result != nil || !en.Report.State.Ended() || !ju.systems.Carries(l.Tag) {
		return false, nil
	}
	r, err := ar.TakeParcel(l.Tag, l.Pos, id, ju.b.Conf().MaxOutputBytes)
	if err != nil && jjm.KindOf(err) != jjm.Invalid {
		return false, err
	}
	if err != nil {
		var large *sandbox.TooLarge
		if errors.As(err, &large) {
			ju.ends.With(id, func(en *endings.Ending) { en.Spoiled = err.Error() })
			en.Spoiled = err.Error()
		}
		ju.b.Complain(slog.LevelWarn, "parcel/"+id.LocalID.String(), "what a job brought back is not usable", "local",
			id.LocalID, "tag", l.Tag, "error", err)
	}
	if r == nil {
		return false, nil
	}
	ju.ends.Result(r, jjm.At(ju.b.Now()))
	return true, nil
}
