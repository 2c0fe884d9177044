package verdict

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/sandbox"
)

// batchOfVerdicts is the greatest number of attempts that are judged in one transaction.
const batchOfVerdicts = 2000

// lookAgain is the time after which an attempt that could not be examined is examined again.
const lookAgain = 5 * time.Second

// batchOfEvidence limits the evidence collected for one transaction, in bytes of memory.
const batchOfEvidence = 16 << 20

// settleEndings examines the due attempts of an account until the context time ends. It judges the attempts whose
// evidence is complete, many in one transaction. If an attempt cannot be examined, or the store refuses its verdict, it
// is postponed; the returned error is about the last such attempt. more is true if settleEndings stopped at a limit.
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
		case err != nil: // continue with the other attempts
			trouble = fmt.Errorf("attempt %d of local job %s: %w", id.Attempt, id.LocalID, err)
			ju.troubled(id, fmt.Errorf("how it ended cannot be found out: %w", err))
		case ok:
			ready = append(ready, j)
			bytes += int64(len(j.evidence.GLF))
			if j.evidence.Result != nil {
				bytes += endings.Weight(j.evidence.Result)
			}
		}
	}
	if len(ready) > 0 {
		st := storing{put: ju.judge, refuse: ju.refuse, tries: triesOfRows, shuffle: rand.Shuffle}
		if err := st.each(ctx, ready); err != nil {
			if !ofRows(err) {
				return false, err
			}
			trouble = err
		}
	}
	return ctx.Err() == nil && (cut || len(ready) > 0 && len(ids) == batchOfVerdicts), trouble
}

// look asks plan.Ending for the next step of one attempt and carries out the step. It repeats this until the attempt
// can be judged (ok is true) or has to wait.
func (ju *Judge) look(ctx context.Context, id jjm.AttemptID) (j judgement, ok bool, err error) {
	for range 5 { // steps before a verdict: parcel, claim, repoint; if more are needed, the next look continues
		l, owner, ok := ju.s.AttemptRow(id)
		if !ok {
			ju.ends.Forget(id)
			return judgement{}, false, nil
		}
		en := ju.ends.Copy(id, jjm.At(ju.b.Now()))
		switch withdrawn, marked := withdrawn(&l, &en, ju.s.JobOf(id.Grid).Kill); {
		case withdrawn && marked:
			return judgement{id: id, evidence: jjm.Evidence{Batch: en.Report}, progress: l.Progress}, true, nil
		case withdrawn: // the mark to kill this local job makes the attempt due
			ju.postpone(id, plan.EndStep{After: lookAgain})
			return judgement{}, false, nil
		}
		ar, err := ju.areas.Of(owner)
		if err != nil {
			return judgement{}, false, err
		}
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
			gone, err := ju.gone(ctx, ar, &l, &en)
			if err != nil {
				return judgement{}, false, err
			}
			said := ju.recordAll(ctx, ar, &l, id, &en)
			ju.recordLast(ctx, ar, &l, id, &en)
			en.Report = en.Judged()
			ownCancel := en.Proving && en.Report.State == jjm.BatchCancelled
			if ownCancel {
				en.Report = jjm.Report{} // jjm cancelled the job to prove its absence: it is lost, not cancelled
			}
			return judgement{id: id, evidence: ju.evidence(ar, id, &en), opinion: ju.types.opinion(&l, &en),
				progress: said, lost: step.Lost || ownCancel, spoiled: en.Spoiled, gone: gone}, true, nil
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

// withdrawn reports whether the batch system proves that it ended a killed attempt while the attempt waited. Such an
// attempt left nothing in the work area, so the caller need not look there. The parameter killed is true if the grid
// job is being killed. The result marked is true if the local job itself is to be killed, or was given up because of a
// hold.
func withdrawn(l *jjm.LocalJob, en *endings.Ending, killed bool) (withdrawn, marked bool) {
	other := l.BatchID != "" && en.Report.ID != l.BatchID
	if !en.NeverRan || en.Result != nil || en.Suspect != nil || en.Proving || other {
		return false, false
	}
	marked = l.Kill || l.Holding.GivenUp()
	f := plan.EndFacts{Kill: marked || killed, Batch: en.Report.State, NeverRan: true}
	return plan.Ending(f, plan.EndRules{}).Do == plan.Judge, marked
}

// endRules returns the rules by which plan.Ending decides about an attempt: the waiting times that the site or the
// attempt's cluster configures, and the walltime of the attempt's bulk.
func (ju *Judge) endRules(l *jjm.LocalJob) plan.EndRules {
	rules := plan.EndRules{ResultSettle: ju.b.Conf().ResultSettle.D(), BatchSettle: ju.b.Conf().BatchSettle.D(),
		UnseenSettle: ju.b.Conf().AbsentFor.D()}
	if own, open := ju.systems.Settle(l.Tag); open {
		rules.BatchSettle = own
	}
	v := ju.s.View()
	defer v.Close()
	if b := v.Bulk(l.Tag); b != nil {
		rules.Walltime = b.Request.Walltime.D()
	}
	return rules
}

// lastLook reads the attempt's result file before the attempt is judged without a result,
// and reports whether there is a result. readResults may have missed the file, because it
// relies on time stamps of the file server's clock.
func (ju *Judge) lastLook(ar *areas.Area, l *jjm.LocalJob, id jjm.AttemptID) bool {
	r, err := ar.ReadResult(l.Tag, l.Pos)
	if err != nil || r == nil || r.AttemptID() != id {
		return false
	}
	ju.ends.Result(r, jjm.At(ju.b.Now()))
	return true
}

// endFacts returns the input of plan.Ending. If an attempt is missing from listings, it looks at the wrapper's
// heartbeat; a heartbeat that cannot be read counts as fresh.
func (ju *Judge) endFacts(ar *areas.Area, l *jjm.LocalJob, en *endings.Ending) plan.EndFacts {
	now := jjm.At(ju.b.Now())
	f := plan.EndFacts{Kill: l.Kill || l.Holding.GivenUp() && !l.Holding.TakesBack(),
		Hold:  l.Holding.TakesBack() && l.State != jjm.Running, // without a shared file system no claim shows a start
		Batch: batchState(l, en), Absence: en.Absence}
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

// missedBeats is the number of heartbeats that a wrapper must miss after the end of its batch job before the wrapper
// counts as gone.
const missedBeats = 2

// beating reports whether an attempt's wrapper still runs: whether its heartbeat changed within missedBeats intervals.
// It does not compare the times of two clocks. It returns true at the first look, which has no earlier heartbeat to
// compare, and after an error. It returns false if there is no heartbeat file.
func (ju *Judge) beating(ar *areas.Area, id jjm.AttemptID, now jjm.Time) bool {
	beat, ok, err := ar.Heartbeat(id)
	if err != nil || !ok {
		return err != nil
	}
	return ju.ends.Beats(id, beat, now) < missedBeats*ju.b.Conf().Heartbeat.D()
}

// batchState returns the state of the batch job to which the attempt points: the ended state that the batch system
// reported, BatchUnknown if listings miss the attempt or it has no batch id, else BatchRunning or BatchQueued.
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

// fetch unpacks the parcel of an ended attempt - the archive of results that a batch system brings back if its workers
// do not see the work area - and reports whether it has read the attempt's result. A damaged parcel counts as no
// parcel; then the batch system's report decides. A parcel that is too large spoils the result permanently.
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
		ju.b.Complain(slog.LevelWarn, "parcel/"+id.LocalID.String(), "the parcel of a job is not usable", "local",
			id.LocalID, "tag", l.Tag, "error", err)
	}
	if r == nil {
		return false, nil
	}
	ju.ends.Result(r, jjm.At(ju.b.Now()))
	return true, nil
}
