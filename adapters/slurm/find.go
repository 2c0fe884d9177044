package slurm

import (
	"context"
	"fmt"
	"slices"

	"jjm"
	"jjm/adapters"
)

// Find asks squeue, and sacct for tags that squeue does not have. A tag is absent only if
// both answered, or if there is no accounting.
func (a *Adapter) Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	found, err := a.find(ctx, owner, tags)
	if err != nil {
		return nil, fmt.Errorf("slurm: find %d tags of %s: %w", len(tags), owner.User, err)
	}
	return found, nil
}

func (a *Adapter) find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	for _, t := range tags {
		if !t.Valid() {
			return nil, jjm.Errorf(jjm.Invalid, "tag %.20q: want a tag of jjm", t)
		}
	}
	s, err := a.siteInfo(ctx)
	if err != nil || len(tags) == 0 {
		return nil, err
	}
	rows, err := a.squeue(ctx, owner, tags)
	if err != nil {
		return nil, err
	}
	ids := map[jjm.Tag][]string{}
	for i := range rows {
		ids[rows[i].tag] = append(ids[rows[i].tag], rows[i].array)
	}
	missing := slices.DeleteFunc(slices.Clone(tags), func(t jjm.Tag) bool { return ids[t] != nil })
	sure := true
	if s.accounting {
		sure = a.findInAccounting(ctx, owner, missing, ids)
	}
	return findAnswers(tags, ids, sure), nil
}

// findInAccounting adds the ids that sacct has, and reports whether it answered.
func (a *Adapter) findInAccounting(ctx context.Context, owner jjm.Owner, tags []jjm.Tag,
	ids map[jjm.Tag][]string) bool {
	from := uts(jjm.At(a.env.Now().Add(-a.config.History.D())))
	for some := range slices.Chunk(tags, tagsAtOnce) {
		records, err := a.sacct(ctx, owner, "-X", "-D", "-S", from, "--name="+joined(some))
		if err != nil {
			return false
		}
		for _, r := range records {
			ids[r.tag] = append(ids[r.tag], r.array)
		}
	}
	return true
}

func findAnswers(tags []jjm.Tag, ids map[jjm.Tag][]string, sure bool) []adapters.Found {
	out := make([]adapters.Found, len(tags))
	for i, t := range tags {
		out[i].Tag = t
		switch {
		case ids[t] != nil:
			out[i].Presence = adapters.Present
			out[i].IDs = slices.Compact(slices.Sorted(slices.Values(ids[t])))
		case sure:
			out[i].Presence = adapters.Absent
		}
	}
	return out
}
