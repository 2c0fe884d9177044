package proof

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/work/cover"
)

// laterGeneration returns the generation of a grid job for the job file of a recovery: 0 for the
// first generation, which the file does not mention.
func laterGeneration(job *jjm.GridJob) int {
	if job.Generation > 1 {
		return job.Generation
	}
	return 0
}

// joined holds the recoveries of a task. Verification treats the local jobs of the recoveries as local jobs of the
// task, numbered after the task's own local jobs, and the recoveries' rows of the ledger as rows of the task.
type joined struct {
	base  int // number of local jobs of the task itself
	tasks []*task
	jobs  []cover.Job // of all recoveries, renumbered
	rows  []cover.Row // of all recoveries, renumbered, in the order of the ledger
	// owned are, for each recovery, the rows that were not released and whose local jobs have completed or may still
	// complete.
	owned [][]cover.Row
	// first is, for each recovery, the number of its first local job.
	first []int32
	// replaced are the local jobs that processed less than they own and whose work a
	// recovery took over, each with the position of the recovery in tasks. The work that
	// these local jobs processed does not count.
	replaced map[int32]int
}

// made returns the number of local jobs of a task and its recoveries.
func (t *task) made() int {
	if t.joined == nil {
		return t.facts.Made
	}
	return t.joined.base + len(t.joined.jobs)
}

// joinedTask returns the first step of a grid job as a task, with its recoveries.
func (pr *Prover) joinedTask(ctx context.Context, caller wire.Caller, job *jjm.GridJob) (*task, []wire.Recovery,
	error) {
	t, err := pr.task(ctx, job)
	if err != nil {
		return nil, nil, err
	}
	recoveries, err := pr.joinRecoveries(ctx, caller, t)
	return t, recoveries, err
}

// joinRecoveries adds to a task the work of the recoveries of its grid job, and returns all the recoveries. A recovery
// that counts in another unit, is not prepared, or cannot be verified (kinds Invalid and Gone) is left out, and its
// wire.Recovery.Apart says why. All other errors are returned.
func (pr *Prover) joinRecoveries(ctx context.Context, caller wire.Caller, t *task) ([]wire.Recovery, error) {
	ids, err := pr.b.Store.Recoveries(ctx, t.grid)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	numbers, err := t.numbers()
	if err != nil {
		return nil, err
	}
	j := &joined{base: t.facts.Made, replaced: map[int32]int{}}
	out := make([]wire.Recovery, len(ids))
	for i, id := range ids {
		out[i].ID = id
		more, status, err := pr.recoveryTask(ctx, caller, id, t.facts.Unit)
		out[i].Status = status
		if k := jjm.KindOf(err); k == jjm.Conflict || k == jjm.Invalid || k == jjm.Gone {
			out[i].Apart = err.Error()
			continue
		}
		if err == nil {
			err = pr.join(ctx, j, more, numbers)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(j.rows, func(a, b cover.Row) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Run, b.Run), cmp.Compare(a.First, b.First),
			cmp.Compare(a.Local, b.Local))
	})
	j.owned = make([][]cover.Row, len(j.tasks))
	for _, r := range j.rows {
		c, n := &j.jobs[int(r.Local)-j.base], j.of(r.Local)
		over := c.State.Final() || c.State == jjm.New && j.tasks[n].facts.Over // new, but not to be submitted
		if !r.Released && (c.State == jjm.Completed || !over) {
			j.owned[n] = append(j.owned[n], r)
		}
	}
	t.joined = j
	return out, pr.findReplaced(ctx, t)
}

// madeNone is the reason why a recovery that has made no local jobs is not counted.
const madeNone = "it made no local jobs"

// recoveryTask returns a recovery as a task, with its status. The error is of kind Conflict
// if the recovery is not prepared or counts in another unit.
func (pr *Prover) recoveryTask(ctx context.Context, caller wire.Caller, id jjm.GridID, unit string) (*task, string,
	error) {
	job, err := pr.s.Find(ctx, caller, id)
	if err != nil {
		return nil, "", err
	}
	if !job.Step.Prepared {
		return nil, job.Status.String(), jjm.Errorf(jjm.Conflict, madeNone)
	}
	t, err := pr.task(ctx, &job)
	if err != nil {
		return t, job.Status.String(), err
	}
	if t.facts.Made > 0 && t.facts.Unit != unit {
		err = jjm.Errorf(jjm.Conflict, "it counts in units of %s, the grid job in units of %s", t.facts.Unit, unit)
	}
	return t, job.Status.String(), err
}

// numbers returns the numbers of the files of a task by LFN; nil if the task reads no files.
func (t *task) numbers() (map[string]int64, error) {
	if t.files == nil {
		return nil, nil
	}
	numbers := map[string]int64{}
	for f, err := range t.files {
		if err != nil {
			return nil, err
		}
		numbers[f.LFN] = f.N
	}
	return numbers, nil
}

// join adds one recovery. A file that does not belong to the task gets a number above all other numbers, and
// verification then reports the local jobs that own the file. The error is of kind Internal if local jobs are missing.
func (pr *Prover) join(ctx context.Context, j *joined, more *task, numbers map[string]int64) error {
	base := int32(j.base + len(j.jobs))
	to := map[int64]int64{} // from numbers of files in the recovery to those in the task
	if more.files != nil {
		for f, err := range more.files {
			if err != nil {
				return err
			}
			n, ok := numbers[f.LFN]
			if !ok {
				n = int64(len(numbers)) + 1<<40 + f.N
			}
			to[f.N] = n
		}
	}
	err := pr.jobsOf(ctx, more, func(c cover.Job) error {
		c.N += base
		j.jobs = append(j.jobs, c)
		return nil
	})
	if err == nil {
		err = more.rowsOf(ctx, func(r cover.Row) error {
			if r.Local += base; more.files != nil {
				r.File = to[r.File]
			}
			j.rows = append(j.rows, r)
			return nil
		})
	}
	if len(j.jobs)+j.base < int(base)+more.facts.Made {
		return jjm.Errorf(jjm.Internal, "grid job %s: %d local jobs of %d are there", more.grid, len(j.jobs)+j.base-int(base),
			more.facts.Made)
	}
	j.tasks, j.first = append(j.tasks, more), append(j.first, base)
	return err
}

// of returns the position of the recovery that local job n belongs to, -1 for the task
// itself.
func (j *joined) of(n int32) int {
	i := len(j.first) - 1
	for i >= 0 && n < j.first[i] {
		i--
	}
	return i
}

// findReplaced fills replaced with the local jobs that processed less than they own, if a later recovery owns a part of
// their work.
func (pr *Prover) findReplaced(ctx context.Context, t *task) error {
	j, short := t.joined, map[int32]bool{}
	note := func(c cover.Job) error {
		if cover.IsShort(t.facts.Unit, &c) {
			short[c.N] = true
		}
		return nil
	}
	if err := pr.jobsOf(ctx, t, note); err != nil {
		return err
	}
	for _, c := range j.jobs {
		_ = note(c)
	}
	if len(short) == 0 {
		return nil
	}
	look := func(r cover.Row) error {
		if short[r.Local] && !r.Released {
			if by := j.takenOver(&r); by > j.of(r.Local) {
				j.replaced[r.Local] = by
			}
		}
		return nil
	}
	for _, r := range j.rows {
		_ = look(r)
	}
	return t.rowsOf(ctx, look)
}

// takenOver returns the position, in tasks, of the last recovery that owns units of the row and has done these units or
// may still do them; -1 if there is no such recovery.
func (j *joined) takenOver(r *cover.Row) int {
	for k := len(j.owned) - 1; k >= 0; k-- {
		rows := j.owned[k] // these rows do not overlap: the store refuses overlaps
		next, _ := slices.BinarySearchFunc(rows, *r, func(a, b cover.Row) int {
			return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Run, b.Run), cmp.Compare(a.First, b.Last+1))
		})
		if next > 0 && rows[next-1].File == r.File && rows[next-1].Run == r.Run && rows[next-1].Last >= r.First {
			return k
		}
	}
	return -1
}

// with adds the recoveries to the facts of a task. It returns the task's streams of local jobs and rows, with the local
// jobs and rows of the recoveries merged in, in the order of the ledger.
func (j *joined) with(f *cover.Facts, jobs func(func(cover.Job) error) error,
	rows func(func(cover.Row) error) error) (func(func(cover.Job) error) error, func(func(cover.Row) error) error) {
	f.Made, f.Recoveries = j.base+len(j.jobs), j.first
	judged := func(fn func(cover.Job) error) func(cover.Job) error {
		return func(c cover.Job) error {
			if _, yes := j.replaced[c.N]; yes {
				c.State, c.Processed = jjm.Failed, nil
			}
			return fn(c)
		}
	}
	allJobs := func(fn func(cover.Job) error) error {
		if err := jobs(judged(fn)); err != nil {
			return err
		}
		for _, c := range j.jobs {
			if err := judged(fn)(c); err != nil {
				return err
			}
		}
		return nil
	}
	allRows := func(fn func(cover.Row) error) error {
		at := 0
		upTo := func(r *cover.Row) error {
			for ; at < len(j.rows) && (r == nil || before(&j.rows[at], r)); at++ {
				if err := fn(j.rows[at]); err != nil {
					return err
				}
			}
			return nil
		}
		err := rows(func(r cover.Row) error {
			if err := upTo(&r); err != nil {
				return err
			}
			return fn(r)
		})
		if err != nil {
			return err
		}
		return upTo(nil)
	}
	return allJobs, allRows
}

// before reports whether row a comes before row b in a ledger.
func before(a, b *cover.Row) bool {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Run, b.Run), cmp.Compare(a.First, b.First)) < 0
}

// names returns the ids of local jobs as people write them, including local jobs of recoveries.
func (t *task) names(locals []int32) []string {
	var out []string
	for _, n := range locals {
		out = append(out, t.name(n).String())
	}
	return out
}

// name returns the id of local job n of a task, which may be a local job of a recovery.
func (t *task) name(n int32) jjm.LocalID {
	if t.joined != nil {
		if i := t.joined.of(n); i >= 0 {
			return jjm.LocalID{Grid: t.joined.tasks[i].grid, N: n - t.joined.first[i]}
		}
	}
	return jjm.LocalID{Grid: t.grid, N: n}
}

// tellRecoveries adds the work of each recovery to v. In the findings, it moves local jobs of recoveries from Locals to
// Others, with their own ids.
func tellRecoveries(t *task, v *wire.Verified) {
	if t.joined == nil {
		return
	}
	for i, f := range v.Findings {
		var own []int32
		for _, n := range f.Locals {
			if t.joined.of(n) < 0 {
				own = append(own, n)
			} else {
				v.Findings[i].Others = append(v.Findings[i].Others, t.name(n).String())
			}
		}
		v.Findings[i].Locals = own
	}
	for k, more := range t.joined.tasks {
		i := slices.IndexFunc(v.Recoveries, func(r wire.Recovery) bool { return r.ID == more.grid })
		r := &v.Recoveries[i]
		r.Units = v.Recovered[k]
		for n, by := range t.joined.replaced {
			if by == k {
				r.Replaces = append(r.Replaces, t.name(n).String())
			}
		}
		slices.Sort(r.Replaces)
		if r.Units > 0 {
			v.Why += fmt.Sprintf("; of these grid job %s did %d", r.ID, r.Units)
		}
	}
	v.Recovered = nil // the work is in Recoveries now
}
