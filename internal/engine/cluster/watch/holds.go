package watch

import (
	"context"
	"log/slog"
	"time"

	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// holder notes that a batch system holds jobs, asks plan.Hold what to do about each hold, and stores the decisions. A
// Holding (jjm.Holding) is what jjm knows about the hold of one local job.
type holder struct {
	sys     *system.System
	b       *base.Base
	s       *state.State
	control Control
}

// holdNews is a new Holding of a local job, found in a listing or by the hold loop.
type holdNews struct {
	id  jjm.AttemptID
	old *jjm.Holding // the Holding before; if the local job no longer has it, the news is dropped
	now jjm.Holding
}

// decided reports whether the new Holding contains an action and the old one does not.
func (n *holdNews) decided() bool {
	return n.now.Action != "" && (n.old == nil || n.old.Action == "")
}

// maxHoldAge returns how long a hold of a job may last. result is how the job reports its end: by its GBS log file or
// by its exit code.
func maxHoldAge(b *base.Base, result string) time.Duration {
	if result == jjm.ResultGLF {
		return b.Conf().HoldMaxAgeGLF.D()
	}
	return b.Conf().HoldMaxAge.D()
}

// holdRules returns the rules about holds: first the rules of the cluster, then the rules of the site. The first rule
// that applies decides.
func (ho *holder) holdRules() []plan.HoldRule {
	own, site := ho.sys.Config.Hold, ho.b.Conf().Hold
	return append(own[:len(own):len(own)], site...)
}

// noteHolds stores the holds that a listing reports and the decisions of plan.Hold about them, and passes the decided
// releases to the control loop. added is the time by which each hold has become older since the last listing of the
// account.
func (ho *holder) noteHolds(ctx context.Context, seen []observation, added time.Duration) error {
	news, releases := ho.lookAtHolds(seen, added)
	if err := keepHoldings(ctx, ho.s, news); err != nil {
		return err
	}
	for i := range news {
		if news[i].now.Action == jjm.HoldRelease {
			releases = append(releases, news[i].id)
		}
	}
	ho.control.AskRelease(releases...)
	return nil
}

// lookAtHolds returns the new Holding of each local job whose Holding the listing changes, even if only its age
// changes. It also returns the attempts whose release is decided and not done yet.
func (ho *holder) lookAtHolds(seen []observation, added time.Duration) (news []holdNews, releases []jjm.AttemptID) {
	v := ho.s.View()
	defer v.Close()
	rules, now := ho.holdRules(), jjm.At(ho.b.Now())
	for i := range seen {
		r, l := seen[i].report, seen[i].of(v.Memory)
		switch {
		case l == nil:
		case r.State == jjm.BatchHold && l.Phase == jjm.BatchHeld:
			h := plan.HoldSeen(l.Holding, *r, plan.HeldBy(ho.sys.Kind, r.Hold), now, added)
			if !l.Kill {
				age := maxHoldAge(ho.b, v.Grid(l.ID.Grid).Job.Spec.Result)
				h = plan.Decided(h, plan.Hold(plan.HoldFacts{Kind: ho.sys.Kind, Hold: h, Rules: rules, MaxAge: age}), "")
			}
			if l.Holding == nil || h != *l.Holding {
				news = append(news, holdNews{l.AttemptID(), l.Holding, h})
			} else if h.Action == jjm.HoldRelease {
				releases = append(releases, l.AttemptID())
			}
		case r.State != jjm.BatchHold && l.Holding.Now():
			news = append(news, holdNews{l.AttemptID(), l.Holding, plan.HoldOver(*l.Holding)})
		}
	}
	return news, releases
}

// keepHoldings stores those news that must survive a restart, and applies all other news only to memory. A listing in
// which only ages changed therefore causes no write. If a local job no longer has the old Holding, its news is dropped,
// and the next look makes new news.
func keepHoldings(ctx context.Context, s *state.State, news []holdNews) error {
	var store []holdNews
	s.Adjust(func(a *state.Memo) {
		for _, n := range news {
			if plan.HoldNews(n.old, n.now) {
				store = append(store, n)
			} else {
				a.SetHolding(n.id, n.old, &n.now)
			}
		}
	})
	if len(store) == 0 {
		return nil
	}
	return s.Change(ctx, "hold", func(c *state.Change) error {
		for i := range store {
			keepHolding(c, &store[i])
		}
		return nil
	})
}

// keepHolding stores the new Holding of one local job. If it contains the new decision to give up, one of two things
// happens. A local job that its application holds has no attempt, so it fails in this change. A local job that the
// batch system holds has an attempt that must end first, so the attempt is killed.
func keepHolding(c *state.Change, n *holdNews) {
	live := c.Live.Local(n.id.LocalID)
	if live == nil || live.Attempt != n.id.Attempt || live.Over() || live.Holding != n.old {
		return
	}
	l := c.Local(n.id.LocalID)
	l.Holding = &n.now
	switch {
	case !n.decided():
	case l.State == jjm.Held:
		l.Message, l.Holding = n.now.Why, plan.HoldNext(l.Holding)
		c.Move(l, jjm.Failed, jjm.BySystem, n.now.Why)
	default:
		c.Aside(l, n.now.Why, "")
		if n.now.GivenUp() {
			c.Kills = append(c.Kills, n.id)
		}
	}
}

// holdTick is the interval at which the hold loop increases the ages of holds by applications. The ages do not grow
// while the daemon is down, because people cannot release local jobs then.
const holdTick = time.Minute

// HoldLoop increases the ages of holds by applications, and fails local jobs whose hold has reached its maximum age.
// One HoldLoop serves all clusters.
func HoldLoop(ctx context.Context, s *state.State) {
	last := s.B.Now()
	for ctx.Err() == nil {
		fair.Pause(ctx, holdTick)
		now := s.B.Now()
		gone := min(max(now.Sub(last), 0), 2*holdTick) // a longer time is a jump of the clock
		last = now
		if err := keepHoldings(ctx, s, heldByApplications(s, gone)); err != nil && ctx.Err() == nil {
			s.B.Complain(slog.LevelError, "holds", "ages of holds could not be stored, will try again", "error", err)
		}
	}
}

// heldByApplications returns news for the local jobs in state held: their holds, older by the given time, with the
// decision of plan.Hold.
func heldByApplications(s *state.State, older time.Duration) []holdNews {
	v := s.View()
	defer v.Close()
	var news []holdNews
	for _, g := range v.Grids() {
		if g.Counts[jjm.Held] == 0 || g.Job.Kill {
			continue
		}
		age := maxHoldAge(s.B, g.Job.Spec.Result)
		for i := range g.Locals {
			l := &g.Locals[i]
			if l.State != jjm.Held {
				continue
			}
			h := l.Holding
			if !h.Now() { // the row is from a version of jjm that stored no Holding
				h = plan.HoldAfter(h, l.State, l.Phase, l.Message, l.Ended)
			}
			aged := *h
			aged.Age += jjm.Duration(older)
			step := plan.Hold(plan.HoldFacts{Hold: aged, MaxAge: age})
			news = append(news, holdNews{l.AttemptID(), l.Holding, plan.Decided(aged, step, "")})
		}
	}
	return news
}
