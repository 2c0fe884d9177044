package slurm

import (
	"context"
	"fmt"
	"slices"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Find searches squeue for all tags, and sacct for the tags that squeue does not have. A tag is absent only if both
// commands answered, or if squeue answered and there is no accounting.
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
	rows, unread, err := a.squeue(ctx, owner, tags)
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
		more, answered := a.findInAccounting(ctx, owner, missing, ids)
		unread, sure = append(unread, more...), answered
	}
	return findAnswers(tags, ids, sure, unread), nil
}

// findInAccounting adds the ids in sacct's answer to ids, and reports whether sacct answered. It returns the unreadable
// records.
func (a *Adapter) findInAccounting(ctx context.Context, owner jjm.Owner, tags []jjm.Tag,
	ids map[jjm.Tag][]string) (unread []adapters.Unread, answered bool) {
	from := uts(jjm.At(a.env.Now().Add(-a.config.History.D())))
	for some := range slices.Chunk(tags, tagsAtOnce) {
		records, odd, err := a.sacct(ctx, owner, "-X", "-D", "-S", from, "--name="+joined(some))
		if err != nil {
			return nil, false
		}
		unread = append(unread, odd...)
		for _, r := range records {
			ids[r.tag] = append(ids[r.tag], r.array)
		}
	}
	return unread, true
}

// findAnswers returns the answer for each tag. A tag without ids is absent only if sure is set and no unreadable record
// may have the tag.
func findAnswers(tags []jjm.Tag, ids map[jjm.Tag][]string, sure bool, unread []adapters.Unread) []adapters.Found {
	out := make([]adapters.Found, len(tags))
	for i, t := range tags {
		out[i].Tag = t
		switch {
		case ids[t] != nil:
			out[i].Presence = adapters.Present
			out[i].IDs = slices.Compact(slices.Sorted(slices.Values(ids[t])))
		case sure && !adapters.UnreadOf(unread, t):
			out[i].Presence = adapters.Absent
		}
	}
	return out
}
