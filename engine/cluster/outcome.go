package cluster

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/engine/state"
)

// outcome stores what a submission came to. Only an answer that is certain is
// acted on: doubt is left to plan.Reconcile.
func (sb *submitter) outcome(ctx context.Context, tag jjm.Tag, receipt adapters.Receipt, err error) error {
	switch kind := jjm.KindOf(err); {
	case err == nil:
		return sb.accepted(ctx, tag, receipt.ID)
	case kind == jjm.Invalid || kind == jjm.Denied:
		return sb.refused(ctx, tag, err.Error())
	case kind == jjm.Busy:
		sb.b.Complain(slog.LevelWarn, "busy/"+sb.name, "batch system is busy, bulk waits", "cluster", sb.name, "tag", tag,
			"error", err)
		sb.c.saidBusy(tag)
		sb.c.settler.later(tag, 5*time.Second)
		return sb.tried(ctx, tag, err)
	default:
		sb.b.Log.Warn("submission is in doubt", "cluster", sb.name, "tag", tag, "error", err)
		sb.c.settler.later(tag, sb.c.caps().Settle)
		return sb.doubt(ctx, tag, err)
	}
}

// accepted stores the batch system's id; two-phase bulks are then released.
func (sb *submitter) accepted(ctx context.Context, tag jjm.Tag, id string) error {
	err := sb.s.Change(ctx, "acknowledge", func(ch *state.Change) error {
		b := ch.Bulk(tag)
		if b == nil {
			return nil
		}
		b.ID, b.Settled, b.Error = id, ch.Now, ""
		b.Tries++
		b.State = jjm.BulkAccepted
		if !sb.c.caps().TwoPhase {
			b.State = jjm.BulkReleased
		}
		for _, m := range b.Members {
			if ch.Live.Current(m) == nil {
				continue
			}
			l := ch.Local(m.LocalID)
			l.Submitted = ch.Now
			if l.BatchID != "" && id != "" && !state.PartOf(l.BatchID, id) {
				l.BatchID = "" // a double was listed first: this one will be released
			}
			if l.State == jjm.Submitting {
				ch.Move(l, jjm.Submitted, jjm.Queued, sb.name+" "+id)
			}
		}
		return nil
	})
	sb.c.settler.settled(tag)
	sb.c.notBusy(sb.c.accountOf(tag))
	defer sb.c.watcher.wakeWatch()
	if err != nil || !sb.c.caps().TwoPhase {
		return err
	}
	return sb.release(ctx, tag)
}

// release lets the jobs of a held bulk run, now that their ids are stored.
func (sb *submitter) release(ctx context.Context, tag jjm.Tag) error {
	b, _, err := sb.openBulk(tag)
	if b == nil || err != nil {
		return err
	}
	refs := make([]adapters.Ref, len(b.Members))
	for i := range refs {
		refs[i] = adapters.Ref{Tag: tag, ID: b.ID, Index: int32(i)}
	}
	cmd, cancel := sb.c.command(ctx, sb.c.account(b.Owner))
	defer cancel()
	results, err := sb.c.adapter.Control(cmd, sb.c.account(b.Owner), adapters.Release, refs)
	if err == nil {
		err = sb.unreleased(b, results)
	}
	sb.setReleased(tag)
	if err != nil {
		sb.b.Complain(slog.LevelWarn, "release/"+string(tag), "release of a held bulk, trying again", "cluster", sb.name,
			"tag", tag, "error", err)
		sb.c.settler.later(tag, 5*time.Second)
		return nil
	}
	return sb.s.Change(ctx, "release", func(ch *state.Change) error {
		if b := ch.Bulk(tag); b != nil {
			b.State = jjm.BulkReleased
		}
		return nil
	})
}

// setReleased notes when a held bulk was released.
func (sb *submitter) setReleased(tag jjm.Tag) {
	now := jjm.At(sb.b.Now())
	sb.s.Adjust(func(a *state.Memo) { a.SetReleased(tag, now) })
}

// unreleased returns the errors of a release that call for another. A job that is
// gone needs none: it ran and is forgotten, or was lost, which absence will
// show. But a batch system may know a bulk late.
func (sb *submitter) unreleased(b *jjm.Bulk, results []error) error {
	late := jjm.At(sb.b.Now()).Sub(b.Settled) < sb.c.caps().Settle
	return errors.Join(slices.DeleteFunc(slices.Clone(results), func(err error) bool {
		return err == nil || !late && jjm.KindOf(err) == jjm.Gone
	})...)
}

// refused settles a bulk that the batch system will never take: a member that
// may go to another cluster goes there, the others fail (decision R19).
func (sb *submitter) refused(ctx context.Context, tag jjm.Tag, why string) error {
	return sb.s.Change(ctx, "refuse", func(ch *state.Change) error {
		b := ch.Bulk(tag)
		if b == nil {
			return nil
		}
		ch.Refused = map[jjm.GridID]map[state.Spot]string{}
		text := "refused by " + sb.name + ": " + why
		sb.takeBack(ch, b, text, func(l *jjm.LocalJob, g *state.Grid) bool {
			others := slices.ContainsFunc(ch.Live.Candidates(g, l.Place), func(name string) bool { return name != sb.name })
			if others && ch.Refused[g.Job.ID] == nil {
				ch.Refused[g.Job.ID] = map[state.Spot]string{}
			}
			if others {
				ch.Refused[g.Job.ID][state.Spot{Place: l.Place, Cluster: sb.name}] = why
			}
			return others
		})
		b.Error = why
		return nil
	})
}

// takeBack ends the attempts of a bulk that the batch system surely does not
// have. A member that again names gets another attempt, anywhere; of the others
// those that were to be killed are, the rest fail.
func (sb *submitter) takeBack(ch *state.Change, b *jjm.Bulk, text string, again func(*jjm.LocalJob, *state.Grid) bool) {
	for _, m := range b.Members {
		if ch.Live.Current(m) == nil {
			continue
		}
		l := ch.Local(m.LocalID)
		l.Message = text
		v := jjm.Verdict{Level: "SUBMIT", Action: jjm.Retry, Text: text, RetryArgs: l.RetryArgs, Counters: l.Counters}
		switch {
		case l.Kill:
			v.Action, v.Phase = jjm.Cancel, jjm.ByPerson
			l.Ended = ch.Now
			ch.End(l, jjm.Evidence{}, v)
			ch.Move(l, jjm.Killed, jjm.ByPerson, "never submitted")
		case again(l, ch.Live.Grid(m.Grid)):
			ch.End(l, jjm.Evidence{}, v)
			l.Attempt, l.NotBefore = l.Attempt+1, ch.Now
			ch.Move(l, jjm.Submitting, jjm.RetryWait, text)
		default:
			v.Action, v.Phase = jjm.Fail, jjm.CreateFailed
			l.Ended = ch.Now
			ch.End(l, jjm.Evidence{}, v)
			ch.Move(l, jjm.Failed, jjm.CreateFailed, text)
		}
	}
	b.State = jjm.BulkRefused
}

// tried counts a try that certainly came to nothing. A bulk whose members can
// all go to a cluster that is well does so; else it is tried again here.
func (sb *submitter) tried(ctx context.Context, tag jjm.Tag, cause error) error {
	return sb.s.Change(ctx, "submit-again", func(ch *state.Change) error {
		b := ch.Bulk(tag)
		if b == nil {
			return nil
		}
		b.Tries++
		b.Error = cause.Error()
		if sb.movable(ch.Live, b, ch.Now) {
			sb.takeBack(ch, b, "not taken by "+sb.name+", goes elsewhere: "+cause.Error(),
				func(*jjm.LocalJob, *state.Grid) bool { return true })
		}
		return nil
	})
}

// moveOn takes a bulk back that the batch system surely does not have and that
// may not be submitted here now, if all its members may go elsewhere.
func (sb *submitter) moveOn(ctx context.Context, b *jjm.Bulk) error {
	v := sb.s.View()
	movable := sb.movable(v.Memory, b, jjm.At(sb.b.Now()))
	v.Close()
	if !movable {
		return nil
	}
	return sb.tried(ctx, b.Tag, jjm.Errorf(jjm.Busy, "cluster %s is paused", sb.name))
}

// movable reports whether every member of a bulk may go to a better cluster.
func (sb *submitter) movable(mem state.Memory, b *jjm.Bulk, now jjm.Time) bool {
	movable := false
	for _, m := range b.Members {
		l := mem.Current(m)
		if l == nil || l.Kill {
			continue
		}
		if !sb.c.elsewhere(mem, mem.Grid(m.Grid), l.Place, now) {
			return false
		}
		movable = true
	}
	return movable
}

// doubt marks the members of a bulk that may or may not have arrived.
func (sb *submitter) doubt(ctx context.Context, tag jjm.Tag, cause error) error {
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
