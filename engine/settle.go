package engine

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
func (e *Engine) settleEndings(ctx, time context.Context, uid int) (more bool, err error) {
	ids := e.endings.due(uid, jjm.At(e.now()), batchOfVerdicts)
	var ready []judgement
	var trouble error
	var bytes int64
	cut := false
	for _, id := range ids {
		if cut = time.Err() != nil || bytes > batchOfEvidence; cut {
			break
		}
		j, ok, err := e.look(ctx, id)
		switch {
		case errors.Is(err, errCrashed):
			return false, err
		case err != nil: // of this one, or of its owner's area: the others go on
			trouble = fmt.Errorf("attempt %d of local job %s: %w", id.Attempt, id.LocalID, err)
			e.postpone(id, plan.EndStep{After: lookAgain})
		case ok:
			ready = append(ready, j)
			bytes += int64(len(j.evidence.GLF))
			if j.evidence.Result != nil {
				bytes += weight(j.evidence.Result)
			}
		}
	}
	if len(ready) > 0 {
		if err := e.judge(ctx, ready); err != nil {
			return false, err
		}
	}
	return ctx.Err() == nil && (cut || len(ready) > 0 && len(ids) == batchOfVerdicts), trouble
}

// look asks plan.Ending about one attempt and does what it says, until it is
// to be judged or has to wait.
func (e *Engine) look(ctx context.Context, id jjm.AttemptID) (judgement, bool, error) {
	for range 5 { // claim, repoint, ask again: bounded, the next look goes on
		l, owner, ok := e.attemptRow(id)
		if !ok {
			e.endings.forget(id)
			return judgement{}, false, nil
		}
		ar, err := e.areas.of(owner)
		if err != nil {
			return judgement{}, false, err
		}
		en := e.endings.copy(id, jjm.At(e.now()))
		if got, err := e.fetch(ar, &l, id, &en); err != nil || got {
			if err != nil {
				return judgement{}, false, err
			}
			continue
		}
		e.readClaim(ar, &l, id, &en)
		if en.suspect != nil {
			e.settleStranger(&l, owner, id, &en)
		}
		step := plan.Ending(e.endFacts(ar, &l, &en), e.endRules(&l))
		if step.Cancel {
			e.askCancel(&l)
		}
		switch step.Do {
		case plan.Judge:
			if en.result == nil && e.lastLook(ar, &l, id) {
				continue
			}
			en.report = en.judged()
			ownCancel := en.proving && en.report.State == jjm.BatchCancelled
			if ownCancel {
				en.report = jjm.Report{} // nobody else's wish: it was given up as lost
			}
			return judgement{id: id, evidence: e.evidence(ar, id, &en), lost: step.Lost || ownCancel, spoiled: en.spoiled}, true, nil
		case plan.TakeClaim:
			if err := e.takeClaim(ar, &l, id); err != nil {
				return judgement{}, false, err
			}
		case plan.Repoint:
			if err := e.repoint(ctx, id, step); err != nil {
				return judgement{}, false, err
			}
		default:
			e.postpone(id, step)
			return judgement{}, false, nil
		}
	}
	return judgement{}, false, nil
}

// endRules are those of the cluster that has the attempt.
func (e *Engine) endRules(l *jjm.LocalJob) plan.EndRules {
	rules := plan.EndRules{ResultSettle: e.conf().ResultSettle.D(), BatchSettle: e.conf().BatchSettle.D(),
		UnseenSettle: e.conf().AbsentFor.D()}
	if c := e.clusterOf(l.Tag); c != nil {
		rules.BatchSettle = c.batchSettle()
	}
	return rules
}

// clusterOf gives the cluster of an open bulk, or nil.
func (e *Engine) clusterOf(tag jjm.Tag) *cluster {
	e.mem.RLock()
	defer e.mem.RUnlock()
	if b := e.bulks[tag]; b != nil {
		return e.clusters[b.Cluster]
	}
	return nil
}

// lastLook reads the attempt's result itself before it is judged without one:
// the time stamp of the folder may have hidden it, for it is the file server's
// clock. It reports whether there is one.
func (e *Engine) lastLook(ar *area, l *jjm.LocalJob, id jjm.AttemptID) bool {
	r, err := ar.ReadResult(l.Tag, l.Pos)
	if err != nil || r == nil || r.AttemptID() != id {
		return false
	}
	e.endings.result(r, jjm.At(e.now()))
	return true
}

// settleStranger cancels a second batch job of an attempt once a claim decides
// which one runs, unless that is the one: then plan.Ending points the attempt to
// it, and the first becomes the stranger.
func (e *Engine) settleStranger(l *jjm.LocalJob, owner jjm.Owner, id jjm.AttemptID, en *ending) {
	claim := en.claim
	if en.result != nil {
		claim = &en.result.Claim
	}
	if en.suspect.ID == l.BatchID { // the attempt was pointed to it meanwhile
		e.endings.with(id, func(en *ending) { en.suspect = nil })
		return
	}
	if claim == nil {
		return // whichever starts first holds it: to cancel one now could hit that one
	}
	out := adapters.Ref{Tag: l.Tag, ID: en.suspect.ID, Index: -1}
	if claim.Holder == jjm.HolderWrapper && claim.Batch == out.ID {
		out, _, _ = e.refOf(l)
	}
	e.cancelStranger(l, owner, out)
	e.endings.with(id, func(en *ending) { en.suspect = nil })
}

// postpone sets when to look again, at the latest in a cancel's own rhythm.
func (e *Engine) postpone(id jjm.AttemptID, step plan.EndStep) {
	after := step.After
	if after <= 0 {
		after = e.conf().CancelAgain.D()
	}
	now := jjm.At(e.now())
	e.endings.with(id, func(en *ending) { en.due, en.set = now.Add(after), now })
}

// readClaim reads the attempt's claim where it matters and is not known yet.
func (e *Engine) readClaim(ar *area, l *jjm.LocalJob, id jjm.AttemptID, en *ending) {
	if en.result != nil || en.claim != nil {
		return
	}
	claim, err := ar.ReadClaim(l.Tag, l.Pos)
	if err != nil {
		e.complain(slog.LevelWarn, "claim/"+l.ID.String(), "claim cannot be read", "local", l.ID, "tag", l.Tag, "error", err)
		return
	}
	if claim == nil {
		claim = lostClaim(ar, l)
	}
	if claim != nil {
		en.claim, en.claimAt = claim, jjm.At(e.now())
	}
	e.endings.with(id, func(live *ending) { live.claim, live.claimAt = en.claim, en.claimAt })
}

// lostClaim stands in for a claim whose file is gone. A wrapper makes its log
// file only once it holds the claim, so an attempt with a log file was started,
// and to give up on it as never started would run it twice.
func lostClaim(ar *area, l *jjm.LocalJob) *jjm.Claim {
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
func (e *Engine) endFacts(ar *area, l *jjm.LocalJob, en *ending) plan.EndFacts {
	now := jjm.At(e.now())
	f := plan.EndFacts{Kill: l.Kill || l.Holding.GivenUp(), Batch: batchState(l, en), Absence: en.absence}
	if en.result != nil {
		f.HasResult, f.ResultAge = true, now.Sub(en.resultAt)
	}
	if en.ended != 0 {
		f.EndAge = now.Sub(en.ended)
	}
	f.Claim = plan.HolderOf(en.claim, l.BatchID, e.shows(l, en))
	if en.claim != nil {
		f.ClaimBatch, f.ClaimAge = en.claim.Batch, now.Sub(en.claimAt)
	}
	if en.ended != 0 && !f.HasResult {
		f.Beating = e.beating(ar, l.AttemptID(), now)
	}
	if en.missing {
		age, ok, err := ar.HeartbeatAge(l.AttemptID(), e.now())
		f.HeartbeatFresh = err != nil || ok && age < e.conf().HeartbeatStale.D()
		e.endings.beatLooked(l.AttemptID(), f.HeartbeatFresh)
	}
	return f
}

// shows reports whether the batch system knows the batch job that the claim names as
// one of the attempt: its listings show it under the attempt's tag and index, or it
// is of the bulk as acknowledged, and no listing has told the attempt's own id yet.
func (e *Engine) shows(l *jjm.LocalJob, en *ending) bool {
	if en.claim == nil {
		return false
	}
	if _, ok := en.shown(en.claim.Batch); ok {
		return true
	}
	e.mem.RLock()
	defer e.mem.RUnlock()
	b := e.bulks[l.Tag]
	return l.BatchID == "" && b != nil && partOf(en.claim.Batch, b.ID)
}

// missedBeats is how many heartbeats a wrapper leaves out before it counts as
// gone after the end of its batch job.
const missedBeats = 2

// beating reports whether an attempt's wrapper shows signs of life, told by
// changes: what two clocks say is not compared. The first look cannot know, and
// takes it for alive.
func (e *Engine) beating(ar *area, id jjm.AttemptID, now jjm.Time) bool {
	beat, ok, err := ar.Heartbeat(id)
	if err != nil || !ok {
		return err != nil
	}
	return e.endings.beats(id, beat, now) < missedBeats*e.conf().Heartbeat.D()
}

// batchState is the batch system's last word, as far as it is about the batch
// job that the attempt points to.
func batchState(l *jjm.LocalJob, en *ending) jjm.BatchState {
	switch {
	case en.report.State.Ended() && (l.BatchID == "" || en.report.ID == "" || en.report.ID == l.BatchID):
		return en.report.State
	case en.missing || l.BatchID == "":
		return jjm.BatchUnknown
	case l.State == jjm.Running:
		return jjm.BatchRunning
	}
	return jjm.BatchQueued
}

// takeClaim takes the claim for the daemon, so that no wrapper can start the
// attempt any more; a wrapper that was first keeps it.
func (e *Engine) takeClaim(ar *area, l *jjm.LocalJob, id jjm.AttemptID) error {
	host, _ := os.Hostname() // for people only
	nonce := make([]byte, 8)
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	mine := jjm.Claim{Holder: jjm.HolderDaemon, Host: host,
		PID: os.Getpid(), Nonce: hex.EncodeToString(nonce), Time: jjm.At(e.now())}
	holder, _, err := ar.Claim(l.Tag, l.Pos, mine)
	if errors.Is(err, fs.ErrNotExist) && ar.RestoreClaims(l.Tag, id.Grid) == nil {
		e.complain(slog.LevelWarn, "claims/"+string(l.Tag), "somebody removed the folder of a bulk", "tag", l.Tag)
		holder, _, err = ar.Claim(l.Tag, l.Pos, mine)
	}
	if err != nil {
		return err
	}
	e.endings.with(id, func(en *ending) { en.claim, en.claimAt = &holder, jjm.At(e.now()) })
	return e.crash("settle.claimed")
}

// repoint lets the attempt point to the batch job that holds its claim.
func (e *Engine) repoint(ctx context.Context, id jjm.AttemptID, step plan.EndStep) error {
	e.endings.with(id, func(en *ending) {
		if en.report.ID != step.To {
			en.report, en.ended = jjm.Report{}, 0
		}
		en.suspect, en.missing, en.absence = nil, false, plan.AbsentWait
	})
	return e.change(ctx, "repoint", func(c *change) error {
		if e.current(id) == nil {
			return nil
		}
		l := c.local(id.LocalID)
		if l.BatchID != "" {
			c.journal = append(c.journal, jjm.JournalEntry{Time: c.now, Grid: id.Grid, First: id.N, Last: id.N,
				From: l.BatchID, To: step.To, Cause: step.Why, Source: c.name})
		}
		l.BatchID = step.To
		return nil
	})
}

// evidence puts together what an attempt is judged on.
func (e *Engine) evidence(ar *area, id jjm.AttemptID, en *ending) jjm.Evidence {
	ev := jjm.Evidence{Batch: en.report, Result: en.result, Claim: en.claim}
	if ev.Result == nil {
		glf, ok, err := ar.ReadGLF(id)
		if err != nil {
			e.log.Warn("log file of an attempt cannot be read", "local", id.LocalID, "error", err)
		}
		ev.GLF, ev.HasGLF = glf, ok
	} else {
		ev.Claim = &en.result.Claim
	}
	return ev
}

// judge turns evidence into verdicts and stores them, with all that follows.
func (e *Engine) judge(ctx context.Context, ready []judgement) error {
	err := e.change(ctx, "verdict", func(c *change) error {
		for _, j := range ready {
			if e.current(j.id) != nil {
				e.decide(c, j)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, j := range ready {
		e.endings.forget(j.id)
	}
	return nil
}

// decide applies one verdict to its local job.
func (e *Engine) decide(c *change, j judgement) {
	l := c.local(j.id.LocalID)
	spec := &e.grids[j.id.Grid].job.Spec
	result := spec.Result
	if l.Step == jjm.StepMerge {
		result = jjm.ResultExit
	}
	out := plan.Local(plan.LocalInput{
		Job: *l, Evidence: j.evidence, Result: result, Retry: spec.Retry, Site: e.conf().Retry,
		Kill: l.Kill, GiveUp: l.Holding, Lost: j.lost, Backoff: e.conf().Backoff.D(), Now: c.now,
	})
	if !out.Over {
		e.complain(slog.LevelWarn, "end/"+l.ID.String(), "evidence shows no end yet", "local", l.ID, "why", out.Verdict.Text)
		return
	}
	if out.State == jjm.Completed {
		if why := lacksOutput(spec, l, j.evidence.Result); why != "" {
			out.State, out.Phase = jjm.Failed, jjm.ByApp
			out.Verdict.Action, out.Verdict.Phase, out.Verdict.Text = jjm.Fail, jjm.ByApp, why
		} else if awaitsMerge(spec, l, j.evidence.Result) {
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
	c.end(l, j.evidence, out.Verdict)
	l.Counters, l.RetryArgs, l.Message = out.Verdict.Counters, out.Verdict.RetryArgs, out.Verdict.Text
	l.Started, l.Ended, l.Host, l.Exit = out.Started, out.Ended, out.Host, out.Exit
	l.Attempt, l.NotBefore = out.Attempt, out.NotBefore
	if r != nil && l.BatchID == "" { // of what nobody else knows the job's word is taken
		l.BatchID = r.Claim.Batch
	}
	l.Holding = plan.HoldAfter(l.Holding, out.State, out.Phase, out.Verdict.Text, c.now)
	c.move(l, out.State, out.Phase, out.Verdict.Text)
}

// askCancel hands an attempt to its cluster's control loop.
func (e *Engine) askCancel(l *jjm.LocalJob) {
	e.mem.RLock()
	b := e.bulks[l.Tag]
	var c *cluster
	if b != nil {
		c = e.clusters[b.Cluster]
	}
	e.mem.RUnlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	if _, known := c.cancels[l.AttemptID()]; !known {
		c.cancels[l.AttemptID()] = c.e.now().Add(-c.e.conf().CancelAgain.D())
	}
	c.mu.Unlock()
	kick(c.controlKick)
}

// refOf names the batch job of an attempt; ok is false while its id is not
// known.
func (e *Engine) refOf(l *jjm.LocalJob) (adapters.Ref, jjm.Owner, bool) {
	e.mem.RLock()
	defer e.mem.RUnlock()
	b := e.bulks[l.Tag]
	if b == nil {
		return adapters.Ref{}, jjm.Owner{}, false
	}
	if l.BatchID != "" && !partOf(l.BatchID, b.ID) { // pointed to a double, or the bulk's own id was never learnt
		return adapters.Ref{Tag: l.Tag, ID: l.BatchID, Index: -1}, b.Owner, true
	}
	return adapters.Ref{Tag: l.Tag, ID: b.ID, Index: l.Pos}, b.Owner, b.ID != ""
}
