package condor

import (
	"context"
	"slices"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// verbs has for each operation the command, the guard and the reason. The guard is an expression for the jobs that the
// command may act on: with it, the schedd skips a job whose state has changed since jjm listed it. Otherwise condor_rm
// would turn a completed job that is still in the queue into a removed job.
var verbs = map[adapters.Op]struct{ command, guard, reason string }{
	adapters.Cancel:   {"condor_rm", "JobStatus =!= 3 && JobStatus =!= 4", "cancelled through jjm"},
	adapters.HoldJobs: {"condor_hold", "JobStatus =?= 1", "held through jjm"},
	adapters.Release:  {"condor_release", "JobStatus =?= 5", "released through jjm"},
}

// Control lists the jobs, and acts with one command on the jobs that need it. The command exits with 0 if any job
// matched, and with 1 if no job matched or the schedd is down. If the result is unclear, Control lists the jobs again.
func (a *Adapter) Control(ctx context.Context, owner jjm.Owner, op adapters.Op, jobs []adapters.Ref) ([]error, error) {
	verb, ok := verbs[op]
	if !ok {
		return nil, a.fail("control", jjm.Errorf(jjm.Invalid, "operation %d: want cancel, hold or release", int(op)))
	}
	seen, unread, err := a.inQueue(ctx, jobs)
	if err != nil {
		return nil, a.fail(op.String(), err)
	}
	answers, todo := decide(op, owner, jobs, seen, unread)
	if len(todo) == 0 {
		return answers, nil
	}
	doubt := false
	for _, constraint := range jobSet(todo).constraints() {
		constraint = ownedBy(owner) + " && " + verb.guard + " && (" + constraint + ")"
		out, err := a.run(ctx, nil, verb.command, "-constraint", constraint, "-reason", verb.reason)
		if err != nil {
			return nil, a.fail(op.String(), adapters.AsBusy(err))
		}
		doubt = doubt || out.Exit != 0
	}
	if !doubt {
		return answers, nil
	}
	if seen, unread, err = a.inQueue(ctx, jobs); err != nil {
		return nil, a.fail(op.String(), err)
	}
	answers, todo = decide(op, owner, jobs, seen, unread)
	for i, ref := range jobs {
		if slices.Contains(todo, ref) {
			answers[i] = jjm.Errorf(jjm.Busy, "%s: %s had no effect on job %s of tag %s", a.name, verb.command, ref.ID, ref.Tag)
		}
	}
	return answers, nil
}

// inQueue returns the queued jobs with the tags of these jobs, and the unreadable records.
func (a *Adapter) inQueue(ctx context.Context, jobs []adapters.Ref) (seen map[tagged]record, unread []adapters.Unread,
	err error) {
	var tags []jjm.Tag
	for _, j := range jobs {
		if j.Tag.Valid() {
			tags = append(tags, j.Tag)
		}
	}
	slices.Sort(tags)
	seen = map[tagged]record{}
	for some := range slices.Chunk(slices.Compact(tags), tagsAtOnce) {
		records, odd, err := a.query(ctx, queueArgs(taggedWith(some)))
		if err != nil {
			return nil, nil, err
		}
		unread = append(unread, odd...)
		for _, r := range records {
			seen[tagged{r.tag, r.jobID}] = r
		}
	}
	return seen, unread, nil
}

// decide returns the answers for the jobs that need no action, and in todo the jobs that need it.
func decide(op adapters.Op, owner jjm.Owner, jobs []adapters.Ref, seen map[tagged]record, unread []adapters.Unread) (
	answers []error, todo []adapters.Ref) {
	answers = make([]error, len(jobs))
	for i, ref := range jobs {
		id, ok := jobOf(ref)
		r, there := seen[tagged{ref.Tag, id}]
		if !ok || !there { // the job no longer exists, unless an unreadable record may be its
			answers[i] = adapters.Doubt(unread, ref)
			continue
		}
		if r.owner != owner.User {
			answers[i] = jjm.Errorf(jjm.Denied, "job %v: it belongs to %s, not to %s", id, r.owner, owner.User)
			continue
		}
		act := false
		if act, answers[i] = needs(op, r); act {
			todo = append(todo, ref)
		}
	}
	return answers, todo
}

// needs reports whether an operation has to act on a job. It returns an error for the hold of a running job, because
// HTCondor would kill that job and a hold of jjm must not kill jobs.
func needs(op adapters.Op, r record) (bool, error) {
	over := r.status == completed || r.status == removed
	switch {
	case over:
		return false, nil
	case op == adapters.Cancel:
		return true, nil
	case op == adapters.Release:
		return r.status == held && r.limitState() == jjm.BatchUnknown, nil
	case r.status == held:
		return false, nil
	case r.status != idle:
		return false, jjm.Errorf(jjm.Conflict, "job %v: it runs already; only a waiting job can be held", r.jobID)
	}
	return true, nil
}
