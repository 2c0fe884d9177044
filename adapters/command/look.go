package command

import (
	"context"
	"slices"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// List runs the verb list. It omits jobs that ended before since.
func (a *Adapter) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	got, err := a.query(ctx, "list", a.d.list, a.queryValues(a.d.list, owner, since))
	if err != nil {
		return adapters.Listing{}, err
	}
	from := jjm.At(since.Add(-a.d.times.resolution))
	l := adapters.Listing{At: a.env.Now(), Reports: make([]jjm.Report, 0, len(got.jobs)), Unread: got.unread}
	for _, j := range got.jobs {
		if !j.State.Ended() || j.Ended == 0 || j.Ended >= from {
			l.Reports = append(l.Reports, j.Report)
		}
	}
	return l, nil
}

// Find looks up tags with the verb find, or with list if the description has no find. It looks up the tags that this
// command did not show with the verb account, if account needs no ids. A tag is Absent if each of these commands
// answered and no answer has the tag.
func (a *Adapter) Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	got, err := a.jobsOfTags(ctx, owner, tags)
	if err != nil {
		return nil, err
	}
	found := bulksByTag(tags, got, adapters.Absent)
	q := a.d.account
	if q == nil || q.command.has("JOB_ID", "JOB_IDS", nameBulkID, "BATCH_JOB_IDS") {
		return found, nil
	}
	var missing []jjm.Tag
	for _, f := range found {
		if f.Presence != adapters.Present {
			missing = append(missing, f.Tag)
		}
	}
	more, err := a.byTag(ctx, "account", q, owner, missing)
	unless := adapters.Absent
	if err != nil {
		unless = adapters.NotYetKnown // the listing lacks these tags, but accounting did not answer
	}
	more.unread = append(more.unread, got.unread...)
	for _, f := range bulksByTag(missing, more, unless) {
		found[slices.IndexFunc(found, func(old adapters.Found) bool { return old.Tag == f.Tag })] = f
	}
	return found, nil
}

// bulksByTag returns, for each tag, the bulks that have the tag. A tag without bulks gets the presence unless, or
// NotYetKnown if an unreadable record may have the tag.
func bulksByTag(tags []jjm.Tag, got answer, unless adapters.Presence) []adapters.Found {
	found := make([]adapters.Found, len(tags))
	at := map[jjm.Tag]int{}
	for i, tag := range tags {
		found[i] = adapters.Found{Tag: tag, Presence: unless}
		if adapters.UnreadOf(got.unread, tag) {
			found[i].Presence = adapters.NotYetKnown
		}
		at[tag] = i
	}
	for _, j := range got.jobs {
		i, asked := at[j.Tag]
		if !asked {
			continue
		}
		found[i].Presence = adapters.Present
		if !slices.Contains(found[i].IDs, j.bulk) {
			found[i].IDs = append(found[i].IDs, j.bulk)
		}
	}
	return found
}

// jobsOfTags returns the jobs with these tags from the verb find, or from list if the description has no find.
func (a *Adapter) jobsOfTags(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) (answer, error) {
	if a.d.find != nil {
		return a.byTag(ctx, "find", a.d.find, owner, tags)
	}
	q := a.d.list
	return a.query(ctx, "find", q, a.queryValues(q, owner, a.env.Now().Add(-q.history)))
}

// byTag looks up tags with a query. Each call names as many tags as the command takes.
func (a *Adapter) byTag(ctx context.Context, what string, q *query, owner jjm.Owner, tags []jjm.Tag) (all answer,
	err error) {
	v := a.queryValues(q, owner, a.env.Now().Add(-q.history))
	ask := func(some []string) (answer, error) {
		v.words["TAG"], v.lists["TAGS"] = some[0], some
		return a.query(ctx, what, q, v)
	}
	for chunk := range slices.Chunk(texts(tags), a.chunkSize(q, len(tags))) {
		got, err := askAll(chunk, q.command.has("TAGS"), func(j job) string { return string(j.Tag) }, ask)
		if err != nil {
			return answer{}, err
		}
		all.add(got)
	}
	return all, nil
}

// askAll looks up several ids or tags in one command. Some commands silently answer only a part of the request
// (OpenPBS's qstat was recorded to answer only the first of several ids). If single is set, and the answer has some but
// not all of the ids or tags, askAll looks up each missing id or tag separately.
func askAll(all []string, single bool, name func(job) string, ask func([]string) (answer, error)) (answer, error) {
	got, err := ask(all)
	if err != nil || !single || len(all) == 1 {
		return got, err
	}
	answered := map[string]bool{}
	for _, j := range got.jobs {
		answered[name(j)] = true
	}
	missing := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return answered[s] })
	if len(missing) == len(all) {
		return got, nil
	}
	for _, s := range missing {
		more, err := ask([]string{s})
		if err != nil {
			return answer{}, err
		}
		got.add(more)
	}
	return got, nil
}

// chunkSize returns how many of n tags one call looks up. If the command names neither ids nor tags, one call looks up
// all of them.
func (a *Adapter) chunkSize(q *query, n int) int {
	if !q.command.has(append(slices.Clone(singular), plural...)...) {
		return max(1, n)
	}
	return q.perCall
}

func texts[S ~string](all []S) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = string(s)
	}
	return out
}

// Account runs the verb account. Only jobs with the right tag count, because ids are reused. If a job has several
// records, the record with the latest submission counts.
func (a *Adapter) Account(ctx context.Context, owner jjm.Owner, refs []adapters.Ref) ([]jjm.Report, error) {
	if a.d.account == nil || len(refs) == 0 {
		return nil, busyIfEnded(ctx)
	}
	got, err := a.accounts(ctx, owner, refs)
	if err != nil {
		return nil, err
	}
	type key struct {
		tag jjm.Tag
		id  string
	}
	last := map[key]jjm.Report{}
	for _, j := range got.jobs {
		k := key{j.Tag, j.ID}
		if old, twice := last[k]; j.State.Ended() && (!twice || j.Submitted >= old.Submitted) {
			last[k] = j.Report
		}
	}
	var reports []jjm.Report
	for _, ref := range refs {
		if r, known := last[key{ref.Tag, a.d.refID(ref)}]; known {
			reports = append(reports, r)
		}
	}
	return append(reports, adapters.Doubtful(got.unread, refs, reports)...), nil
}

// accounts looks up jobs by what the command names: tags, job ids or bulk ids.
func (a *Adapter) accounts(ctx context.Context, owner jjm.Owner, refs []adapters.Ref) (all answer, err error) {
	q := a.d.account
	if !q.command.has("JOB_ID", "JOB_IDS", nameBulkID, "BATCH_JOB_IDS") {
		return a.byTag(ctx, "account", q, owner, distinct(refs, func(r adapters.Ref) jjm.Tag { return r.Tag }))
	}
	of, name := a.d.refID, func(j job) string { return j.ID }
	if q.command.has(nameBulkID, "BATCH_JOB_IDS") {
		of, name = a.d.refBulk, func(j job) string { return j.bulk }
	}
	v := a.queryValues(q, owner, a.env.Now().Add(-q.history))
	ask := func(some []string) (answer, error) {
		v.words["JOB_ID"], v.lists["JOB_IDS"] = some[0], some
		v.words[nameBulkID], v.lists["BATCH_JOB_IDS"] = some[0], some
		return a.query(ctx, "account", q, v)
	}
	for chunk := range slices.Chunk(distinct(refs, of), q.perCall) {
		got, err := askAll(chunk, true, name, ask)
		if err != nil {
			return answer{}, err
		}
		all.add(got)
	}
	return all, nil
}

// distinct calls the function of for each reference and returns the different results in the order of their first
// occurrence.
func distinct[T comparable](refs []adapters.Ref, of func(adapters.Ref) T) []T {
	var all []T
	seen := map[T]bool{}
	for _, r := range refs {
		if t := of(r); !seen[t] {
			seen[t] = true
			all = append(all, t)
		}
	}
	return all
}

// refID returns the id of the job that a reference names.
func (d *Description) refID(r adapters.Ref) string {
	if r.Index < 0 {
		return r.ID
	}
	return d.ids.id(r.ID, r.Index)
}

// refBulk returns the id of the bulk that contains the job of a reference.
func (d *Description) refBulk(r adapters.Ref) string {
	if r.Index < 0 {
		if bulk, _, _ := d.ids.read(r.ID); bulk != "" {
			return bulk
		}
	}
	return r.ID
}

func busyIfEnded(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return jjm.Errorf(jjm.Busy, "%w", err)
	}
	return nil
}
