package sge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// task holds the facts about a living task that Control needs.
type task struct {
	letters            string
	submitted, started jjm.Time
}

// maxSets is the largest number of task sets on one command line. Such a line is far below the kernel's limit.
const maxSets = 2000

// Control first lists the jobs, to name only living tasks with their tag, then runs the commands, and lists the jobs
// again, because the output of the commands is unreliable: qmod -cj exits with 1 although it worked, and qdel complains
// on standard output.
func (a *Adapter) Control(ctx context.Context, owner jjm.Owner, op adapters.Op, jobs []adapters.Ref) ([]error, error) {
	fail := func(err error) ([]error, error) {
		return nil, a.wrap(adapters.AsBusy(err), "%v %s of %s", op, jjm.Count(len(jobs), "job"), owner.User)
	}
	if len(jobs) == 0 {
		return nil, nil
	}
	before, unread, err := a.aliveTasks(ctx, owner)
	if err != nil {
		return fail(err)
	}
	todo := needing(op, jobs, before)
	answers := make([]error, len(jobs))
	if len(todo) == 0 {
		doubt(jobs, before, unread, answers)
		return answers, nil
	}
	if op == adapters.Cancel {
		if err := a.notes.add(noteLines(jjm.At(a.env.Now()), owner.User, todo, before)); err != nil {
			return fail(fmt.Errorf("note the cancels: %w", err))
		}
	}
	said, err := a.runCommands(ctx, op, todo, before)
	if err != nil {
		return fail(err)
	}
	after, unread, err := a.aliveTasks(ctx, owner)
	if err != nil {
		return fail(err)
	}
	for i, job := range jobs {
		if k, ok := keyOf(job); ok {
			answers[i] = verdict(op, k, after, said)
		}
	}
	doubt(jobs, after, unread, answers)
	return answers, nil
}

// doubt sets an error as the answer for each job that is not alive but that an unreadable record may describe.
func doubt(jobs []adapters.Ref, living map[key]task, unread []adapters.Unread, answers []error) {
	for i, job := range jobs {
		k, ok := keyOf(job)
		if _, lives := living[k]; ok && !lives && answers[i] == nil {
			answers[i] = adapters.Doubt(unread, job)
		}
	}
}

// aliveTasks returns the living tasks of a user, and the unreadable jobs.
func (a *Adapter) aliveTasks(ctx context.Context, owner jjm.Owner) (map[key]task, []adapters.Unread, error) {
	entries, unread, err := a.qstat(ctx, owner)
	if err != nil {
		return nil, nil, err
	}
	out := map[key]task{}
	for _, e := range entries {
		if e.submitted == 0 {
			e.submitted = a.memory.submitted(bulkKey{e.tag, e.bulk})
		}
		each(e.tasks, func(t int32) {
			out[key{e.tag, e.bulk, t}] = task{e.letters, e.submitted, e.started}
		})
	}
	return out, unread, nil
}

// needing returns the tasks of jobs that an operation must change, each once.
func needing(op adapters.Op, jobs []adapters.Ref, living map[key]task) []key {
	picked := map[key]bool{}
	var todo []key
	for _, job := range jobs {
		k, ok := keyOf(job)
		t, lives := living[k]
		if ok && lives && !picked[k] && !isAsWanted(op, t) {
			picked[k] = true
			todo = append(todo, k)
		}
	}
	return todo
}

// isAsWanted reports whether an operation has nothing to do for a living task. It also returns true for a hold of a
// running task, because Grid Engine cannot hold that task.
func isAsWanted(op adapters.Op, t task) bool {
	switch op {
	case adapters.Cancel:
		return isDying(t.letters)
	case adapters.HoldJobs:
		return isHeld(t.letters) || !strings.Contains(t.letters, "q")
	}
	return !isHeld(t.letters) && !inError(t.letters)
}

// runCommands runs the commands of an operation, and returns their output.
func (a *Adapter) runCommands(ctx context.Context, op adapters.Op, todo []key, before map[key]task) (string, error) {
	var said strings.Builder
	do := func(keys []key, argv ...string) error {
		for sets := range slices.Chunk(taskSets(keys), maxSets) {
			out, err := a.cfg.Run(ctx, nil, append(slices.Clone(argv), sets...)...)
			if err != nil {
				return err
			}
			said.Write(out.Stdout)
			said.Write(out.Stderr)
		}
		return nil
	}
	switch op {
	case adapters.Cancel:
		err := do(todo, "qdel")
		return said.String(), err
	case adapters.HoldJobs:
		err := do(todo, "qhold")
		return said.String(), err
	}
	blocked := slices.DeleteFunc(slices.Clone(todo), func(k key) bool { return !inError(before[k].letters) })
	held := slices.DeleteFunc(slices.Clone(todo), func(k key) bool { return !isHeld(before[k].letters) })
	if err := do(blocked, "qmod", "-cj"); err != nil {
		return "", err
	}
	err := do(held, "qrls")
	return said.String(), err
}

// verdict returns the answer for one task according to its state after the commands. said is the output of the
// commands.
func verdict(op adapters.Op, k key, after map[key]task, said string) error {
	t, lives := after[k]
	if !lives || isAsWanted(op, t) {
		return nil
	}
	kind := jjm.Busy
	if strings.Contains(said, "necessary privileges") || op == adapters.Release && isHeld(t.letters) {
		kind = jjm.Denied // an operator or the system holds the task
	}
	return jjm.Errorf(kind, "%v %s of %s: it still is %q: %s", op, k.id(), k.tag, t.letters, brief([]byte(said)))
}

// noteLines returns the notes to write before tasks are cancelled: one line for all tasks of an array that have the
// same times.
func noteLines(at jjm.Time, user string, todo []key, before map[key]task) []noteLine {
	type group struct {
		bulkKey
		submitted, started jjm.Time
	}
	tasks := map[group][]int32{}
	for _, k := range todo {
		t := before[k]
		g := group{bulkKey{k.tag, k.bulk}, t.submitted, t.started}
		tasks[g] = append(tasks[g], k.task)
	}
	var lines []noteLine
	for g, list := range tasks {
		var words []string
		for _, s := range spansOf(list) {
			words = append(words, fmt.Sprintf("%d-%d", s.first, s.last))
		}
		lines = append(lines, noteLine{
			At: at, User: user, Tag: g.tag, Job: g.num, Tasks: strings.Join(words, ","),
			Submitted: g.submitted, Started: g.started,
		})
	}
	return lines
}
