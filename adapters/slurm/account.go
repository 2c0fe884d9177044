package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Account returns the ends of jobs. It takes the end of a job from squeue if squeue still shows the job, because squeue
// shows the whole exit code, and otherwise from sacct. Resource usage always comes from sacct.
func (a *Adapter) Account(ctx context.Context, owner jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	found, err := a.account(ctx, owner, jobs)
	if err != nil {
		return nil, fmt.Errorf("slurm: account %s of %s: %w", jjm.Count(len(jobs), "job"), owner.User, err)
	}
	return found, nil
}

func (a *Adapter) account(ctx context.Context, owner jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	s, err := a.siteInfo(ctx)
	if err != nil {
		return nil, err
	}
	wanted, tags, arrays := sortRefs(jobs)
	if len(tags) == 0 {
		return nil, nil
	}
	rows, unread, err := a.squeue(ctx, owner, tags)
	if err != nil {
		return nil, err
	}
	// squeue outranks sacct, even if squeue shows a job alive that sacct shows as ended: such a job was requeued.
	shown := reports(rows, jjm.At(a.env.Now()), 0)
	ended := a.cancelledJobs(owner, 0)
	if s.accounting {
		for some := range slices.Chunk(arrays, tagsAtOnce) {
			records, odd, err := a.sacct(ctx, owner, "-j", strings.Join(some, ","))
			if err != nil {
				return nil, err
			}
			unread = append(unread, odd...)
			ended = append(ended, withSteps(records)...)
		}
	}
	found := pick(wanted, shown, ended)
	return append(found, adapters.Doubtful(unread, jobs, found)...), nil
}

// sortRefs returns the keys of the jobs in a request, their tags, and the ids of their arrays.
func sortRefs(jobs []adapters.Ref) (wanted map[key]bool, tags []jjm.Tag, arrays []string) {
	wanted = map[key]bool{}
	for _, ref := range jobs {
		array, indices, err := refID(ref)
		if err != nil || !ref.Tag.Valid() || len(indices) != 1 {
			continue
		}
		wanted[key{ref.Tag, jobID(array, indices[0]), indices[0]}] = true
		tags, arrays = append(tags, ref.Tag), append(arrays, array)
	}
	slices.Sort(tags)
	slices.Sort(arrays)
	return wanted, slices.Compact(tags), slices.Compact(arrays)
}

// refID returns the array's id and the indices that a Ref names. It returns an error if the Ref's id has not the form
// of a job id.
func refID(ref adapters.Ref) (array string, indices []int32, err error) {
	if ref.Index >= 0 {
		return ref.ID, []int32{ref.Index}, nil
	}
	return parseJobID(ref.ID)
}

// withSteps converts records into reports. It takes the peak memory of a job from the job's steps, because the job's
// own record does not contain it.
func withSteps(records []record) []jjm.Report {
	peak := map[string]int64{}
	for _, r := range records {
		if r.step != "" && len(r.indices) == 1 {
			id := jobID(r.array, r.indices[0])
			peak[id] = max(peak[id], r.rssKB)
		}
	}
	var out []jjm.Report
	for _, r := range records {
		for _, report := range r.reports() {
			report.RSSKB = max(report.RSSKB, peak[report.ID])
			out = append(out, report)
		}
	}
	return out
}

// pick returns one report for each wanted job that has ended: the report from squeue with the usage from accounting, or
// otherwise the report in ended. It omits jobs that squeue shows alive.
func pick(wanted map[key]bool, shown, ended []jjm.Report) []jjm.Report {
	use := map[key]jjm.Report{}
	for _, r := range ended {
		if k := keyOf(&r); wanted[k] && use[k].Source != "sacct" {
			use[k] = r
		}
	}
	var out []jjm.Report
	for _, r := range shown {
		k := keyOf(&r)
		if !wanted[k] {
			continue
		}
		if r.State.Ended() {
			r.CPUms, r.RSSKB = use[k].CPUms, use[k].RSSKB
			out = append(out, r)
		}
		delete(use, k)
		delete(wanted, k)
	}
	for _, r := range use {
		out = append(out, r)
	}
	return out
}
