package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm"
	"jjm/adapters"
)

// List asks squeue. It asks sacct too, for what squeue has forgotten, but only
// where there may be such: after a start of jjm, and after a pause in the
// listings of about MinJobAge. What squeue forgets between two listings, one of
// them has shown.
func (a *Adapter) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	l, err := a.list(ctx, owner, jjm.At(since))
	if err != nil {
		return adapters.Listing{}, fmt.Errorf("slurm: list the jobs of %s: %w", owner.User, err)
	}
	return l, nil
}

func (a *Adapter) list(ctx context.Context, owner jjm.Owner, since jjm.Time) (adapters.Listing, error) {
	s, err := a.known(ctx)
	if err != nil {
		return adapters.Listing{}, err
	}
	rows, err := a.squeue(ctx, owner, nil)
	if err != nil {
		return adapters.Listing{}, err
	}
	at := a.env.Now()
	l := adapters.Listing{At: at, Reports: reports(rows, jjm.At(at), since)}
	past := a.witnesses(owner, since)
	memory := a.memory(owner)
	want := s.accounting && memory.gap(since, jjm.At(at), s.minJobAge)
	if want {
		records, err := a.sacct(ctx, owner, "-X", "-S", uts(since))
		if err != nil {
			return adapters.Listing{}, err
		}
		for _, r := range records {
			past = append(past, r.reports()...)
		}
	}
	l.Reports = add(l.Reports, past, since)
	a.cover(owner, memory.covered(since, jjm.At(at), want))
	return l, nil
}

// reports returns what squeue shows of jobs that are alive or ended after since.
func reports(rows []row, now, since jjm.Time) []jjm.Report {
	out := make([]jjm.Report, 0, len(rows))
	for i := range rows {
		if r := &rows[i]; r.index >= 0 && (!r.state.Ended() || r.end > since) {
			out = append(out, r.report(now))
		}
	}
	return out
}

// add appends those of past that end after since and that the listing lacks.
func add(listed, past []jjm.Report, since jjm.Time) []jjm.Report {
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

// span is the time of which every end has been listed.
type span struct{ from, to jjm.Time }

// gap tells whether jobs may have ended after since that squeue has forgotten
// and no listing has shown. The controller forgets them MinJobAge after their
// end at the earliest; a quarter of that is kept in reserve, and of one under a
// minute nothing is relied on.
func (c span) gap(since, now jjm.Time, minJobAge time.Duration) bool {
	trusted := minJobAge / 4 * 3
	if minJobAge < time.Minute {
		trusted = 0
	}
	remembered := now.Add(-trusted)
	return since < remembered && (trusted == 0 || since < c.from || c.to < remembered || c.to == 0)
}

// covered is the span after a listing from since, with or without accounting.
func (c span) covered(since, now jjm.Time, accounting bool) span {
	if accounting || c.to == 0 {
		return span{since, now}
	}
	return span{c.from, now}
}

func (a *Adapter) memory(owner jjm.Owner) span {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spans[owner.User]
}

func (a *Adapter) cover(owner jjm.Owner, s span) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.to > a.spans[owner.User].to {
		a.spans[owner.User] = s
	}
}

// squeue returns the jobs of an owner: those of the tags, or all that carry one.
func (a *Adapter) squeue(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]row, error) {
	argv := []string{"squeue", "-r", "--states=all", "-u", owner.User, "-O", squeueFields}
	if tags == nil {
		return a.squeueOnce(ctx, argv)
	}
	var all []row
	for some := range slices.Chunk(tags, tagsAtOnce) {
		rows, err := a.squeueOnce(ctx, append(slices.Clone(argv), "--name="+joined(some)))
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// tagsAtOnce bounds a command line: 1000 tags are 16 kB.
const tagsAtOnce = 1000

func joined(tags []jjm.Tag) string {
	words := make([]string, len(tags))
	for i, t := range tags {
		words[i] = string(t)
	}
	return strings.Join(words, ",")
}

func (a *Adapter) squeueOnce(ctx context.Context, argv []string) ([]row, error) {
	text, err := command(ctx, a.timed, argv...)
	if err != nil {
		return nil, err
	}
	rows, err := parseSqueue(string(text))
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "squeue: %w", err)
	}
	return rows, nil
}

func (a *Adapter) sacct(ctx context.Context, owner jjm.Owner, args ...string) ([]record, error) {
	text, err := command(ctx, a.timed, append([]string{"sacct", "-P", "-u", owner.User, "-o", sacctFields}, args...)...)
	if err != nil {
		return nil, err
	}
	records, err := parseSacct(string(text))
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "sacct: %w", err)
	}
	return records, nil
}

// uts writes a time as sacct(1) reads it: ten digits, so not before 2001.
func uts(t jjm.Time) string {
	return "uts" + strconv.FormatInt(max(int64(t)/1000, 1_000_000_000), 10)
}
