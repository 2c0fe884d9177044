// Package submit forms bulks of ready local jobs, submits each with one command to one batch system, and finds out what
// became of submissions whose outcome is unknown.
package submit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/cluster/outage"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/lineage"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// Submitter submits bulks of ready local jobs to one cluster. Its loop is the submit loop.
type Submitter struct {
	sys      *system.System
	b        *base.Base
	s        *state.State
	name     string
	areas    *areas.Areas
	here     Here
	parts    Parts
	former   former
	assigner assigner
	carrier  carrier
	settler  *settler
	kick     chan struct{}
	// submits runs the submission commands, in a lane for each account.
	submits *fair.Lanes
	aside   *aside
	running running
}

// Parts are parts of the cluster that a Submitter uses.
type Parts struct {
	Health  *outage.Health
	Failing *outage.Failing // it hears how submissions end
	Halter  Halter
	Look    func() // makes the cluster's next listing start soon and returns immediately
}

// Halter submits a bulk and returns the answer of the adapter. It submits nothing and returns system.ErrKilled if a
// member of the bulk is to be killed on a cluster where a cancel is final. Package control implements it.
type Halter interface {
	Submit(cmd context.Context, b *jjm.Bulk, order adapters.Bulk) (adapters.Receipt, error)
}

// New returns the Submitter of a batch system. here says what it may take.
func New(sys *system.System, here Here, s *state.State, as *areas.Areas, ln *lineage.Lineage, parts Parts) *Submitter {
	lanes, set := sys.Lanes(), &aside{b: s.B, until: map[jjm.Owner]system.Deadline{}}
	sb := &Submitter{sys: sys, b: s.B, s: s, name: sys.Name, areas: as, here: here, parts: parts,
		former:   former{b: s.B, s: s, sys: sys, here: here, submits: lanes, aside: set},
		assigner: assigner{s.B, s, as, ln}, carrier: carrier{s.B, sys}, kick: make(chan struct{}, 1),
		submits: lanes, aside: set}
	sb.settler = &settler{sb: sb, sys: sys, b: s.B, s: s, name: sys.Name, health: parts.Health,
		retryAt: map[jjm.Tag]system.Deadline{}, odd: map[jjm.Tag]oddRefusal{}}
	return sb
}

// SettleNow makes all unsettled bulks due now. It is called when the cluster answers again.
func (sb *Submitter) SettleNow() { sb.settler.settleNow() }

// Loop forms bulks of ready local jobs and submits them, and calls the settler for unsettled bulks.
func (sb *Submitter) Loop(ctx context.Context) {
	defer sb.submits.Running.Wait()
	for ctx.Err() == nil {
		next, err := sb.submitOnce(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, base.ErrCrashed) {
			sb.b.Complain(slog.LevelError, "submit/"+sb.name, "submission failed, will try again", "cluster", sb.name, "error",
				err)
			next = asideFor
		}
		fair.WaitKick(ctx, sb.kick, next)
	}
}

// submitOnce settles the unsettled bulks that are due. Then it forms and submits bulks until no local job can be
// submitted now; accounts whose lane is taken are left out. It returns the time until something will be due. The errors
// are those of settleDue and choose and, if all jobs run as one account, a failpoint's.
func (sb *Submitter) submitOnce(ctx context.Context) (time.Duration, error) {
	wait, err := sb.settler.settleDue(ctx)
	if err != nil {
		return wait, err
	}
	for ctx.Err() == nil {
		b, members, err := sb.former.choose()
		if err != nil || b == nil {
			return min(wait, sb.former.nextDue(), sb.submits.NextSlow()), err
		}
		sb.submits.Do(sb.sys.Account(b.Owner), func() { err = sb.hand(ctx, b, members) }, func() { fair.Kick(sb.kick) })
		if sb.submits.OneAccount && err != nil {
			if errors.Is(err, base.ErrCrashed) {
				return wait, err
			}
			wait = min(wait, asideFor)
		}
	}
	return min(wait, sb.former.nextDue()), nil
}

// hand stores a bulk and submits it. If that fails, it sets the owner of the bulk aside, unless ctx has ended.
func (sb *Submitter) hand(ctx context.Context, b *jjm.Bulk, members []jjm.LocalJob) error {
	err := sb.handOver(ctx, b, members)
	if err != nil && ctx.Err() == nil {
		sb.setAside(b.Owner, err)
	}
	return err
}

// handOver stores a bulk and submits it. If the assignments of all members together are too large (maxAssigned), the
// last members become ready again and are not submitted with this bulk. If the assignment of one local job is too long,
// that local job fails, the bulk is given up, and the other members become ready again.
func (sb *Submitter) handOver(ctx context.Context, b *jjm.Bulk, members []jjm.LocalJob) error {
	as, err := sb.assigner.assignments(ctx, members)
	if err != nil {
		sb.former.giveBack(b)
		sb.former.formed(b)
		return err
	}
	sb.former.shorten(b, len(as))
	if slices.ContainsFunc(as, isTooLong) {
		sb.former.giveBack(b)
		sb.former.formed(b)
		return sb.failTooLong(ctx, members, as)
	}
	return sb.launch(ctx, b, as)
}

// isTooLong reports whether an assignment exceeds sandbox.MaxAssignment.
func isTooLong(a sandbox.Assignment) bool { return a.TooLong() }

// failTooLong fails the local jobs whose assignments are too long, except local jobs that have changed meanwhile. They
// get no other attempt, because its assignment would be the same.
func (sb *Submitter) failTooLong(ctx context.Context, members []jjm.LocalJob, as []sandbox.Assignment) error {
	text := fmt.Sprintf(
		"its command line, environment and list of inputs have more than %d bytes together: cut the work into "+
			"smaller parts, or shorten what each is told", sandbox.MaxAssignment)
	return sb.s.Change(ctx, "refuse", func(ch *state.Change) error {
		for i := range as {
			if !as[i].TooLong() {
				continue
			}
			l := ch.Local(members[i].ID)
			if l == nil || l.Attempt != members[i].Attempt || l.Kill || l.State != members[i].State {
				continue
			}
			l.Message, l.Ended = text, ch.Now
			ch.Move(l, jjm.Failed, jjm.CreateFailed, text)
		}
		return nil
	})
}

// setAside prevents new bulks of an owner for the time asideFor, because of an error in the owner's submission. It logs
// the error, except a failpoint's. Other owners are not delayed.
func (sb *Submitter) setAside(owner jjm.Owner, err error) {
	if !errors.Is(err, base.ErrCrashed) {
		sb.b.Complain(slog.LevelError, "submit/"+sb.name+"/"+owner.User, "submission failed, will try again",
			"cluster", sb.name, "owner", owner.User, "error", err)
	}
	sb.aside.set(owner)
}

// launch stores the bulk (intend) and then runs the submission command (act). If a member of the bulk changed
// meanwhile, launch drops the bulk and returns nil; the other members become ready again. It also drops a bulk without
// members.
func (sb *Submitter) launch(ctx context.Context, b *jjm.Bulk, as []sandbox.Assignment) error {
	if len(b.Members) == 0 {
		sb.former.formed(b)
		return nil
	}
	err := sb.intend(ctx, b, as)
	sb.former.formed(b)
	if err != nil {
		sb.former.giveBack(b)
		if jjm.KindOf(err) == jjm.Conflict {
			sb.discard(b)
			return nil
		}
		return err
	}
	return sb.act(ctx, b.Tag, true)
}

// discard removes the folder of a bulk that is certainly not in the store. It logs errors.
func (sb *Submitter) discard(b *jjm.Bulk) {
	ar, err := sb.areas.Of(b.Owner)
	if err == nil {
		err = ar.RemoveBulk(context.Background(), b.Tag)
	}
	if err != nil {
		sb.b.Log.Warn("folder of a bulk that was not stored could not be removed", "tag", b.Tag, "error", err)
	}
}

// intend writes the assignment file of a bulk and then stores the bulk in the state BulkIntent, so that a stored bulk
// always has its assignment file. The error is of kind Conflict if a member of the bulk changed meanwhile.
func (sb *Submitter) intend(ctx context.Context, b *jjm.Bulk, as []sandbox.Assignment) error {
	ar, err := sb.areas.Of(b.Owner)
	if err != nil {
		return err
	}
	if err := sb.carrier.writeAssignment(ar, b.Tag, as); err != nil {
		sb.discard(b)
		return fmt.Errorf("assignment of bulk %s: %w", b.Tag, err)
	}
	if err := sb.b.Crash("submit.assigned"); err != nil {
		return err
	}
	return sb.s.Change(ctx, "submit", func(ch *state.Change) error {
		ch.Created = append(ch.Created, b)
		for pos, m := range b.Members {
			l := ch.Local(m.LocalID)
			// The member was killed or held meanwhile.
			if l == nil || l.Attempt != m.Attempt || l.Kill || state.Unsent(l) == 0 {
				return jjm.Errorf(jjm.Conflict, "local job %s changed while its bulk was formed", m.LocalID)
			}
			// A refusal stopped the submissions of the grid job meanwhile.
			if state.Withholds(ch.Live.Grid(m.Grid), l) {
				return jjm.Errorf(jjm.Conflict, "local job %s is no longer to be submitted", m.LocalID)
			}
			// People sent the member to other clusters meanwhile.
			if !slices.Contains(ch.Live.Grid(m.Grid).Among(l.Place), sb.name) {
				return jjm.Errorf(jjm.Conflict, "local job %s may no longer go to cluster %s", m.LocalID, sb.name)
			}
			// People requested other resources meanwhile, by jjm set, or by a kill and a resubmission.
			if state.RequestAt(&ch.Live.Grid(m.Grid).Job, l.Place) != b.Request {
				return jjm.Errorf(jjm.Conflict, "local job %s requests other resources than its bulk", m.LocalID)
			}
			l.Cluster, l.Tag, l.Pos = sb.name, b.Tag, int32(pos)
			l.BatchID, l.Host = "", ""
			l.Submitted, l.Started, l.Ended = 0, 0, 0
			ch.Move(l, jjm.Submitting, jjm.Spooled, "bulk "+string(b.Tag)+" for "+sb.name)
		}
		return nil
	})
}

// act runs the submission command of a stored bulk and stores the outcome. It does nothing if the bulk is closed. If a
// member of the bulk is to be killed on a cluster where a cancel is final, it takes the bulk back instead. unsent is
// true if no command has been started for the bulk so far.
func (sb *Submitter) act(ctx context.Context, tag jjm.Tag, unsent bool) error {
	b, ar, err := sb.openBulk(tag)
	if b == nil || err != nil {
		return err
	}
	order, err := sb.carrier.order(ar, b)
	if err != nil {
		return err
	}
	now := jjm.At(sb.b.Now())
	if sb.sys.Caps().ExcludesHosts {
		v := sb.s.View()
		order.Exclude = v.ExcludedAt(sb.name, now)
		v.Close()
	}
	sb.s.Mark(func(m *state.Marks) { m.Try(tag, now) })
	cmd, cancel := sb.sys.Command(ctx, sb.sys.Account(b.Owner))
	defer cancel()
	end := sb.running.begin(sb.sys.Account(b.Owner), Running{Tag: tag, Since: now})
	receipt, err := sb.parts.Halter.Submit(cmd, b, order)
	end()
	if errors.Is(err, system.ErrKilled) {
		return sb.takeBackKilled(ctx, tag)
	}
	if crashed := sb.b.Crash("submit.acted"); crashed != nil {
		return crashed
	}
	if unsent && adapters.IsNotStarted(err) {
		sb.s.Mark(func(m *state.Marks) { m.Unsend(tag) })
	}
	if err == nil {
		err = sb.sys.CheckReceipt(b.Owner, receipt)
	}
	return sb.outcome(ctx, tag, receipt, err)
}

// openBulk returns a copy of an open bulk and the work area of its owner. The copy is nil if the bulk is closed. The
// error says that the work area cannot be used; the copy is then set.
func (sb *Submitter) openBulk(tag jjm.Tag) (*jjm.Bulk, *areas.Area, error) {
	v := sb.s.View()
	live := v.Bulk(tag)
	v.Close()
	if live == nil {
		return nil, nil, nil
	}
	b := live.Bulk
	ar, err := sb.areas.Of(b.Owner)
	return &b, ar, err
}

// Wake wakes the submit loop and returns immediately.
func (sb *Submitter) Wake() { fair.Kick(sb.kick) }
