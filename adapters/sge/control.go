package sge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"jjm"
	"jjm/adapters"
)

// task is what a control needs to know of a living task.
type task struct {
	letters            string
	submitted, started jjm.Time
}

// mostSets bounds the words of one command line, far below the kernel's limit.
const mostSets = 2000

// Control looks first, so that only tasks that live and carry their tag are
// named, runs one command for all, and looks again: what the commands print is
// not dependable (qmod -cj ends with 1 though it did its work; qdel complains on
// standard output).
func (a *Adapter) Control(ctx context.Context, owner jjm.Owner, op adapters.Op, jobs []adapters.Ref) ([]error, error) {
	fail := func(err error) ([]error, error) {
		return nil, a.wrap(adapters.AsBusy(err), "%v %d jobs of %s", op, len(jobs), owner.User)
	}
	if len(jobs) == 0 {
		return nil, nil
	}
	before, err := a.living(ctx, owner)
	if err != nil {
		return fail(err)
	}
	todo := pick(op, jobs, before)
	answers := make([]error, len(jobs))
	if len(todo) == 0 {
		return answers, nil
	}
	if op == adapters.Cancel {
		if err := a.notes.add(noteLines(jjm.At(a.env.Now()), owner.User, todo, before)); err != nil {
			return fail(fmt.Errorf("note the cancels: %w", err))
		}
	}
	said, err := a.order(ctx, op, todo, before)
	if err != nil {
		return fail(err)
	}
	after, err := a.living(ctx, owner)
	if err != nil {
		return fail(err)
	}
	for i, job := range jobs {
		if k, ok := keyOf(job); ok {
			answers[i] = verdict(op, k, after, said)
		}
	}
	return answers, nil
}

// living lists the tasks of a user.
func (a *Adapter) living(ctx context.Context, owner jjm.Owner) (map[key]task, error) {
	entries, err := a.qstat(ctx, owner)
	if err != nil {
		return nil, err
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
	return out, nil
}

// pick returns the tasks that an operation would change, each once.
func pick(op adapters.Op, jobs []adapters.Ref, living map[key]task) []key {
	picked := map[key]bool{}
	var todo []key
	for _, job := range jobs {
		k, ok := keyOf(job)
		t, lives := living[k]
		if ok && lives && !picked[k] && !done(op, t) {
			picked[k] = true
			todo = append(todo, k)
		}
	}
	return todo
}

// done reports whether a living task already is as an operation wants it. A
// running task cannot be held.
func done(op adapters.Op, t task) bool {
	switch op {
	case adapters.Cancel:
		return isDying(t.letters)
	case adapters.HoldJobs:
		return isHeld(t.letters) || !strings.Contains(t.letters, "q")
	}
	return !isHeld(t.letters) && !inError(t.letters)
}

// order runs the commands of an operation, and gives what they said.
func (a *Adapter) order(ctx context.Context, op adapters.Op, todo []key, before map[key]task) (string, error) {
	var said strings.Builder
	do := func(keys []key, argv ...string) error {
		for sets := range slices.Chunk(taskSets(keys), mostSets) {
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

// verdict answers for one task by what it is now.
func verdict(op adapters.Op, k key, after map[key]task, said string) error {
	t, lives := after[k]
	if !lives || done(op, t) {
		return nil
	}
	kind := jjm.Busy
	if strings.Contains(said, "necessary privileges") || op == adapters.Release && isHeld(t.letters) {
		kind = jjm.Denied // by an operator's hold, or the system's
	}
	return jjm.Errorf(kind, "%v %s of %s: it still is %q: %s", op, k.id(), k.tag, t.letters, brief([]byte(said)))
}

// noteLines writes cancels down, tasks of one array and one past together.
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
