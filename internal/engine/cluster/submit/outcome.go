package submit

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse"
	"jjm/internal/policy/plan"
	"jjm/internal/sys/run"
)

// outcome stores the outcome of a submission command and acts on it. Only if the answer is certain does it act at once;
// it leaves a bulk in doubt to the settler (plan.Reconcile). The outcome depends on the kind of err:
//
//	no error          accepted
//	Invalid, Denied   refused: the batch system does not have the bulk and will never accept it
//	Busy, too many    not submitted, because the account has too many jobs; the members form smaller bulks
//	Busy, otherwise   not submitted; the bulk is submitted again, here or to another cluster
//	any other kind    in doubt: it is unknown whether the batch system has the bulk
func (sb *Submitter) outcome(ctx context.Context, tag jjm.Tag, receipt adapters.Receipt, err error) error {
	if !run.IsRunnerError(err) {
		sb.parts.Failing.Note(err, jjm.At(sb.b.Now()))
	}
	sb.settler.heard(tag, err)
	switch kind := jjm.KindOf(err); {
	case err == nil:
		return sb.accepted(ctx, tag, receipt.ID)
	case kind == jjm.Invalid || kind == jjm.Denied:
		return sb.refused(ctx, tag, err.Error())
	case adapters.IsTooMany(err):
		return sb.tooMany(ctx, tag, err)
	case kind == jjm.Busy:
		sb.b.Complain(slog.LevelWarn, "busy/"+sb.name, "batch system is busy, the bulk waits", "cluster", sb.name, "tag", tag,
			"error", err)
		sb.here.SaidBusy(tag)
		sb.settler.later(tag, 5*time.Second)
		return sb.tried(ctx, tag, err)
	default:
		sb.b.Log.Warn("submission is in doubt", "cluster", sb.name, "tag", tag, "error", err)
		sb.settler.later(tag, sb.sys.Caps().Settle)
		return sb.doubt(ctx, tag, err)
	}
}

// accepted stores the batch system's id of a bulk. If the cluster submits in two phases, in which the batch system
// first holds the bulk, accepted then releases the bulk.
func (sb *Submitter) accepted(ctx context.Context, tag jjm.Tag, id string) error {
	err := sb.s.Change(ctx, "acknowledge", func(ch *state.Change) error {
		b := ch.Bulk(tag)
		if b == nil {
			return nil
		}
		b.ID, b.Settled, b.Error = id, ch.Now, ""
		b.Tries++
		b.State = jjm.BulkAccepted
		if !sb.sys.Caps().TwoPhase {
			b.State = jjm.BulkReleased
		}
		for _, m := range b.Members {
			if ch.Live.Current(m) == nil {
				continue
			}
			l := ch.Local(m.LocalID)
			l.Submitted = ch.Now
			if l.BatchID != "" && id != "" && !state.PartOf(l.BatchID, id) {
				l.BatchID = "" // a listing showed a duplicate first; now l has the job of this bulk
			}
			if l.State == jjm.Submitting {
				ch.Move(l, jjm.Submitted, jjm.Queued, sb.name+" "+id)
			}
		}
		return nil
	})
	sb.settler.settled(tag)
	sb.here.Took(tag)
	defer sb.parts.Look()
	if err != nil || !sb.sys.Caps().TwoPhase {
		return err
	}
	return sb.release(ctx, tag)
}

// release releases the jobs of a held bulk whose batch id is stored. If that fails, release logs the error and returns
// nil, and the settler calls it again later.
func (sb *Submitter) release(ctx context.Context, tag jjm.Tag) error {
	b, _, err := sb.openBulk(tag)
	if b == nil || err != nil {
		return err
	}
	refs := make([]adapters.Ref, len(b.Members))
	for i := range refs {
		refs[i] = adapters.Ref{Tag: tag, ID: b.ID, Index: int32(i)}
	}
	cmd, cancel := sb.sys.Command(ctx, sb.sys.Account(b.Owner))
	defer cancel()
	results, err := sb.sys.Adapter.Control(cmd, sb.sys.Account(b.Owner), adapters.Release, refs)
	if err == nil {
		late := jjm.At(sb.b.Now()).Sub(b.Settled) < sb.sys.Caps().Settle
		err = unreleased(results, late)
	}
	sb.setReleased(tag)
	if err != nil {
		sb.b.Complain(slog.LevelWarn, "release/"+string(tag), "release of a held bulk failed, will try again", "cluster",
			sb.name, "tag", tag, "error", err)
		sb.settler.later(tag, 5*time.Second)
		return nil
	}
	return sb.s.Change(ctx, "release", func(ch *state.Change) error {
		if b := ch.Bulk(tag); b != nil {
			b.State = jjm.BulkReleased
		}
		return nil
	})
}

// setReleased notes in memory that the release of a held bulk was tried now.
func (sb *Submitter) setReleased(tag jjm.Tag) {
	now := jjm.At(sb.b.Now())
	sb.s.Adjust(func(a *state.Memo) { a.SetReleased(tag, now) })
}

// unreleased returns the errors in the results of a release because of which the release must be tried again; nil if
// there are none. A job that is gone needs no other try: it already ran or was lost, and its absence from listings will
// show that. Shortly after the submission, when late is true, another try is needed even then, because some batch
// systems show a bulk late.
func unreleased(results []error, late bool) error {
	return errors.Join(slices.DeleteFunc(slices.Clone(results), func(err error) bool {
		return err == nil || !late && jjm.KindOf(err) == jjm.Gone
	})...)
}

// refused takes back a bulk that the batch system will never accept. plan.AfterRefusal decides what becomes of each
// member (decision R19). If a member stops the submissions of its grid job, that is stored in the same change.
func (sb *Submitter) refused(ctx context.Context, tag jjm.Tag, why string) error {
	return sb.s.Change(ctx, "refuse", func(ch *state.Change) error {
		b := ch.Bulk(tag)
		if b == nil {
			return nil
		}
		ch.Refused = map[jjm.GridID]map[state.Spot]string{}
		text := "refused by " + sb.name + ": " + why
		var failed error
		takeBack(ch, b, text, func(l *jjm.LocalJob, g *state.Grid) plan.RefusedDo {
			do, err := afterRefusal(ch, l, g, sb)
			failed = errors.Join(failed, err)
			switch do {
			case plan.RefusedTriesAgain:
				if ch.Refused[g.Job.ID] == nil {
					ch.Refused[g.Job.ID] = map[state.Spot]string{}
				}
				ch.Refused[g.Job.ID][state.Spot{Place: l.Place, Cluster: sb.name}] = why
			case plan.RefusedStopsAll:
				stop(ch, l, text)
			}
			return do
		})
		b.Error = why
		return failed
	})
}

// afterRefusal decides what becomes of one member of a bulk that the cluster of sb refused.
func afterRefusal(ch *state.Change, l *jjm.LocalJob, g *state.Grid, sb *Submitter) (plan.RefusedDo, error) {
	spec := &g.Job.Spec
	facts := plan.RefusedFacts{
		Elsewhere: slices.ContainsFunc(ch.Live.Candidates(g, l.Place), func(name string) bool { return name != sb.name }),
		OneByOne:  sb.sys.Caps().MaxBulk <= 1,
		Shares:    spec.Merge != nil || len(spec.Datasets) > 0,
		KeepGoing: spec.KeepGoing,
	}
	var err error
	if facts.OneByOne && l.Attempt > 0 {
		facts.Taken, err = ch.Tx.WasTaken(l.AttemptID())
	}
	return plan.AfterRefusal(facts), err
}

// stop stores that the refusal of a local job stops the submissions of its grid job. It does nothing if they are
// already stopped.
func stop(ch *state.Change, l *jjm.LocalJob, text string) {
	g := ch.Grid(l.ID.Grid)
	if g == nil || g.Stopped != "" {
		return
	}
	g.Stopped = "submission stopped at local job " + l.ID.String() + ", " + text
	ch.Note(g.ID, "", "submission stopped", g.Stopped, "")
}

// triesAgain is the decision for the members of a bulk that the batch system did not refuse: each gets another attempt.
func triesAgain(*jjm.LocalJob, *state.Grid) plan.RefusedDo { return plan.RefusedTriesAgain }

// takeBack ends the attempts of a bulk that the batch system certainly does not have, and marks the bulk as refused.
// Members that are to be killed are killed. For every other member, decide determines whether it gets another attempt,
// stays new without being submitted, or fails. text is the reason, for people.
func takeBack(ch *state.Change, b *jjm.Bulk, text string, decide func(*jjm.LocalJob, *state.Grid) plan.RefusedDo) {
	for _, m := range b.Members {
		if ch.Live.Current(m) == nil {
			continue
		}
		l := ch.Local(m.LocalID)
		l.Message = text
		v := jjm.Verdict{Level: analyse.LevelSubmit, Action: jjm.Retry, Text: text, RetryArgs: l.RetryArgs,
			Counters: l.Counters}
		if l.Kill {
			v.Action, v.Phase = jjm.Cancel, jjm.ByPerson
			l.Ended = ch.Now
			ch.End(l, jjm.Evidence{}, v)
			ch.Move(l, jjm.Killed, jjm.ByPerson, "never submitted")
			continue
		}
		switch decide(l, ch.Live.Grid(m.Grid)) {
		case plan.RefusedTriesAgain:
			ch.End(l, jjm.Evidence{}, v)
			l.Attempt, l.NotBefore = l.Attempt+1, ch.Now
			to, phase := plan.NextAttempt(l.Holding)
			l.Holding = plan.HoldAfter(l.Holding, to, phase, text, ch.Now)
			ch.Move(l, to, phase, text)
		case plan.RefusedStaysNew, plan.RefusedStopsAll:
			v.Action, v.Phase = jjm.Fail, jjm.Unsubmitted
			l.Ended = ch.Now
			ch.End(l, jjm.Evidence{}, v)
			ch.Move(l, jjm.New, jjm.Unsubmitted, text)
		default:
			v.Action, v.Phase = jjm.Fail, jjm.CreateFailed
			l.Ended = ch.Now
			ch.End(l, jjm.Evidence{}, v)
			ch.Move(l, jjm.Failed, jjm.CreateFailed, text)
		}
	}
	b.State = jjm.BulkRefused
}

// takeBackKilled takes back a bulk that was not submitted because some of its members are to be killed. These members
// are killed, and the other members get another attempt.
func (sb *Submitter) takeBackKilled(ctx context.Context, tag jjm.Tag) error {
	return sb.s.Change(ctx, "submit-again", func(ch *state.Change) error {
		if b := ch.Bulk(tag); b != nil {
			b.Error = system.ErrKilled.Error()
			takeBack(ch, b, "not submitted: "+b.Error, triesAgain)
		}
		return nil
	})
}

// tried counts a submission that certainly failed, so that the batch system does not have the bulk. If other clusters
// may take all members of the bulk now (movable), tried takes the bulk back so that the members go there. Otherwise the
// bulk is submitted here again later.
func (sb *Submitter) tried(ctx context.Context, tag jjm.Tag, cause error) error {
	return sb.s.Change(ctx, "submit-again", func(ch *state.Change) error {
		b := ch.Bulk(tag)
		if b == nil {
			return nil
		}
		b.Tries++
		b.Error = cause.Error()
		if sb.movable(ch.Live, b, ch.Now) {
			takeBack(ch, b, "not taken by "+sb.name+", goes elsewhere: "+cause.Error(), triesAgain)
		}
		return nil
	})
}

// moveOn takes back a bulk that must not be submitted here now, so that its members go to other clusters. It does
// nothing unless all members may go to another cluster. The batch system must certainly not have the bulk.
func (sb *Submitter) moveOn(ctx context.Context, b *jjm.Bulk) error {
	v := sb.s.View()
	movable := sb.movable(v.Memory, b, jjm.At(sb.b.Now()))
	v.Close()
	if !movable {
		return nil
	}
	return sb.tried(ctx, b.Tag, jjm.Errorf(jjm.Busy, "cluster %s is paused, or its maintenance is near", sb.name))
}

// movable reports whether all members of a bulk that are not being killed may go to a better cluster now (elsewhere).
// It returns false if all members are being killed.
func (sb *Submitter) movable(mem state.Memory, b *jjm.Bulk, now jjm.Time) bool {
	movable := false
	for _, m := range b.Members {
		l := mem.Current(m)
		if l == nil || l.Kill {
			continue
		}
		if !sb.here.Elsewhere(mem, mem.Grid(m.Grid), l.Place, now) {
			return false
		}
		movable = true
	}
	return movable
}

// doubt counts a try to submit a bulk and marks its members as doubtful, because it is unknown whether the batch system
// has the bulk.
func (sb *Submitter) doubt(ctx context.Context, tag jjm.Tag, cause error) error {
	return sb.s.Change(ctx, "doubt", func(ch *state.Change) error {
		b := ch.Bulk(tag)
		if b == nil {
			return nil
		}
		b.Tries++
		b.Error = cause.Error()
		for _, m := range b.Members {
			if ch.Live.Current(m) == nil {
				continue
			}
			if l := ch.Local(m.LocalID); l.State == jjm.Submitting && l.Phase != jjm.Doubtful {
				ch.Move(l, jjm.Submitting, jjm.Doubtful, cause.Error())
			}
		}
		return nil
	})
}
