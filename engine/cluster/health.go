package cluster

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"jjm"
	"jjm/engine/base"
	"jjm/engine/state"
	"jjm/plan"
	"jjm/wire"
)

// health is whether the batch system gives listings, and what has been unknown for long.
type health struct {
	c    *Cluster
	b    *base.Base
	s    *state.State
	name string

	// mu is taken after the memory lock, never before.
	mu       sync.Mutex
	cause    string // why not healthy, "" = healthy
	badSince time.Time
	lastGood time.Time
	back     time.Time // when it last gave a listing after it had given none
	// long is what has been unknown for too long.
	long long
}

// long is what of a cluster has been unknown for longer than UnknownWarn. The
// cluster's mu guards it.
type long struct {
	cluster bool                       // it gives no listing
	missing map[jjm.AttemptID]jjm.Time // from its listings, since when
	bulks   map[jjm.Tag]lateBulk       // whose submission is not settled
}

// lateBulk is a bulk that the batch system has not certainly got.
type lateBulk struct {
	since jjm.Time
	jobs  int
	why   string
}

// healthy reports whether the last listing, or the first one still to come,
// gives no reason for doubt.
func (h *health) healthy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause == ""
}

// note records whether the cluster gives listings and logs a change of it; seen
// is set if it has just given one.
func (h *health) note(err error, seen bool) {
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
		h.long.cluster = false
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
		h.c.settler.settleNow()
		h.c.kickGrids()
	default:
		h.b.Log.Warn("batch system gives no listing; its jobs keep their last state", "cluster", h.name, "error", cause)
		h.c.kickGrids()
	}
}

// backSince reports whether there was an outage that ended after a time.
func (h *health) backSince(t jjm.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return jjm.At(h.back) > t
}

// warnUnknown finds what has been unknown for too long, keeps it for people, and
// warns once of each. The watch loop calls it after every round.
func (h *health) warnUnknown(absences map[jjm.AttemptID]plan.Absence) {
	now, limit := jjm.At(h.b.Now()), h.b.Conf().UnknownWarn.D()
	missing, bulks := h.unknownLong(absences, now, limit)
	h.mu.Lock()
	before := h.long
	down := h.cause != "" && now.Sub(jjm.At(h.badSince)) >= limit
	h.long = long{cluster: down, missing: missing, bulks: bulks}
	cause, since := h.cause, h.badSince
	h.mu.Unlock()
	if down && !before.cluster {
		h.b.Log.Warn("batch system has given no listing for long", "cluster", h.name, "since", since, "error", cause)
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

// unknownLong lists the attempts missing from healthy listings, and the bulks
// not certainly handed over, for as long as limit.
func (h *health) unknownLong(absences map[jjm.AttemptID]plan.Absence, now jjm.Time,
	limit time.Duration) (map[jjm.AttemptID]jjm.Time, map[jjm.Tag]lateBulk) {
	missing, bulks := map[jjm.AttemptID]jjm.Time{}, map[jjm.Tag]lateBulk{}
	v := h.s.View()
	defer v.Close()
	for id, a := range absences {
		if a.Since != 0 && now.Sub(a.Since) >= limit && v.Current(id) != nil {
			missing[id] = a.Since
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

func byLocal(a, b jjm.AttemptID) int {
	if a.Grid != b.Grid {
		return int(a.Grid - b.Grid)
	}
	return int(a.N - b.N)
}

// outage says that the cluster has given no listing for too long, for people;
// nil if it has.
func (h *health) outage() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.long.cluster {
		return nil
	}
	return []string{fmt.Sprintf("%s has given no listing since %s: %s", h.name, jjm.At(h.badSince), h.cause)}
}

// doubts says which local jobs have been unknown here for too long, for people:
// those of one grid job, or all with id 0.
func (h *health) doubts(mem state.Memory, id jjm.GridID) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	var missing []jjm.AttemptID
	oldest := jjm.Time(0)
	for m, since := range h.long.missing {
		if id == 0 || m.Grid == id {
			missing = append(missing, m)
			if oldest == 0 || since < oldest {
				oldest = since
			}
		}
	}
	if len(missing) > 0 {
		slices.SortFunc(missing, byLocal)
		out = append(out, fmt.Sprintf("%d local jobs have been missing from the listings of %s since %s: %s",
			len(missing), h.name, oldest, someOf(missing)))
	}
	return append(out, h.doubtfulBulks(mem, id)...)
}

// doubtfulBulks is the part of doubts about submissions.
func (h *health) doubtfulBulks(mem state.Memory, id jjm.GridID) []string {
	var out []string
	for tag, b := range h.long.bulks {
		jobs := b.jobs
		if id != 0 {
			if jobs = h.membersOf(mem, tag, id); jobs == 0 {
				continue
			}
		}
		why := b.why
		if why == "" {
			why = "no answer yet"
		}
		out = append(out, fmt.Sprintf("the submission of %d local jobs to %s (bulk %s) has not been settled since %s: %s",
			jobs, h.name, tag, b.since, why))
	}
	slices.Sort(out)
	return out
}

// membersOf counts the attempts of a grid job that are in a bulk.
func (h *health) membersOf(mem state.Memory, tag jjm.Tag, id jjm.GridID) int {
	n := 0
	if b := mem.Bulk(tag); b != nil {
		for _, m := range b.Members {
			if m.Grid == id {
				n++
			}
		}
	}
	return n
}

// someOf names the first few.
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

// tell fills in how people see the health of the cluster.
func (h *health) tellHealth(w *wire.Cluster) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.Healthy, w.Cause, w.LastSeen = h.cause == "", h.cause, jjm.At(h.lastGood)
	if !w.Healthy {
		w.Since = jjm.At(h.badSince)
	}
}
