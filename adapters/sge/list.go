package sge

import (
	"context"
	"time"

	"jjm"
	"jjm/adapters"
)

// List returns the living by one qstat, and the ended from the accounting file. The
// living are read first: a task that ends in between is then in both, not in
// none. A second command, qstat -j, runs only for arrays that it has not been
// asked about: see memory.unclear.
func (a *Adapter) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	entries, err := a.look(ctx, owner)
	if err != nil {
		return adapters.Listing{}, a.wrap(err, "list the jobs of %s", owner.User)
	}
	now := a.env.Now()
	if ask := a.memory.unclear(entries, now); len(ask) > 0 {
		details, err := a.details(ctx, ask)
		if err != nil {
			return adapters.Listing{}, a.wrap(err, "list the jobs of %s", owner.User)
		}
		a.memory.learn(details, now)
	}
	alive := a.memory.reports(entries)
	a.restarts(alive, owner)
	late := a.memory.bridge(owner.User, alive, a.history, now, a.gap())
	notes := a.notes.all(owner.User, now)
	records := a.history.of(owner.User, jjm.At(since))
	recorded := func(k key) bool {
		_, ok := a.history.get(k, owner.User)
		return ok
	}
	reports := ends(alive, late, records, notes, jjm.At(since), recorded)
	for _, r := range alive {
		reports = append(reports, r)
	}
	return adapters.Listing{At: now, Reports: reports}, nil
}

// look reads both sources, the living first.
func (a *Adapter) look(ctx context.Context, owner jjm.Owner) ([]entry, error) {
	entries, err := a.qstat(ctx, owner)
	if err != nil {
		return nil, err
	}
	return entries, a.history.refresh(ctx, a.env.Now())
}

// gap is for how long an ended task may lack a record.
func (a *Adapter) gap() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.site.flush() + slack
}

// restarts adds how often the living have run before.
func (a *Adapter) restarts(alive map[key]jjm.Report, owner jjm.Owner) {
	for k, r := range alive {
		if rec, ok := a.history.get(k, owner.User); ok {
			r.Restarts = max(r.Restarts, ranBefore(r, rec))
			alive[k] = r
		}
	}
}

// ranBefore is how often a living task ran before, by its last record. That one
// may be of this very run, which ended since qstat was asked: then the worker's
// clock says that it began after qmaster had sent it off.
func ranBefore(alive jjm.Report, last record) int {
	if alive.Started != 0 && last.started >= alive.Started {
		return last.runs - 1
	}
	return last.runs
}

// ends returns a report for each task that is over: from its record, or, if there
// is none, from the note of its cancel. Late ones are between the two.
func ends(alive map[key]jjm.Report, late []jjm.Report, records []record, notes map[key]note, since jjm.Time,
	recorded func(key) bool) []jjm.Report {
	var out []jjm.Report
	for _, rec := range records {
		if _, lives := alive[rec.key]; lives {
			continue // rescheduled, or in error
		}
		if r := rec.end(notes); r.Ended >= since {
			out = append(out, r)
		}
	}
	waits := map[key]bool{} // for its record
	for _, r := range late {
		k, _ := keyOf(adapters.Ref{Tag: r.Tag, ID: r.ID, Index: -1})
		if t, noted := notes[k]; noted && t.started == 0 {
			continue // it waited, and was cancelled: no record will come
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

// end is the report of a record, seen beside the notes. A task that is in error
// or rescheduled leaves no record when it is deleted then: its cancel is told by
// the note.
func (r record) end(notes map[key]note) jjm.Report {
	t, cancelled := notes[r.key]
	if cancelled && r.queueable() {
		rep := t.report(r.key)
		rep.Host, rep.Started, rep.Restarts = r.host, r.started, max(0, r.runs-1)
		return rep
	}
	return r.report(cancelled)
}

// Find looks for tags among the living, the recorded and the cancelled. A tag
// that is in none is absent: a bulk arrives held, so it cannot have come and
// gone unless it was released or cancelled.
func (a *Adapter) Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	entries, err := a.look(ctx, owner)
	if err != nil {
		return nil, a.wrap(err, "find %d tags of %s", len(tags), owner.User)
	}
	now := a.env.Now()
	bulks := a.memory.within(owner.User, now, a.gap())
	for _, e := range entries {
		bulks[bulkKey{e.tag, e.bulk}] = true
	}
	for _, r := range a.history.of(owner.User, 0) {
		bulks[bulkKey{r.tag, r.bulk}] = true
	}
	for k := range a.notes.all(owner.User, now) {
		bulks[bulkKey{k.tag, k.bulk}] = true
	}
	return found(tags, bulks), nil
}

// Account returns the ends of tasks. qstat is asked only where a record or a note
// may be of a task that still waits.
func (a *Adapter) Account(ctx context.Context, owner jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	if err := a.history.refresh(ctx, a.env.Now()); err != nil {
		return nil, a.wrap(err, "account %d jobs of %s", len(jobs), owner.User)
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
		case recorded && !r.queueable():
			reports = append(reports, r.end(notes))
		case recorded || noted:
			doubtful = append(doubtful, k)
		}
	}
	if len(doubtful) == 0 {
		return reports, nil
	}
	entries, err := a.look(ctx, owner)
	if err != nil {
		return nil, a.wrap(err, "account %d jobs of %s", len(jobs), owner.User)
	}
	alive := a.memory.reports(entries)
	for _, k := range doubtful {
		r, recorded := a.history.get(k, owner.User)
		if _, lives := alive[k]; lives {
			continue
		}
		if recorded {
			reports = append(reports, r.end(notes))
		} else {
			reports = append(reports, notes[k].report(k))
		}
	}
	return reports, nil
}
