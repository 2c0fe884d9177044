package sge

import (
	"context"
	"slices"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// List reads the living tasks from one qstat, and the ended tasks from the accounting file. It reads the living tasks
// first, so that a task that ends between the two readings is in both sources instead of in none. A second command,
// qstat -j, looks up facts about some arrays (see memory.toAskAbout).
func (a *Adapter) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	entries, unread, err := a.qstat(ctx, owner)
	if err != nil {
		return adapters.Listing{}, a.wrap(err, "list the jobs of %s", owner.User)
	}
	now := a.env.Now()
	if err := a.history.refresh(ctx, now); err != nil {
		return adapters.Listing{}, a.wrap(err, "list the jobs of %s", owner.User)
	}
	if ask := a.memory.toAskAbout(entries, now); len(ask) > 0 {
		details, err := a.details(ctx, ask)
		if err != nil {
			return adapters.Listing{}, a.wrap(err, "list the jobs of %s", owner.User)
		}
		a.memory.learn(details, now)
	}
	alive := a.memory.reports(entries)
	a.addRestarts(alive, owner)
	late := a.memory.awaitingRecords(owner.User, alive, a.history, now, a.recordDelay())
	notes := a.notes.all(owner.User, now)
	records := a.history.of(owner.User, jjm.At(since))
	records = slices.DeleteFunc(records, func(r record) bool { return r.mayStillWait() && mayBe(unread, r.key) })
	unread = append(unread, a.history.unreadOf(owner.User)...)
	recorded := func(k key) bool { // reports whether the task has a record, or may be alive
		_, ok := a.history.get(k, owner.User)
		return ok || mayBe(unread, k)
	}
	reports := endReports(alive, late, records, notes, jjm.At(since), recorded)
	for _, r := range alive {
		reports = append(reports, r)
	}
	return adapters.Listing{At: now, Reports: reports, Unread: unread}, nil
}

// mayBe reports whether one of the unreadable records may belong to a task.
func mayBe(unread []adapters.Unread, k key) bool {
	ref := adapters.Ref{Tag: k.tag, ID: k.id(), Index: k.task - 1}
	return slices.ContainsFunc(unread, func(u adapters.Unread) bool { return u.MayBe(ref) })
}

// readBoth lists the live tasks with qstat, and then refreshes the accounting history. unread are the unreadable
// records of qstat and of the history.
func (a *Adapter) readBoth(ctx context.Context, owner jjm.Owner) (entries []entry, unread []adapters.Unread,
	err error) {
	entries, unread, err = a.qstat(ctx, owner)
	if err != nil {
		return nil, nil, err
	}
	if err := a.history.refresh(ctx, a.env.Now()); err != nil {
		return nil, nil, err
	}
	return entries, append(unread, a.history.unreadOf(owner.User)...), nil
}

// recordDelay returns how long after its end a task may still lack a record.
func (a *Adapter) recordDelay() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.site.flushTime() + slack
}

// addRestarts sets the number of earlier runs of the living tasks.
func (a *Adapter) addRestarts(alive map[key]jjm.Report, owner jjm.Owner) {
	for k, r := range alive {
		if rec, ok := a.history.get(k, owner.User); ok {
			r.Restarts = max(r.Restarts, ranBefore(r, rec))
			alive[k] = r
		}
	}
}

// ranBefore returns the number of earlier runs of a living task according to its last record. If the current run ended
// just after the qstat, the last record describes the current run itself, which ranBefore does not count. Such a record
// has a start, by the worker's clock, that is not earlier than the start that qmaster reported.
func ranBefore(alive jjm.Report, last record) int {
	if alive.Started != 0 && last.started >= alive.Started {
		return last.runs - 1
	}
	return last.runs
}

// endReports returns a report for each task that ended at since or later. The report comes from the task's record or,
// if there is no record, from the note of its cancel. late are tasks that left the queue and have no record yet.
// recorded reports whether a task has a record or may be alive.
func endReports(alive map[key]jjm.Report, late []jjm.Report, records []record, notes map[key]note, since jjm.Time,
	recorded func(key) bool) []jjm.Report {
	var out []jjm.Report
	for _, rec := range records {
		if _, lives := alive[rec.key]; lives {
			continue // the task was rescheduled, or is in error
		}
		if r := rec.end(notes); r.Ended >= since {
			out = append(out, r)
		}
	}
	waits := map[key]bool{} // tasks that have no record yet
	for _, r := range late {
		k, _ := keyOf(adapters.Ref{Tag: r.Tag, ID: r.ID, Index: -1})
		if t, noted := notes[k]; noted && t.started == 0 {
			continue // cancelled before its start: Grid Engine writes no record
		}
		waits[k] = true
		out = append(out, r)
	}
	for k, t := range notes {
		if _, lives := alive[k]; !lives && !waits[k] && t.at >= since && !recorded(k) {
			out = append(out, t.report(k))
		}
	}
	return out
}

// end returns the report for a record. It also needs the notes of cancels: if a task in error or a rescheduled task is
// deleted, Grid Engine writes no further record, so only the note shows the cancel.
func (r record) end(notes map[key]note) jjm.Report {
	t, cancelled := notes[r.key]
	if cancelled && r.mayStillWait() {
		rep := t.report(r.key)
		rep.Host, rep.Started, rep.Restarts = r.host, r.started, max(0, r.runs-1)
		return rep
	}
	return r.report(cancelled)
}

// Find searches the living, the recorded and the cancelled tasks for tags. If no such task has a tag, the tag is
// absent: a bulk is submitted held, so it cannot have run and vanished before it was released.
func (a *Adapter) Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	entries, unread, err := a.readBoth(ctx, owner)
	if err != nil {
		return nil, a.wrap(err, "find %d tags of %s", len(tags), owner.User)
	}
	now := a.env.Now()
	bulks := a.memory.recentBulks(owner.User, now, a.recordDelay())
	for _, e := range entries {
		bulks[bulkKey{e.tag, e.bulk}] = true
	}
	for _, r := range a.history.of(owner.User, 0) {
		bulks[bulkKey{r.tag, r.bulk}] = true
	}
	for k := range a.notes.all(owner.User, now) {
		bulks[bulkKey{k.tag, k.bulk}] = true
	}
	return found(tags, bulks, unread), nil
}

// Account returns the ends of tasks. It runs qstat only if the task of some record or note may still wait.
func (a *Adapter) Account(ctx context.Context, owner jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	if err := a.history.refresh(ctx, a.env.Now()); err != nil {
		return nil, a.wrap(err, "account %s of %s", jjm.Count(len(jobs), "job"), owner.User)
	}
	notes := a.notes.all(owner.User, a.env.Now())
	var reports []jjm.Report
	var doubtful []key
	for _, job := range jobs {
		k, ok := keyOf(job)
		if !ok {
			continue
		}
		r, recorded := a.history.get(k, owner.User)
		_, noted := notes[k]
		switch {
		case recorded && !r.mayStillWait():
			reports = append(reports, r.end(notes))
		case recorded || noted:
			doubtful = append(doubtful, k)
		}
	}
	unread := a.history.unreadOf(owner.User)
	if len(doubtful) > 0 {
		more, odd, err := a.ofDoubtful(ctx, owner, doubtful, notes)
		if err != nil {
			return nil, a.wrap(err, "account %s of %s", jjm.Count(len(jobs), "job"), owner.User)
		}
		reports, unread = append(reports, more...), odd
	}
	return append(reports, adapters.Doubtful(unread, jobs, reports)...), nil
}

// ofDoubtful returns the ends of those tasks that have a record or a note. It leaves out living tasks and tasks that an
// unreadable record may describe. unread are the unreadable records.
func (a *Adapter) ofDoubtful(ctx context.Context, owner jjm.Owner, tasks []key, notes map[key]note) (
	reports []jjm.Report, unread []adapters.Unread, err error) {
	entries, unread, err := a.readBoth(ctx, owner)
	if err != nil {
		return nil, nil, err
	}
	alive := a.memory.reports(entries)
	for _, k := range tasks {
		if _, lives := alive[k]; lives || mayBe(unread, k) {
			continue
		}
		if r, recorded := a.history.get(k, owner.User); recorded {
			reports = append(reports, r.end(notes))
		} else {
			reports = append(reports, notes[k].report(k))
		}
	}
	return reports, unread, nil
}
