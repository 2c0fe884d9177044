package command

import (
	"context"
	"fmt"
	"slices"

	"jjm"
	"jjm/adapters"
	"jjm/run"
)

// Control looks for the jobs by their tags first, so that no job is touched
// that has the id but not the tag; it acts on those that are alive and not yet
// as they should be, and answers for each.
func (a *Adapter) Control(ctx context.Context, owner jjm.Owner, op adapters.Op, refs []adapters.Ref) ([]error, error) {
	if len(refs) == 0 {
		return nil, ctxBusy(ctx)
	}
	c := a.d.control[op]
	jobs, err := a.tagged(ctx, owner, distinct(refs, func(r adapters.Ref) jjm.Tag { return r.Tag }))
	if err != nil {
		return nil, err
	}
	answers := make([]error, len(refs))
	targets := map[string][]int{} // what to name in the command -> positions in refs
	var order []string
	for i, id := range a.d.targets(c != nil && c.bulk, op, refs, jobs, answers) {
		switch {
		case id == "":
		case c == nil:
			answers[i] = jjm.Errorf(jjm.Invalid, "%s: %v job %s: the description of this cluster has no verb %v", a.name, op, id,
				op)
		default:
			if targets[id] == nil {
				order = append(order, id)
			}
			targets[id] = append(targets[id], i)
		}
	}
	if len(order) == 0 {
		return answers, nil
	}
	if op == adapters.Cancel && c.hold {
		a.holdFirst(ctx, owner, waiting(jobs, targets))
	}
	for chunk := range slices.Chunk(order, c.per) {
		verdicts := a.act(ctx, owner, op, c, chunk)
		for n, id := range chunk {
			for _, i := range targets[id] {
				answers[i] = verdicts[n]
			}
		}
	}
	return answers, nil
}

// waiting returns the ids of jobs that wait and are named each by itself.
func waiting(jobs []job, targets map[string][]int) []string {
	var ids []string
	for _, j := range jobs {
		if j.State == jjm.BatchQueued && targets[j.ID] != nil && j.ID != j.bulk {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// holdFirst holds jobs that are to be cancelled. Whether it could does not
// matter: a job that runs by now is cancelled all the same.
func (a *Adapter) holdFirst(ctx context.Context, owner jjm.Owner, ids []string) {
	c := a.d.control[adapters.HoldJobs]
	for chunk := range slices.Chunk(ids, c.per) {
		a.act(ctx, owner, adapters.HoldJobs, c, chunk)
	}
}

// targets returns for each ref what to name in the command, "" where nothing is
// to be done; answers gets why. A bulk is named as a whole if the refs are all
// of its jobs that the operation is for, and whole allows that.
func (d *Description) targets(whole bool, op adapters.Op, refs []adapters.Ref, jobs []job, answers []error) []string {
	type key struct {
		tag jjm.Tag
		id  string
	}
	known := map[key]job{}
	due := map[string]int{} // by bulk: jobs that the operation is for
	for _, j := range jobs {
		known[key{j.Tag, j.ID}] = j
		if todo, _ := d.due(op, j); todo {
			due[j.bulk]++
		}
	}
	ids := make([]string, len(refs))
	named := map[string]map[string]bool{} // by bulk
	for i, ref := range refs {
		id := d.refID(ref)
		j, ok := known[key{ref.Tag, id}]
		if !ok {
			answers[i] = jjm.Errorf(jjm.Gone, "job %s: the batch system has no such job with tag %s", id, ref.Tag)
			continue
		}
		todo, err := d.due(op, j)
		if answers[i] = err; todo {
			ids[i] = id
			if named[j.bulk] == nil {
				named[j.bulk] = map[string]bool{}
			}
			named[j.bulk][id] = true
		}
	}
	if whole {
		for i, id := range ids {
			if bulk, _, _ := d.ids.read(id); id != "" && len(named[bulk]) == due[bulk] {
				ids[i] = bulk
			}
		}
	}
	return ids
}

// due reports whether an operation has something to do with a job, and why not
// where that is no success.
func (d *Description) due(op adapters.Op, j job) (bool, error) {
	if j.State.Ended() {
		return false, nil
	}
	switch op {
	case adapters.HoldJobs:
		switch j.State {
		case jjm.BatchHold:
			return false, nil
		case jjm.BatchRunning, jjm.BatchStarting, jjm.BatchSuspended:
			return false, jjm.Errorf(jjm.Invalid, "job %s is %v: only waiting jobs can be held", j.ID, j.State)
		}
	case adapters.Release:
		// A job that was submitted held may be shown as queued.
		held := j.State == jjm.BatchHold || j.State == jjm.BatchUnknown || d.caps.TwoPhase && j.State == jjm.BatchQueued
		return held, nil
	}
	return true, nil
}

// act runs the command for some ids and gives the answer for each.
func (a *Adapter) act(ctx context.Context, owner jjm.Owner, op adapters.Op, c *control, ids []string) []error {
	v := values{words: ownerValues(owner), lists: map[string][]string{"JOB_IDS": ids}}
	v.words["JOB_ID"] = ids[0]
	answers := make([]error, len(ids))
	out, err := a.run(ctx, nil, c.command.argv(v))
	if err != nil {
		err = fmt.Errorf("%s: %v: %w", a.name, op, adapters.AsBusy(err))
		for i := range answers {
			answers[i] = err
		}
		return answers
	}
	for i, got := range c.answers(out, v, ids) {
		if got != nil {
			answers[i] = fmt.Errorf("%s: %v job %s: %w", a.name, op, ids[i], got)
		}
	}
	return answers
}

// answers returns for each id what the output says: a line about it, else the
// outcome of the whole command. A job that is gone is as cancelled, held or
// released as it can be.
func (c *control) answers(out run.Output, v values, ids []string) []error {
	single := c.outcomes.jobs(out, v)
	whole, unclear := c.outcomes.judge(out, v)
	answers := make([]error, len(ids))
	for i, id := range ids {
		got, told := single[id]
		switch {
		case !told && unclear != nil:
			answers[i] = jjm.Errorf(jjm.Busy, "%s", failure("its command", out, unclear.Error()))
			continue
		case !told:
			got = whole
		}
		if got.word == wordOK || got.word == wordGone {
			continue
		}
		kind := got.word.kind()
		if kind == jjm.Ambiguous {
			kind = jjm.Busy
		}
		answers[i] = jjm.Errorf(kind, "%s", failure("its command", out, got.message))
	}
	return answers
}
