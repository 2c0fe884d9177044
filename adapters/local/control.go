package local

import (
	"context"
	"syscall"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Control applies an operation to jobs. For an unknown job the answer is nil, because such a job ended long ago. Only
// waiting jobs can be held. Control writes a request to the log before it acts, so the request survives the daemon.
// After a cancel none of the jobs starts (see cancelAll).
func (a *Adapter) Control(ctx context.Context, owner jjm.Owner, op adapters.Op, jobs []adapters.Ref) ([]error, error) {
	if err := ctx.Err(); err != nil {
		return nil, jjm.Errorf(jjm.Busy, "%s: %v: %w", a.name, op, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.errClosed(); err != nil {
		return nil, err
	}
	answers, unread := make([]error, len(jobs)), a.unread()
	var cancels []target
	touched := map[*bulk]bool{}
	for i, ref := range jobs {
		b, pos, err := a.find(owner, ref)
		if err != nil || b == nil {
			if answers[i] = err; err == nil {
				answers[i] = adapters.Doubt(unread, ref)
			}
			continue
		}
		switch op {
		case adapters.Cancel:
			cancels = append(cancels, target{b, pos, &answers[i]})
		case adapters.HoldJobs:
			answers[i] = a.hold(b, pos)
		case adapters.Release:
			answers[i] = a.release(b, pos)
		default:
			answers[i] = jjm.Errorf(jjm.Invalid, "operation %d: want cancel, hold or release", int(op))
		}
		touched[b] = true
	}
	a.cancelAll(cancels)
	for b := range touched {
		b.idle()
	}
	notify(a.wake)
	notify(a.changed)
	return answers, nil
}

// settle stores the end of a job in memory. The caller holds a.mu.
func (a *Adapter) settle(b *bulk, pos int32, over job) {
	j := &b.jobs[pos]
	asked := j.endAsked
	state := over.state
	over.state = j.state // set expects the old state
	*j = over
	j.endAsked |= asked
	b.set(pos, state)
}

// terminate sends TERM to a process now, and KILL after the grace time. The caller holds a.mu.
func (a *Adapter) terminate(p *proc) {
	p.killAt = jjm.At(a.env.Now()).Add(a.config.Grace.D())
	a.wakeBy(p.killAt.Time())
	if p.p != nil {
		_ = p.p.Signal(syscall.SIGTERM) // an error means that the process has ended
	}
}

// hold holds a waiting job. It returns an error of kind Conflict if the job runs already. The caller holds a.mu.
func (a *Adapter) hold(b *bulk, pos int32) error {
	switch j := &b.jobs[pos]; {
	case j.state.Ended() || j.state == jjm.BatchHold:
		return nil
	case j.state != jjm.BatchQueued:
		return jjm.Errorf(jjm.Conflict, "job %s: it runs already; only a waiting job can be held", b.name(pos))
	}
	if err := b.append(false, lineOf("hold", pos)); err != nil {
		return err
	}
	b.set(pos, jjm.BatchHold)
	return nil
}

// release returns a held job to the waiting jobs. It does nothing for any other job. The caller holds a.mu.
func (a *Adapter) release(b *bulk, pos int32) error {
	if b.jobs[pos].state != jjm.BatchHold {
		return nil
	}
	if err := b.append(false, lineOf("free", pos)); err != nil {
		return err
	}
	b.set(pos, jjm.BatchQueued)
	a.enqueue(b)
	return nil
}
