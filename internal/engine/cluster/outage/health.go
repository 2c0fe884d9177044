// Package outage keeps, for each batch system, whether it answers, and what has been unknown about it for too long. It
// runs no command: the loops of the cluster tell it how their commands ended.
package outage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/policy/why"
	"jjm/internal/storage/store"
)

// Health records whether the batch system answers listings, and which local jobs and submissions have been unknown for
// too long.
type Health struct {
	b    *base.Base
	s    *state.State
	name string
	// again is called when the batch system answers again after an outage.
	again func()

	// mu is taken after the memory lock, never before.
	mu       sync.Mutex
	cause    string    // why the cluster does not answer listings, "" if it is healthy
	badSince time.Time // when the outage began; valid if cause is not ""
	lastGood time.Time
	back     time.Time // when the last outage ended
	overdue  overdue

	// journaled is when the outage began whose end the journal lacks, 0 if none. Only the watch loop uses the field.
	journaled jjm.Time

	// Unlisted are the accounts whose listings fail. It is not used if all jobs run as one account.
	Unlisted Unlisted
}

// overdue contains what has been unknown about a cluster for the time UnknownWarn or longer. Only absent also has the
// attempts that have been missing for a shorter time.
type overdue struct {
	absent  map[jjm.AttemptID]Absent // attempts that the last listing did not have
	cluster bool                     // the cluster answers no listing
	missing map[jjm.AttemptID]Absent // attempts missing from its listings
	bulks   map[jjm.Tag]lateBulk     // bulks whose submission is not settled
}

// lateBulk is a bulk that was formed at the time since and whose submission is still not settled. jobs is the number of
// its open members, why the last error.
type lateBulk struct {
	since jjm.Time
	jobs  int
	why   string
}

// New returns the Health of a cluster that was never listed. again is called at the end of each outage, before the
// grid jobs are woken.
func New(s *state.State, name string, again func()) *Health {
	return &Health{b: s.B, s: s, name: name, again: again}
}

// Healthy reports whether the cluster counts as answering listings (plan.Heard). A cluster that was never listed counts
// as healthy.
func (h *Health) Healthy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause == ""
}

// Note records whether the cluster answers listings. err is the reason why it does not answer, nil if it answers. seen
// is true if the cluster has just answered a listing. If the health or the reason changed, Note logs the change and
// wakes the grid jobs that may use the cluster. At the end of an outage, Note also calls again.
func (h *Health) Note(err error, seen bool) {
	cause := ""
	if err != nil {
		cause = err.Error()
	}
	now := h.b.Now()
	h.mu.Lock()
	before := h.cause
	h.cause = cause
	switch {
	case err == nil:
		h.overdue.cluster = false
	case before == "":
		h.badSince = now
	}
	if seen {
		h.lastGood = now
	}
	if cause == "" && before != "" {
		h.back = now
	}
	h.mu.Unlock()
	switch {
	case cause == before:
	case cause == "":
		h.b.Log.Info("batch system answers again", "cluster", h.name)
		h.again()
		h.wakeGrids()
	default:
		h.b.Log.Warn("batch system answers no listing, its jobs keep their last state", "cluster", h.name, "error", cause)
		h.wakeGrids()
	}
}

// wakeGrids wakes the loops of the grid jobs that may use this cluster, and all submit loops. It is called when the
// health of the cluster has changed.
func (h *Health) wakeGrids() {
	v := h.s.View()
	defer v.Close()
	for id, g := range v.Grids() {
		if slices.Contains(g.Job.Step.Clusters, h.name) {
			h.s.WakeGrid(id)
		}
	}
	h.s.WakeSubmit() // wakes all clusters: waiting work may now go to another cluster, or to this cluster
}

// outageShown is the length from which an outage is in the journal of the site.
const outageShown = time.Minute

// Journal appends an entry to the journal once an outage has lasted for outageShown, and another entry when the outage
// is over. The watch loop calls it after every round of listings.
func (h *Health) Journal(ctx context.Context) error {
	h.mu.Lock()
	now, since := outage{h.cause, jjm.At(h.badSince)}, h.journaled
	h.mu.Unlock()
	en, since, write := now.entry(h.name, since, jjm.At(h.b.Now()))
	if !write {
		return nil
	}
	err := h.b.Store.Update(ctx, func(tx *store.Tx) error { return tx.Journal(en) })
	if err == nil {
		h.journaled = since
	}
	return err
}

// outage is the present outage of a cluster. cause is "" if there is none.
type outage struct {
	cause string
	since jjm.Time
}

// entry returns the entry that the journal lacks about outages of a cluster: about the end of the outage that began at
// the time journaled, or about the beginning of o. journaled is 0 if the journal has the end of each outage. next is
// the value of journaled after the entry. write is false if the journal lacks no entry.
func (o outage) entry(cluster string, journaled, now jjm.Time) (en jjm.JournalEntry, next jjm.Time, write bool) {
	switch {
	case journaled != 0 && (o.cause == "" || o.since != journaled):
		return jjm.Outage(cluster, journaled, ""), 0, true
	case journaled == 0 && o.cause != "" && now.Sub(o.since) >= outageShown:
		return jjm.Outage(cluster, o.since, o.cause), o.since, true
	}
	return jjm.JournalEntry{}, journaled, false
}

// BackSince reports whether an outage ended after t.
func (h *Health) BackSince(t jjm.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return jjm.At(h.back) > t
}

// Absent says since when an attempt has been missing from listings. Overdue is true if that is UnknownWarn or longer.
// unread is true if a record that cannot be read may describe the attempt.
type Absent struct {
	Since   jjm.Time
	Overdue bool
	unread  bool
}

// WarnUnknown updates overdue and logs each new entry once as a warning. The watch loop calls it after every round of
// listings with the absences of attempts.
func (h *Health) WarnUnknown(absences map[jjm.AttemptID]plan.Absence) {
	now, limit := jjm.At(h.b.Now()), h.b.Conf().UnknownWarn.D()
	absent, bulks := h.unknown(absences, now, limit)
	missing := maps.Clone(absent)
	maps.DeleteFunc(missing, func(_ jjm.AttemptID, a Absent) bool { return !a.Overdue })
	h.mu.Lock()
	before := h.overdue
	down := h.cause != "" && now.Sub(jjm.At(h.badSince)) >= limit
	h.overdue = overdue{absent: absent, cluster: down, missing: missing, bulks: bulks}
	cause, since := h.cause, h.badSince
	h.mu.Unlock()
	if down && !before.cluster {
		h.b.Log.Warn("batch system has answered no listing for long", "cluster", h.name, "since", since, "error", cause)
	}
	var fresh []jjm.AttemptID
	for id := range missing {
		if _, known := before.missing[id]; !known {
			fresh = append(fresh, id)
		}
	}
	if len(fresh) > 0 {
		h.b.Log.Warn("local jobs have been missing from the listings for long", "cluster", h.name,
			"jobs", len(fresh), "local", slices.MinFunc(fresh, byLocal).LocalID)
	}
	for tag, b := range bulks {
		if _, known := before.bulks[tag]; !known {
			h.b.Log.Warn("a submission has not been settled for long", "cluster", h.name, "tag", tag, "jobs", b.jobs, "error",
				b.why)
		}
	}
}

// unknown returns the attempts that are missing from listings, and the bulks whose submission has not been settled for
// the time limit or longer.
func (h *Health) unknown(absences map[jjm.AttemptID]plan.Absence, now jjm.Time,
	limit time.Duration) (map[jjm.AttemptID]Absent, map[jjm.Tag]lateBulk) {
	missing, bulks := map[jjm.AttemptID]Absent{}, map[jjm.Tag]lateBulk{}
	v := h.s.View()
	defer v.Close()
	for id, a := range absences {
		if a.Since != 0 && v.Current(id) != nil {
			missing[id] = Absent{a.Since, now.Sub(a.Since) >= limit, a.Listings == 0}
		}
	}
	for tag, b := range v.Bulks() {
		unsettled := b.State == jjm.BulkIntent || b.State == jjm.BulkAccepted
		if b.Cluster == h.name && unsettled && now.Sub(b.Created) >= limit {
			bulks[tag] = lateBulk{since: b.Created, jobs: b.Open, why: b.Error}
		}
	}
	return missing, bulks
}

// byLocal compares attempts by grid job and then by number of the local job.
func byLocal(a, b jjm.AttemptID) int {
	if a.Grid != b.Grid {
		return int(a.Grid - b.Grid)
	}
	return int(a.N - b.N)
}

// Outage returns a text for people if the cluster has answered no listing for the time UnknownWarn or longer, else nil.
func (h *Health) Outage() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.overdue.cluster {
		return nil
	}
	return []string{fmt.Sprintf("%s has answered no listing since %s: %s", h.name, jjm.At(h.badSince).Local(), h.cause)}
}

// Doubts returns texts for people about the local jobs on this cluster that are overdue: missing from listings, in
// records that cannot be read, or in submissions that are not settled. of selects the grid jobs, nil selects all.
func (h *Health) Doubts(mem state.Memory, of func(jjm.GridID) bool) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, unread := range []bool{false, true} {
		var missing []jjm.AttemptID
		oldest := jjm.Time(0)
		for m, a := range h.overdue.missing {
			if a.unread == unread && (of == nil || of(m.Grid)) {
				missing = append(missing, m)
				if oldest == 0 || a.Since < oldest {
					oldest = a.Since
				}
			}
		}
		if len(missing) == 0 {
			continue
		}
		slices.SortFunc(missing, byLocal)
		what := "missing from the listings of " + h.name
		if unread {
			what = "in records of " + h.name + " that cannot be read, which the log has,"
		}
		out = append(out, fmt.Sprintf("%s since %s: %s: %s", what, oldest.Local(), jjm.Count(len(missing), "local job"),
			someOf(missing)))
	}
	return append(out, h.doubtfulBulks(mem, of)...)
}

// doubtfulBulks returns the texts of Doubts about submissions that are not settled.
func (h *Health) doubtfulBulks(mem state.Memory, of func(jjm.GridID) bool) []string {
	var out []string
	for tag, b := range h.overdue.bulks {
		jobs := b.jobs
		if of != nil {
			if jobs = h.membersOf(mem, tag, of); jobs == 0 {
				continue
			}
		}
		cause := b.why
		if cause == "" {
			cause = "no answer yet"
		}
		out = append(out, fmt.Sprintf("the submission of %s to %s (bulk %s) has not been settled since %s: %s",
			jjm.Count(jobs, "local job"), h.name, tag, b.since.Local(), cause))
	}
	slices.Sort(out)
	return out
}

// membersOf returns the number of a bulk's members whose grid job is selected by of.
func (h *Health) membersOf(mem state.Memory, tag jjm.Tag, of func(jjm.GridID) bool) int {
	n := 0
	if b := mem.Bulk(tag); b != nil {
		for _, m := range b.Members {
			if of(m.Grid) {
				n++
			}
		}
	}
	return n
}

// someOf returns the ids of the first five local jobs, and dots if there are more.
func someOf(ids []jjm.AttemptID) string {
	const most = 5
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, id.LocalID.String())
	}
	if len(ids) > most {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}

// Tell sets the fields of w about the health of the cluster.
func (h *Health) Tell(w *wire.Cluster) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.Healthy, w.Cause, w.LastSeen = h.cause == "", h.cause, jjm.At(h.lastGood)
	w.Unsettled, w.Missing = h.overdue.count()
	if !w.Healthy {
		w.Since = jjm.At(h.badSince)
	}
}

// Silent returns since when and why the cluster has answered no listing; the zero Cause if it answers.
func (h *Health) Silent() why.Cause {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause == "" {
		return why.Cause{}
	}
	return why.Cause{Text: h.cause, Since: jjm.At(h.badSince)}
}

// Missing returns the attempts that are missing from listings. The map is replaced, never changed in place.
func (h *Health) Missing() map[jjm.AttemptID]Absent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.overdue.absent
}

// count returns summaries of the submissions that are not settled and of the missing local jobs; nil if there are none.
func (o *overdue) count() (unsettled, missing *wire.Unknown) {
	add := func(to **wire.Unknown, bulks, jobs int, since jjm.Time) {
		if *to == nil {
			*to = &wire.Unknown{Since: since}
		}
		u := *to
		u.Bulks, u.Jobs, u.Since = u.Bulks+bulks, u.Jobs+jobs, min(u.Since, since)
	}
	for _, b := range o.bulks {
		add(&unsettled, 1, b.jobs, b.since)
	}
	for _, m := range o.missing {
		add(&missing, 0, 1, m.Since)
	}
	return unsettled, missing
}
