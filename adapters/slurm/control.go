package slurm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Control lists the jobs that still have their tag, acts on these jobs with few commands, and lists the jobs again. The
// second listing is needed because the exit code of scancel does not show whether scancel succeeded.
func (a *Adapter) Control(ctx context.Context, owner jjm.Owner, op adapters.Op, jobs []adapters.Ref) ([]error, error) {
	answers, err := a.control(ctx, owner, op, jobs)
	if err != nil {
		return nil, fmt.Errorf("slurm: %v %s of %s: %w", op, jjm.Count(len(jobs), "job"), owner.User, err)
	}
	return answers, nil
}

func (a *Adapter) control(ctx context.Context, owner jjm.Owner, op adapters.Op, jobs []adapters.Ref) ([]error, error) {
	if err := ctx.Err(); err != nil {
		return nil, jjm.Errorf(jjm.Busy, "%w", err)
	}
	answers := make([]error, len(jobs))
	_, tags, _ := sortRefs(jobs)
	if len(tags) == 0 {
		return answers, nil
	}
	before, unread, err := a.inQueue(ctx, owner, tags)
	if err != nil {
		return nil, err
	}
	refuseUnread(jobs, unread, before, answers)
	d := decide(op, jobs, before, answers)
	if len(d.targets) == 0 {
		return answers, nil
	}
	var trouble error
	for _, argv := range commands(op, d, before) {
		if err := a.act(ctx, argv); err != nil {
			trouble = err
		}
	}
	after, unread, err := a.inQueue(ctx, owner, tags)
	if err != nil {
		return nil, err
	}
	for i, k := range d.targets {
		was, is := before[k], after[k]
		answers[i] = outcome(op, was, is, trouble)
		if op == adapters.Cancel && isWaiting(was) && is.ID == "" && !adapters.UnreadOf(unread, was.Tag) {
			a.noteCancel(owner, was)
		}
	}
	refuseUnread(jobs, unread, after, answers)
	return answers, nil
}

// refuseUnread sets an error as the answer for each job that may exist although squeue does not show it: an unreadable
// record may describe that job.
func refuseUnread(jobs []adapters.Ref, unread []adapters.Unread, seen map[key]jjm.Report, answers []error) {
	for i, ref := range jobs {
		if k, ok := refKey(ref); ok && answers[i] == nil && seen[k].ID == "" {
			answers[i] = adapters.Doubt(unread, ref)
		}
	}
}

// inQueue returns the jobs with these tags in squeue's answer.
func (a *Adapter) inQueue(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) (map[key]jjm.Report,
	[]adapters.Unread, error) {
	rows, unread, err := a.squeue(ctx, owner, tags)
	if err != nil {
		return nil, nil, err
	}
	found := map[key]jjm.Report{}
	for _, r := range reports(rows, jjm.At(a.env.Now()), 0) {
		found[keyOf(&r)] = r
	}
	return found, unread, nil
}

// act runs a command that changes something. The error contains the command's output.
func (a *Adapter) act(ctx context.Context, argv []string) error {
	out, err := a.timed.Run(ctx, nil, argv...)
	if err != nil {
		return adapters.AsBusy(err)
	}
	text := adapters.Brief(out.Stderr)
	switch {
	case out.Exit == 0:
		return nil
	case strings.Contains(text, "Access/permission denied"):
		return jjm.Errorf(jjm.Denied, "%s: exit %d: %s", argv[0], out.Exit, text)
	}
	return jjm.Errorf(jjm.Busy, "%s: exit %d: %s", argv[0], out.Exit, text)
}

func isWaiting(r jjm.Report) bool { return r.State == jjm.BatchQueued || r.State == jjm.BatchHold }

// decision lists the jobs to act on. targets maps positions in the request to the keys of jobs; arrays maps the ids of
// arrays to the indices of their jobs.
type decision struct {
	targets map[int]key
	arrays  map[string][]int32
}

// decide selects the jobs to act on, and sets the answers for the other jobs.
func decide(op adapters.Op, jobs []adapters.Ref, seen map[key]jjm.Report, answers []error) decision {
	d := decision{map[int]key{}, map[string][]int32{}}
	for i, ref := range jobs {
		k, ok := refKey(ref)
		if !ok {
			continue // no job can have this id
		}
		r, alive := seen[k]
		alive = alive && !r.State.Ended() // a job in an unknown state counts as alive
		switch {
		case answers[i] != nil:
		case !alive: // the job is gone or has ended, or the id belongs to another job
		case op == adapters.HoldJobs && !isWaiting(r):
			answers[i] = jjm.Errorf(jjm.Conflict, "job %s runs already: only a waiting job can be held", r.ID)
		case op == adapters.HoldJobs && r.State == jjm.BatchHold, op == adapters.Release && r.State != jjm.BatchHold:
		default:
			d.targets[i] = k
			array := arrayOf(k)
			d.arrays[array] = append(d.arrays[array], k.index)
		}
	}
	return d
}

// refKey returns the key of the job that a Ref names; ok is false if no job can have the id.
func refKey(ref adapters.Ref) (k key, ok bool) {
	array, indices, err := refID(ref)
	if err != nil || len(indices) != 1 {
		return key{}, false
	}
	return key{ref.Tag, jobID(array, indices[0]), indices[0]}, true
}

// arrayOf returns the id of a job's array.
func arrayOf(k key) string { return strings.TrimSuffix(k.id, "_"+strconv.Itoa(int(k.index))) }

// splitAtOnce is the number of an array's waiting jobs that one scontrol command may change. Slurm must first make a
// separate record for each job that still waits inside its array, which took the controller 150 ms for each job. All
// other commands wait meanwhile, and with 100 jobs they would wait longer than their MessageTimeout.
const splitAtOnce = 20

// commands returns the commands for a decision. If the decision contains all living jobs of an array, the command names
// the whole array, because such a command is quick and Slurm then keeps a record of each job.
func commands(op adapters.Op, d decision, seen map[key]jjm.Report) [][]string {
	alive := map[string]int{}
	for k, r := range seen {
		if !r.State.Ended() {
			alive[arrayOf(k)]++
		}
	}
	verb := map[adapters.Op][]string{
		adapters.Cancel: {"scancel"}, adapters.HoldJobs: {"scontrol", "hold"}, adapters.Release: {"scontrol", "release"},
	}[op]
	var words []string
	for _, array := range slices.Sorted(maps.Keys(d.arrays)) {
		indices := slices.Compact(slices.Sorted(slices.Values(d.arrays[array])))
		size := splitAtOnce
		if op == adapters.Cancel {
			size = 1000
		}
		if len(indices) == alive[array] {
			words = append(words, array)
			continue
		}
		for some := range slices.Chunk(indices, size) {
			words = append(words, array+"_["+ranges(some)+"]")
		}
	}
	var out [][]string
	size := 1
	if op == adapters.Cancel {
		size = 100
	}
	for some := range slices.Chunk(words, size) {
		out = append(out, append(slices.Clone(verb), some...))
	}
	return out
}

// ranges returns sorted numbers in the form "0-2,5".
func ranges(n []int32) string {
	var parts []string
	for i := 0; i < len(n); {
		k := i
		for k+1 < len(n) && n[k+1] == n[k]+1 {
			k++
		}
		part := strconv.Itoa(int(n[i]))
		if k > i {
			part += "-" + strconv.Itoa(int(n[k]))
		}
		parts = append(parts, part)
		i = k + 1
	}
	return strings.Join(parts, ",")
}

// outcome returns the answer for one job from its reports before (was) and after (is) the commands. A zero report means
// that the job no longer exists. trouble is the error of the commands, nil if they succeeded.
func outcome(op adapters.Op, was, is jjm.Report, trouble error) error {
	failed := func(what string) error {
		if trouble != nil {
			return trouble
		}
		return jjm.Errorf(jjm.Busy, "job %s: %s although the command reported no error", was.ID, what)
	}
	switch {
	case is.State.Ended() || is.State == jjm.BatchUnknown && is.ID == "":
		return nil
	case op == adapters.Cancel && isWaiting(is):
		return failed("it still waits")
	case op == adapters.Cancel: // the job has received its signal, unless the command failed
		return trouble
	case op == adapters.HoldJobs && is.State == jjm.BatchQueued:
		return failed("it is not held")
	case op == adapters.HoldJobs && is.State != jjm.BatchHold:
		return jjm.Errorf(jjm.Conflict, "job %s started before it could be held", was.ID)
	case op == adapters.Release && is.State == jjm.BatchHold && is.Hold == "JobHeldAdmin":
		return jjm.Errorf(jjm.Denied, "job %s: it is held by an administrator", was.ID)
	case op == adapters.Release && is.State == jjm.BatchHold:
		return failed("it is still held")
	}
	return nil
}

// noteCancel stores the end of a job that waited inside its array and vanished after a cancel, because neither squeue
// nor sacct has a record of such a job.
func (a *Adapter) noteCancel(owner jjm.Owner, was jjm.Report) {
	r := jjm.Report{
		Tag: was.Tag, Index: was.Index, ID: was.ID, State: jjm.BatchCancelled, Submitted: was.Submitted,
		Ended: jjm.At(a.env.Now()), Source: "scancel", Reason: "cancelled while it waited; Slurm keeps no record of that",
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancelled[keyOf(&r)] = cancelledJob{owner.User, r}
}

// cancelledJob is the report of a cancelled job of which Slurm has no record, and the job's user.
type cancelledJob struct {
	user   string
	report jjm.Report
}

// cancelKept is how long after a cancel the adapter reports jobs of which Slurm has no record.
const cancelKept = 24 * time.Hour

// cancelledJobs returns the stored cancellations of an owner's jobs after since.
func (a *Adapter) cancelledJobs(owner jjm.Owner, since jjm.Time) []jjm.Report {
	old := jjm.At(a.env.Now()).Add(-cancelKept)
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []jjm.Report
	for k, w := range a.cancelled {
		switch {
		case w.report.Ended < old:
			delete(a.cancelled, k)
		case w.user == owner.User && w.report.Ended > since:
			out = append(out, w.report)
		}
	}
	return out
}
