package local

import (
	"context"
	"sort"
	"strconv"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// List returns the jobs from memory. The id of a report is the job's id, "17_3".
func (a *Adapter) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	if err := ctx.Err(); err != nil {
		return adapters.Listing{}, jjm.Errorf(jjm.Busy, "%s: list: %w", a.name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.errClosed(); err != nil {
		return adapters.Listing{}, err
	}
	from := jjm.At(since)
	total := 0
	for _, b := range a.order {
		if b.visible(owner, from) {
			total += b.N
		}
	}
	l := adapters.Listing{At: a.env.Now(), Reports: make([]jjm.Report, 0, total), Unread: a.unread()}
	for _, b := range a.order {
		if b.visible(owner, from) {
			l.Reports = b.reports(l.Reports, from, a.host, a.waitReason(b))
		}
	}
	return l, nil
}

// visible reports whether a listing contains jobs of the bulk.
func (b *bulk) visible(owner jjm.Owner, from jjm.Time) bool {
	return b.Owner.UID == owner.UID && (b.alive > 0 || b.lastEnd >= from)
}

// reports appends to the list to the reports of the jobs that are alive or ended at or after from. All ids of a bulk
// are parts of one string, which saves memory: a listing may contain a hundred thousand jobs. waits is the reason why
// queued jobs wait.
func (b *bulk) reports(to []jjm.Report, from jjm.Time, host, waits string) []jjm.Report {
	prefix := strconv.FormatInt(b.ID, 10) + "_"
	ids := make([]byte, 0, b.N*(len(prefix)+3))
	first := len(to)
	for pos := range b.jobs {
		j := &b.jobs[pos]
		if j.state.Ended() && j.ended < from {
			continue
		}
		ids = strconv.AppendInt(append(ids, prefix...), int64(pos), 10)
		to = append(to, b.report(int32(pos), host, waits))
		to[len(to)-1].Exit = len(ids) // stores the end of the id temporarily, for the loop below
	}
	all, start := string(ids), 0
	for i := first; i < len(to); i++ {
		r := &to[i]
		r.ID, start = all[start:r.Exit], r.Exit
		r.Exit = int(b.jobs[r.Index].exit)
	}
	return to
}

// report returns the report of a job without the id.
func (b *bulk) report(pos int32, host, waits string) jjm.Report {
	j := &b.jobs[pos]
	r := jjm.Report{
		Tag: b.Tag, Index: pos, State: j.state, Exit: int(j.exit), Signal: int(j.signal), Reason: j.reason,
		Submitted: b.Submitted, Started: j.started, Ended: j.ended, Restarts: int(j.restarts),
		CPUms: j.cpuMS, RSSKB: j.rssKB,
	}
	if j.started != 0 {
		r.Host = host
	}
	if j.reason == "" {
		r.Reason = waitReason(j, waits)
	}
	return r
}

// waitReason returns the reason why a job waits or is about to end. waits is the reason to return for queued jobs.
func waitReason(j *job, waits string) string {
	switch {
	case j.state == jjm.BatchQueued:
		return waits
	case j.state == jjm.BatchHold:
		return "held on request"
	case j.state.Alive() && j.endAsked&byCancel != 0:
		return "being cancelled"
	case j.state.Alive() && j.endAsked&byWalltime != 0:
		return "being ended at its walltime limit"
	}
	return ""
}

// Find returns definite answers, except for a tag that a damaged entry may have.
func (a *Adapter) Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	// Wait for a running Submit: its entry may already be on disk.
	select {
	case a.submitting <- struct{}{}:
		defer func() { <-a.submitting }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return nil, jjm.Errorf(jjm.Busy, "%s: find: %w", a.name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.errClosed(); err != nil {
		return nil, err
	}
	found, unread := make([]adapters.Found, len(tags)), a.unread()
	for i, tag := range tags {
		found[i] = adapters.Found{Tag: tag, Presence: adapters.Absent}
		if adapters.UnreadOf(unread, tag) {
			found[i].Presence = adapters.NotYetKnown
		}
		if b := a.tags[tag]; b != nil && b.Owner.UID == owner.UID {
			found[i].Presence = adapters.Present
			found[i].IDs = []string{strconv.FormatInt(b.ID, 10)}
		}
	}
	return found, nil
}

// Account returns the reports of the jobs that have ended and are still known.
func (a *Adapter) Account(ctx context.Context, owner jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	if err := ctx.Err(); err != nil {
		return nil, jjm.Errorf(jjm.Busy, "%s: account: %w", a.name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.errClosed(); err != nil {
		return nil, err
	}
	var reports []jjm.Report
	for _, ref := range jobs {
		b, pos, err := a.find(owner, ref)
		if err != nil || b == nil || !b.jobs[pos].state.Ended() {
			continue
		}
		r := b.report(pos, a.host, "")
		r.ID = b.name(pos)
		reports = append(reports, r)
	}
	return append(reports, adapters.Doubtful(a.unread(), jobs, reports)...), nil
}

// find returns the bulk and the position of the job that ref names, or a nil bulk if the job is unknown. The error is
// of kind Invalid if ref has no valid id, and of kind Denied if the job belongs to another owner. The caller holds
// a.mu.
func (a *Adapter) find(owner jjm.Owner, ref adapters.Ref) (*bulk, int32, error) {
	b, pos := a.tags[ref.Tag], ref.Index
	if ref.ID != "" {
		number, index, whole := strings.Cut(ref.ID, "_")
		id, err := strconv.ParseInt(number, 10, 64)
		var wrong error
		if whole && pos < 0 {
			var n int64
			n, wrong = strconv.ParseInt(index, 10, 32)
			pos = int32(n)
		}
		if err != nil || wrong != nil {
			return nil, 0, jjm.Errorf(jjm.Invalid, "job id %.40q: want 17 or 17_3", ref.ID)
		}
		b = a.bulks[id]
		if b != nil && ref.Tag != "" && b.Tag != ref.Tag {
			return nil, 0, nil // the id now belongs to another bulk, or comes from another spool
		}
	}
	switch {
	case b == nil:
		return nil, 0, nil
	case b.Owner.UID != owner.UID:
		return nil, 0, jjm.Errorf(jjm.Denied, "job %s: it is not one of user %d", b.name(pos), owner.UID)
	case pos < 0 || int(pos) >= b.N:
		return nil, 0, jjm.Errorf(jjm.Invalid, "job %s: the bulk has %s, from 0", b.name(pos), jjm.Count(b.N, "job"))
	}
	return b, pos, nil
}

// sorted returns the keys in ascending order.
func sorted[V any](m map[int32]V) []int32 {
	keys := make([]int32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, k int) bool { return keys[i] < keys[k] })
	return keys
}
