package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// List queries squeue. It also queries sacct if jobs may have ended that squeue has already forgotten: after a start of
// jjm, and if the previous listing is about MinJobAge old. Otherwise every end was shown by some listing.
func (a *Adapter) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	l, err := a.list(ctx, owner, jjm.At(since))
	if err != nil {
		return adapters.Listing{}, fmt.Errorf("slurm: list the jobs of %s: %w", owner.User, err)
	}
	return l, nil
}

func (a *Adapter) list(ctx context.Context, owner jjm.Owner, since jjm.Time) (adapters.Listing, error) {
	s, err := a.siteInfo(ctx)
	if err != nil {
		return adapters.Listing{}, err
	}
	rows, unread, err := a.squeue(ctx, owner, nil)
	if err != nil {
		return adapters.Listing{}, err
	}
	at := a.env.Now()
	l := adapters.Listing{At: at, Reports: reports(rows, jjm.At(at), since), Unread: unread}
	past := a.cancelledJobs(owner, since)
	before := a.coverageOf(owner)
	want := s.accounting && before.gap(since, jjm.At(at), s.minJobAge)
	if want {
		records, unread, err := a.sacct(ctx, owner, "-X", "-S", uts(since))
		if err != nil {
			return adapters.Listing{}, err
		}
		l.Unread = append(l.Unread, unread...)
		for _, r := range records {
			past = append(past, r.reports()...)
		}
	}
	l.Reports = addMissing(l.Reports, past, since)
	a.setCoverage(owner, before.covered(since, jjm.At(at), want))
	return l, nil
}

// reports returns the jobs in rows that are alive or ended after since.
func reports(rows []row, now, since jjm.Time) []jjm.Report {
	out := make([]jjm.Report, 0, len(rows))
	for i := range rows {
		if r := &rows[i]; r.index >= 0 && (!r.state.Ended() || r.end > since) {
			out = append(out, r.report(now))
		}
	}
	return out
}

// addMissing appends the reports of past that ended after since and are not listed yet.
func addMissing(listed, past []jjm.Report, since jjm.Time) []jjm.Report {
	if len(past) == 0 {
		return listed
	}
	have := make(map[key]bool, len(listed)+len(past))
	for i := range listed {
		have[keyOf(&listed[i])] = true
	}
	for _, r := range past {
		if k := keyOf(&r); r.Ended > since && !have[k] {
			have[k] = true
			listed = append(listed, r)
		}
	}
	return listed
}

func keyOf(r *jjm.Report) key { return key{r.Tag, r.ID, r.Index} }

// coverage is the time span in which the listings so far have shown every end of a job.
type coverage struct{ from, to jjm.Time }

// gap reports whether squeue may have forgotten jobs that ended after since before any listing showed them. The
// controller remembers an ended job for MinJobAge at least. gap trusts only three quarters of that time, and nothing if
// MinJobAge is under a minute.
func (c coverage) gap(since, now jjm.Time, minJobAge time.Duration) bool {
	trusted := minJobAge / 4 * 3
	if minJobAge < time.Minute {
		trusted = 0
	}
	remembered := now.Add(-trusted)
	return since < remembered && (trusted == 0 || since < c.from || c.to < remembered || c.to == 0)
}

// covered returns the coverage after a listing at now that shows the ends after since. If accounting is set, the
// listing includes the answer of sacct, and the coverage begins at since; otherwise it keeps its beginning.
func (c coverage) covered(since, now jjm.Time, accounting bool) coverage {
	if accounting || c.to == 0 {
		return coverage{since, now}
	}
	return coverage{c.from, now}
}

func (a *Adapter) coverageOf(owner jjm.Owner) coverage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.coverages[owner.User]
}

func (a *Adapter) setCoverage(owner jjm.Owner, s coverage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.to > a.coverages[owner.User].to {
		a.coverages[owner.User] = s
	}
}

// squeue returns the jobs of an owner that have one of the tags, and the unreadable records; nil tags mean any tag.
func (a *Adapter) squeue(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) (all []row, unread []adapters.Unread,
	err error) {
	argv := []string{"squeue", "-r", "--states=all", "-u", owner.User, "-O", squeueFields}
	if tags == nil {
		return a.squeueOnce(ctx, argv)
	}
	for some := range slices.Chunk(tags, tagsAtOnce) {
		rows, odd, err := a.squeueOnce(ctx, append(slices.Clone(argv), "--name="+joined(some)))
		if err != nil {
			return nil, nil, err
		}
		all, unread = append(all, rows...), append(unread, odd...)
	}
	return all, unread, nil
}

// tagsAtOnce is the largest number of tags in one command: 1000 tags are 16 kB.
const tagsAtOnce = 1000

func joined(tags []jjm.Tag) string {
	words := make([]string, len(tags))
	for i, t := range tags {
		words[i] = string(t)
	}
	return strings.Join(words, ",")
}

// squeueOnce runs one squeue command and parses its output. Its errors are of kind Busy.
func (a *Adapter) squeueOnce(ctx context.Context, argv []string) ([]row, []adapters.Unread, error) {
	text, err := command(ctx, a.timed, argv...)
	if err != nil {
		return nil, nil, err
	}
	rows, unread, err := parseSqueue(string(text))
	if err != nil {
		return nil, nil, jjm.Errorf(jjm.Busy, "squeue: %w", err)
	}
	return rows, unread, nil
}

// sacct runs sacct for the jobs of an owner and parses its output.
func (a *Adapter) sacct(ctx context.Context, owner jjm.Owner, args ...string) ([]record, []adapters.Unread, error) {
	text, err := command(ctx, a.timed, append([]string{"sacct", "-P", "-u", owner.User, "-o", sacctFields}, args...)...)
	if err != nil {
		return nil, nil, err
	}
	records, unread, err := parseSacct(string(text))
	if err != nil {
		return nil, nil, jjm.Errorf(jjm.Busy, "sacct: %w", err)
	}
	return records, unread, nil
}

// uts returns a time in the form of sacct(1). The form has ten digits, so the time is at least 2001.
func uts(t jjm.Time) string {
	return "uts" + strconv.FormatInt(max(int64(t)/1000, 1_000_000_000), 10)
}
