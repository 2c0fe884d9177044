package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"jjm"
	"jjm/adapters"
)

// Account takes the end of jobs from squeue where it still shows them, as its
// exit codes are whole, and from sacct otherwise; what they used is sacct's.
func (a *Adapter) Account(ctx context.Context, owner jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	found, err := a.account(ctx, owner, jobs)
	if err != nil {
		return nil, fmt.Errorf("slurm: account %d jobs of %s: %w", len(jobs), owner.User, err)
	}
	return found, nil
}

func (a *Adapter) account(ctx context.Context, owner jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	s, err := a.known(ctx)
	if err != nil {
		return nil, err
	}
	wanted, tags, arrays := sought(jobs)
	if len(tags) == 0 {
		return nil, nil
	}
	rows, err := a.squeue(ctx, owner, tags)
	if err != nil {
		return nil, err
	}
	// What squeue shows outranks sacct, also where it shows a job alive that
	// sacct calls over: it was requeued.
	shown := reports(rows, jjm.At(a.env.Now()), 0)
	ended := a.witnesses(owner, 0)
	if s.accounting {
		for some := range slices.Chunk(arrays, tagsAtOnce) {
			records, err := a.sacct(ctx, owner, "-j", strings.Join(some, ","))
			if err != nil {
				return nil, err
			}
			ended = append(ended, withSteps(records)...)
		}
	}
	return pick(wanted, shown, ended), nil
}

// sought sorts out what is asked for: the jobs, their tags, their arrays.
func sought(jobs []adapters.Ref) (wanted map[key]bool, tags []jjm.Tag, arrays []string) {
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

// refID returns the array and index that a Ref names.
func refID(ref adapters.Ref) (array string, indices []int32, err error) {
	if ref.Index >= 0 {
		return ref.ID, []int32{ref.Index}, nil
	}
	return parseJobID(ref.ID)
}

// withSteps makes reports of records, with the peak memory of their steps: the
// job's own line has none.
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

// pick returns the ended jobs that were asked for, each once: as shown by squeue
// with what accounting knows of their use, or as ended by others.
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
