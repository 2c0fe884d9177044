package verdict

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/endings"
	"jjm/engine/outputs"
	"jjm/engine/state"
	"jjm/plan"
	"jjm/sandbox"
)

// batchOfVerdicts is how many attempts are judged in one transaction.
const batchOfVerdicts = 2000

// lookAgain is when to look again at an attempt whose files make trouble.
const lookAgain = 5 * time.Second

// judgement is an attempt whose evidence is complete.
type judgement struct {
	id       jjm.AttemptID
	evidence jjm.Evidence
	lost     bool
	spoiled  string // why what it brought back will never be usable
}

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
			en.Report = en.Judged()
			ownCancel := en.Proving && en.Report.State == jjm.BatchCancelled
			if ownCancel {
				en.Report = jjm.Report{} // nobody else's wish: it was given up as lost
			}
			return judgement{id: id, evidence: ju.evidence(ar, id, &en), lost: step.Lost || ownCancel, spoiled: en.Spoiled}, true, nil
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

// settleDuplicate cancels a second batch job of an attempt once a claim decides
// which one runs, unless that is the one: then plan.Ending points the attempt to
// it, and the first becomes the duplicate.
func (ju *Judge) settleDuplicate(l *jjm.LocalJob, owner jjm.Owner, id jjm.AttemptID, en *endings.Ending) {
	claim := en.Claim
	if en.Result != nil {
		claim = &en.Result.Claim
	}
	if en.Suspect.ID == l.BatchID { // the attempt was pointed to it meanwhile
		ju.ends.With(id, func(en *endings.Ending) { en.Suspect = nil })
		return
	}
	if claim == nil {
		return // whichever starts first holds it: to cancel one now could hit that one
	}
	out := adapters.Ref{Tag: l.Tag, ID: en.Suspect.ID, Index: -1}
	if claim.Holder == jjm.HolderWrapper && claim.Batch == out.ID {
		out, _, _ = ju.systems.RefOf(l)
	}
	ju.systems.CancelDuplicate(l, owner, out)
	ju.ends.With(id, func(en *endings.Ending) { en.Suspect = nil })
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

// readClaim reads the attempt's claim where it matters and is not known yet.
func (ju *Judge) readClaim(ar *areas.Area, l *jjm.LocalJob, id jjm.AttemptID, en *endings.Ending) {
	if en.Result != nil || en.Claim != nil {
		return
	}
	claim, err := ar.ReadClaim(l.Tag, l.Pos)
	if err != nil {
		ju.b.Complain(slog.LevelWarn, "claim/"+l.ID.String(), "claim cannot be read", "local", l.ID, "tag", l.Tag, "error", err)
		return
	}
	if claim == nil {
		claim = lostClaim(ar, l)
	}
	if claim != nil {
		en.Claim, en.ClaimAt = claim, jjm.At(ju.b.Now())
	}
	ju.ends.With(id, func(live *endings.Ending) { live.Claim, live.ClaimAt = en.Claim, en.ClaimAt })
}

// lostClaim stands in for a claim whose file is gone. A wrapper makes its log
// file only once it holds the claim, so an attempt with a log file was started,
// and to give up on it as never started would run it twice.
func lostClaim(ar *areas.Area, l *jjm.LocalJob) *jjm.Claim {
	f, err := ar.OpenJobFile(l.AttemptID(), sandbox.GLF)
	if err != nil {
		return nil
	}
	_ = f.Close()
	if claim, err := ar.ReadClaim(l.Tag, l.Pos); err == nil && claim != nil {
		return claim // it was made between the first look and this one
	}
	return &jjm.Claim{Holder: jjm.HolderWrapper}
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

// shows reports whether the batch system knows the batch job that the claim names as
// one of the attempt: its listings show it under the attempt's tag and index, or it
// is of the bulk as acknowledged, and no listing has told the attempt's own id yet.
func (ju *Judge) shows(l *jjm.LocalJob, en *endings.Ending) bool {
	if en.Claim == nil {
		return false
	}
	if _, ok := en.Shown(en.Claim.Batch); ok {
		return true
	}
	v := ju.s.View()
	defer v.Close()
	b := v.Bulk(l.Tag)
	return l.BatchID == "" && b != nil && state.PartOf(en.Claim.Batch, b.ID)
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

// takeClaim takes the claim for the daemon, so that no wrapper can start the
// attempt any more; a wrapper that was first keeps it.
func (ju *Judge) takeClaim(ar *areas.Area, l *jjm.LocalJob, id jjm.AttemptID) error {
	host, _ := os.Hostname() // for people only
	nonce := make([]byte, 8)
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	mine := jjm.Claim{Holder: jjm.HolderDaemon, Host: host,
		PID: os.Getpid(), Nonce: hex.EncodeToString(nonce), Time: jjm.At(ju.b.Now())}
	holder, _, err := ar.Claim(l.Tag, l.Pos, mine)
	if errors.Is(err, fs.ErrNotExist) && ar.RestoreClaims(l.Tag, id.Grid) == nil {
		ju.b.Complain(slog.LevelWarn, "claims/"+string(l.Tag), "somebody removed the folder of a bulk", "tag", l.Tag)
		holder, _, err = ar.Claim(l.Tag, l.Pos, mine)
	}
	if err != nil {
		return err
	}
	ju.ends.With(id, func(en *endings.Ending) { en.Claim, en.ClaimAt = &holder, jjm.At(ju.b.Now()) })
	return ju.b.Crash("settle.claimed")
}

// repoint lets the attempt point to the batch job that holds its claim.
func (ju *Judge) repoint(ctx context.Context, id jjm.AttemptID, step plan.EndStep) error {
	ju.ends.With(id, func(en *endings.Ending) {
		if en.Report.ID != step.To {
			en.Report, en.Ended = jjm.Report{}, 0
		}
		en.Suspect, en.Missing, en.Absence = nil, false, plan.AbsentWait
	})
	return ju.s.Change(ctx, "repoint", func(c *state.Change) error {
		if c.Live.Current(id) == nil {
			return nil
		}
		l := c.Local(id.LocalID)
		if l.BatchID != "" {
			c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: id.Grid, First: id.N, Last: id.N,
				From: l.BatchID, To: step.To, Cause: step.Why, Source: c.Name})
		}
		l.BatchID = step.To
		return nil
	})
}

// evidence puts together what an attempt is judged on.
func (ju *Judge) evidence(ar *areas.Area, id jjm.AttemptID, en *endings.Ending) jjm.Evidence {
	ev := jjm.Evidence{Batch: en.Report, Result: en.Result, Claim: en.Claim}
	if ev.Result == nil {
		glf, ok, err := ar.ReadGLF(id)
		if err != nil {
			ju.b.Log.Warn("log file of an attempt cannot be read", "local", id.LocalID, "error", err)
		}
		ev.GLF, ev.HasGLF = glf, ok
	} else {
		ev.Claim = &en.Result.Claim
	}
	return ev
}

// judge turns evidence into verdicts and stores them, with all that follows.
func (ju *Judge) judge(ctx context.Context, ready []judgement) error {
	err := ju.s.Change(ctx, "verdict", func(c *state.Change) error {
		for _, j := range ready {
			if c.Live.Current(j.id) != nil {
				ju.decide(c, j)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, j := range ready {
		ju.ends.Forget(j.id)
	}
	return nil
}

// decide applies one verdict to its local job.
func (ju *Judge) decide(c *state.Change, j judgement) {
	l := c.Local(j.id.LocalID)
	spec := &c.Live.Grid(j.id.Grid).Job.Spec
	result := spec.Result
	if l.Step == jjm.StepMerge {
		result = jjm.ResultExit
	}
	out := plan.Local(plan.LocalInput{
		Job: *l, Evidence: j.evidence, Result: result, Retry: spec.Retry, Site: ju.b.Conf().Retry,
		Kill: l.Kill, GiveUp: l.Holding, Lost: j.lost, Backoff: ju.b.Conf().Backoff.D(), Now: c.Now,
	})
	if !out.Over {
		ju.b.Complain(slog.LevelWarn, "end/"+l.ID.String(), "evidence shows no end yet", "local", l.ID, "why", out.Verdict.Text)
		return
	}
	if out.State == jjm.Completed {
		if why := outputs.LacksOutput(spec, l, j.evidence.Result); why != "" {
			out.State, out.Phase = jjm.Failed, jjm.ByApp
			out.Verdict.Action, out.Verdict.Phase, out.Verdict.Text = jjm.Fail, jjm.ByApp, why
		} else if outputs.AwaitsMerge(spec, l, j.evidence.Result) {
			out.State, out.Phase = jjm.Completing, jjm.Merging
		}
	}
	if j.spoiled != "" && out.State != jjm.Killed { // another attempt would bring back the same
		out.State, out.Phase, out.Attempt, out.NotBefore = jjm.Failed, jjm.ByApp, l.Attempt, 0
		out.Verdict.Action, out.Verdict.Phase, out.Verdict.Text = jjm.Fail, jjm.ByApp, "what it brought back: "+j.spoiled
	}
	if j.evidence.Batch.ID == "" { // the accounting needs one, and not the job's word
		j.evidence.Batch.ID = l.BatchID
	}
	r := j.evidence.Result
	if b := j.evidence.Batch.ID; l.BatchID == "" || r != nil && r.Claim.Batch == b { // both say so
		l.BatchID = b
	}
	c.End(l, j.evidence, out.Verdict)
	l.Counters, l.RetryArgs, l.Message = out.Verdict.Counters, out.Verdict.RetryArgs, out.Verdict.Text
	l.Started, l.Ended, l.Host, l.Exit = out.Started, out.Ended, out.Host, out.Exit
	l.Attempt, l.NotBefore = out.Attempt, out.NotBefore
	if r != nil && l.BatchID == "" { // of what nobody else knows the job's word is taken
		l.BatchID = r.Claim.Batch
	}
	l.Holding = plan.HoldAfter(l.Holding, out.State, out.Phase, out.Verdict.Text, c.Now)
	c.Move(l, out.State, out.Phase, out.Verdict.Text)
}

// WakeEndings has the attempts looked at that a change wishes ended.
func (ju *Judge) WakeEndings(c *state.Change) {
	for _, id := range c.Kills {
		ju.ends.Kill(id)
	}
	if len(c.Kills) > 0 {
		ju.ends.Wake()
	}
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
		ju.b.Complain(slog.LevelWarn, "parcel/"+id.LocalID.String(), "what a job brought back is not usable", "local", id.LocalID, "tag", l.Tag, "error", err)
	}
	if r == nil {
		return false, nil
	}
	ju.ends.Result(r, jjm.At(ju.b.Now()))
	return true, nil
}

// ResumeKills takes up the kills whose local jobs are not over yet, and the
// attempts that were given up for a hold: no report need ever come of an attempt
// that goes on.
func (ju *Judge) ResumeKills() {
	v := ju.s.View()
	defer v.Close()
	for _, g := range v.Grids() {
		for i := range g.Locals {
			if l := &g.Locals[i]; (l.Kill || l.Holding.GivenUp()) && v.Current(l.AttemptID()) != nil {
				ju.ends.Kill(l.AttemptID())
			}
		}
	}
}
