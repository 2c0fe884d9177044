package command

import (
	"context"
	"fmt"
	"slices"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// Control looks up the jobs by their tags, so that it never touches a job that has the right id but another tag. It
// then acts on the living jobs that are not yet in the wanted state. It returns one result for each reference.
func (a *Adapter) Control(ctx context.Context, owner jjm.Owner, op adapters.Op, refs []adapters.Ref) ([]error, error) {
	if len(refs) == 0 {
		return nil, busyIfEnded(ctx)
	}
	c := a.d.control[op]
	got, err := a.jobsOfTags(ctx, owner, distinct(refs, func(r adapters.Ref) jjm.Tag { return r.Tag }))
	if err != nil {
		return nil, err
	}
	answers := make([]error, len(refs))
	targets := map[string][]int{} // maps ids for the command to positions in refs
	var order []string
	for i, id := range a.d.targets(c != nil && c.wholeBulk, op, refs, got, answers) {
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
	if op == adapters.Cancel && c.holdFirst {
		a.holdWaiting(ctx, owner, waiting(got.jobs, targets))
	}
	for chunk := range slices.Chunk(order, c.perCall) {
		verdicts := a.act(ctx, owner, op, c, chunk)
		for n, id := range chunk {
			for _, i := range targets[id] {
				answers[i] = verdicts[n]
			}
		}
	}
	return answers, nil
}

// waiting returns those ids in targets that are the ids of single queued jobs.
func waiting(jobs []job, targets map[string][]int) []string {
	var ids []string
	for _, j := range jobs {
		if j.State == jjm.BatchQueued && targets[j.ID] != nil && j.ID != j.bulk {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// holdWaiting holds jobs before they are cancelled. Errors are ignored: a job that has started meanwhile is cancelled
// as well.
func (a *Adapter) holdWaiting(ctx context.Context, owner jjm.Owner, ids []string) {
	c := a.d.control[adapters.HoldJobs]
	for chunk := range slices.Chunk(ids, c.perCall) {
		a.act(ctx, owner, adapters.HoldJobs, c, chunk)
	}
}

// targets returns, for each reference, the id to name in the command. The id is "" if nothing has to be done for a
// reference; targets then sets the reference's result in answers. If whole is set and refs names all jobs of a bulk
// that need the operation, the id is the id of the bulk.
func (d *Description) targets(whole bool, op adapters.Op, refs []adapters.Ref, got answer, answers []error) []string {
	type key struct {
		tag jjm.Tag
		id  string
	}
	known := map[key]job{}
	due := map[string]int{} // by bulk: number of jobs that need the operation
	for _, j := range got.jobs {
		known[key{j.Tag, j.ID}] = j
		if todo, _ := d.needs(op, j); todo {
			due[j.bulk]++
		}
	}
	ids := make([]string, len(refs))
	named := map[string]map[string]bool{} // by bulk: jobs that refs names
	for i, ref := range refs {
		id := d.refID(ref)
		j, ok := known[key{ref.Tag, id}]
		if !ok {
			answers[i] = adapters.Doubt(got.unread, ref)
			if answers[i] == nil {
				answers[i] = jjm.Errorf(jjm.Gone, "job %s: the batch system has no such job with tag %s", id, ref.Tag)
			}
			continue
		}
		todo, err := d.needs(op, j)
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
			bulk, _, _ := d.ids.read(id)
			if id != "" && len(named[bulk]) == due[bulk] && !adapters.UnreadOf(got.unread, refs[i].Tag) {
				ids[i] = bulk
			}
		}
	}
	return ids
}

// needs reports whether an operation must act on a job. An error means that the operation is not possible.
func (d *Description) needs(op adapters.Op, j job) (bool, error) {
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
		// The listing may show a job that was submitted held as queued.
		held := j.State == jjm.BatchHold || j.State == jjm.BatchUnknown || d.caps.TwoPhase && j.State == jjm.BatchQueued
		return held, nil
	}
	return true, nil
}

// act runs the command for some ids and returns one result for each id.
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

// answers returns one result for each id. The result comes from the line of the output about that id, or, if there is
// no such line, from the outcome of the whole command. A job that no longer exists counts as cancelled, held or
// released.
func (c *control) answers(out run.Output, v values, ids []string) []error {
	single := c.outcomes.jobs(out, v)
	whole, unclear := c.outcomes.judge(out, v)
	answers := make([]error, len(ids))
	for i, id := range ids {
		got, told := single[id]
		switch {
		case !told && unclear != nil:
			answers[i] = jjm.Errorf(jjm.Busy, "%s", failure("run the command", out, unclear.Error()))
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
		answers[i] = jjm.Errorf(kind, "%s", failure("run the command", out, got.message))
	}
	return answers
}
