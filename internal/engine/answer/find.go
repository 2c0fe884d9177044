package answer

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/outputs"
	"jjm/internal/jjm"
	"jjm/internal/policy/match"
	"jjm/internal/storage/store"
)

// defaultFound is how many jobs a search returns if the request sets no limit.
const defaultFound = 100

// mostTraced is the greatest number of attempts that a search examines if an index of the store finds more attempts
// than match the request: all attempts of a bulk for a batch id, or all attempts on a host for a host and a cluster.
const mostTraced = 100_000

// finder carries out the verb find.
type finder struct{ *Answers }

// hunt is the state of one search: the request, the answer so far, and the rows that were already read. A trace
// (store.Trace) names one attempt, local job or grid job that may match the request.
type hunt struct {
	*Answers
	caller wire.Caller
	find   *wire.Sought
	most   int
	out    wire.FindAnswer
	seen   map[store.Trace]bool
	grids  map[jjm.GridID]*jjm.GridJob // an entry is nil if the grid job is removed or the caller may not see it
	// local and attempts belong to the local job of the previous trace. Traces of one local job follow each other, so each
	// local job is usually read once.
	local    *jjm.LocalJob
	attempts []wire.Attempt
	stored   []store.Attempt
}

// Find returns the live and the ended jobs that match the request, among the jobs that the caller may see. It finds
// them through the indexes of the store, and in memory.
func (f finder) Find(ctx context.Context, caller wire.Caller, r wire.FindRequest) (wire.FindAnswer, error) {
	h := &hunt{Answers: f.Answers, caller: caller, find: &r.Find, most: cmp.Or(r.Find.Limit, defaultFound),
		seen: map[store.Trace]bool{}, grids: map[jjm.GridID]*jjm.GridJob{}}
	traces, err := h.traces(ctx)
	if err != nil {
		return wire.FindAnswer{}, err
	}
	for _, t := range traces {
		if err := h.add(ctx, t); err != nil {
			return wire.FindAnswer{}, err
		}
		if h.out.More {
			break
		}
	}
	return h.out, nil
}

// traces returns the jobs that may match the request, the newest grid job first.
func (h *hunt) traces(ctx context.Context) ([]store.Trace, error) {
	f, st := h.find, h.b.Store
	w := store.Whose{UID: store.Everyone, User: f.User, Most: h.most + 1}
	if !h.caller.Admin {
		w.UID = h.caller.UID
	}
	switch {
	case f.BatchID != "":
		w.Most = mostTraced
		stored, err := st.FindBatch(ctx, match.BulkOf(f.BatchID), f.Cluster, w)
		return h.withLive(stored, err, func(l *jjm.LocalJob) bool { return match.IsBatch(f.BatchID, l.BatchID) })
	case f.Tag != "":
		return st.FindTag(ctx, f.Tag, f.Cluster, w)
	case f.Host != "":
		if f.Cluster != "" {
			w.Most = mostTraced // the index of hosts has no clusters, so show drops attempts on other clusters
		}
		until := cmp.Or(f.Until, f.At)
		stored, err := st.FindHost(ctx, f.Host, f.At, until, w)
		return h.withLive(stored, err, func(l *jjm.LocalJob) bool { return match.RunsOn(l, f.Host, f.At, until) })
	case f.DN != "":
		return st.FindSubject(ctx, f.DN, w)
	case f.Gatekeeper != "":
		return st.FindOrigin(ctx, f.Gatekeeper, w)
	case f.File != "":
		return h.files(ctx, w)
	}
	return st.FindUser(ctx, w)
}

// withLive adds to stored the current attempts of the live local jobs for which fits returns true. It is needed because
// the hosts and batch ids of these attempts are in memory. It returns err if err is not nil.
func (h *hunt) withLive(stored []store.Trace, err error, fits func(*jjm.LocalJob) bool) ([]store.Trace, error) {
	if err != nil {
		return nil, err
	}
	v := h.s.View()
	defer v.Close()
	for id, g := range v.Grids() {
		if !h.caller.May(g.Job.Owner.UID) || h.find.User != "" && g.Job.Owner.User != h.find.User {
			continue
		}
		for i := range g.Locals {
			if l := &g.Locals[i]; fits(l) {
				stored = append(stored, store.Trace{Grid: id, Local: l.ID.N, Attempt: shownAttempt(l).Attempt})
			}
		}
	}
	slices.SortStableFunc(stored, func(a, b store.Trace) int {
		return cmp.Or(cmp.Compare(b.Grid, a.Grid), cmp.Compare(a.Local, b.Local), cmp.Compare(a.Attempt, b.Attempt))
	})
	return stored, nil
}

// files returns the jobs that own, read or made the requested file. If the name of the file contains the id of a grid
// job, the local job of that grid job that made the file is included.
func (h *hunt) files(ctx context.Context, w store.Whose) ([]store.Trace, error) {
	all, err := h.b.Store.FindFile(ctx, h.find.File, w)
	if err != nil {
		return nil, err
	}
	for i := range all {
		t := &all[i]
		if t.Role == store.RoleMade {
			if t.Local, err = h.maker(ctx, t.Grid); err != nil {
				return nil, err
			}
		}
	}
	for _, id := range match.GridsOf(path.Base(h.find.File)) {
		n, err := h.maker(ctx, id)
		if err != nil {
			return nil, err
		}
		job := h.grids[id]
		if n >= 0 && (h.find.User == "" || job.Owner.User == h.find.User) {
			all = append(all, store.Trace{Grid: id, Local: n, Attempt: -1, Role: store.RoleMade})
		}
	}
	return all, nil
}

// maker returns the number of the local job of a grid job that made the requested file, as the name of the file shows;
// -1 if there is no such local job, or if the caller may not see the grid job.
func (h *hunt) maker(ctx context.Context, id jjm.GridID) (int32, error) {
	job, err := h.job(ctx, id)
	if err != nil || job == nil {
		return -1, err
	}
	n := int32(-1)
	if l, ok := outputs.Maker(id, h.find.File); ok {
		n = l.N
	} else if n, err = h.lineage.NumberOf(ctx, job, path.Base(h.find.File)); jjm.KindOf(err) == jjm.Gone {
		return -1, nil
	} else if err != nil {
		return -1, err
	}
	found, err := h.read(ctx, jjm.LocalID{Grid: id, N: n})
	if err != nil || !found {
		return -1, err
	}
	return n, nil
}

// job returns a grid job, nil if it is removed, does not exist, or the caller may not see it.
func (h *hunt) job(ctx context.Context, id jjm.GridID) (*jjm.GridJob, error) {
	if job, known := h.grids[id]; known {
		return job, nil
	}
	job, err := h.s.Find(ctx, h.caller, id)
	switch jjm.KindOf(err) {
	case jjm.Gone, jjm.Denied:
		h.grids[id] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h.grids[id] = &job
	return &job, nil
}

// read reads a local job and its attempts. It returns false if the local job does not exist.
func (h *hunt) read(ctx context.Context, id jjm.LocalID) (bool, error) {
	if h.local != nil && h.local.ID == id {
		return true, nil
	}
	h.local = nil
	rows, err := h.b.Store.Locals(ctx, id.Grid, id.N, id.N)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	l := &rows[0]
	if h.stored, err = h.b.Store.Attempts(ctx, id); err != nil {
		return false, err
	}
	h.attempts = h.attempts[:0]
	for i := range h.stored {
		h.attempts = append(h.attempts, attemptOf(&h.stored[i], h.grids[id.Grid], l))
	}
	h.local = l
	return true, nil
}

// add adds a job to the answer if the job fits the request. If the answer is full, it sets out.More instead.
func (h *hunt) add(ctx context.Context, t store.Trace) error {
	key := store.Trace{Grid: t.Grid, Local: t.Local, Attempt: t.Attempt, Role: t.Role}
	if h.seen[key] {
		return nil
	}
	h.seen[key] = true
	job, err := h.job(ctx, t.Grid)
	if err != nil || job == nil {
		return err
	}
	one := wire.Trace{ID: t.Grid.String(), State: job.Status.String(), Started: job.Accepted, Ended: job.Ended}
	if t.Local >= 0 {
		id := jjm.LocalID{Grid: t.Grid, N: t.Local}
		if found, err := h.read(ctx, id); err != nil || !found {
			return err
		}
		one = wire.Trace{ID: id.String(), State: jjm.StateWord(h.local.State, h.local.Phase)}
		if t.Attempt < 0 && t.Role != "" {
			t.Attempt = shownAttempt(h.local).Attempt
		}
		if fits := h.show(&one, t); !fits {
			return nil
		}
	}
	one.User, one.Name = job.Owner.User, job.Spec.Name
	one.Why = h.why(job, &one, t.Role)
	if len(h.out.Found) == h.most {
		h.out.More = true
		return nil
	}
	h.out.Found = append(h.out.Found, one)
	return nil
}

// show adds facts about the attempt of a trace to the answer. It returns false if the attempt does not fit the request.
func (h *hunt) show(one *wire.Trace, t store.Trace) bool {
	one.Cluster, one.Batch, one.Tag = t.Cluster, t.Bulk, string(t.Tag)
	at := slices.IndexFunc(h.stored, func(a store.Attempt) bool { return a.ID.Attempt == t.Attempt })
	if at >= 0 {
		a := &h.attempts[at]
		n := a.Attempt
		one.Attempt, one.Batch, one.Host, one.Started, one.Ended = &n, cmp.Or(a.Batch, t.Bulk), a.Host, a.Started, a.Ended
		one.Tag = cmp.Or(one.Tag, string(h.stored[at].Tag))
		one.Cluster = cmp.Or(one.Cluster, h.clusterOf(at))
	}
	switch f := h.find; {
	case f.Cluster != "" && one.Cluster != f.Cluster:
		return false
	case f.BatchID != "":
		return match.IsBatch(f.BatchID, one.Batch)
	}
	return true
}

// clusterOf returns the cluster of the attempt stored[i]: the cluster in its verdict. If the verdict has none, it
// returns the cluster of the local job for the last attempt, and "" for an earlier attempt.
func (h *hunt) clusterOf(i int) string {
	if v := h.stored[i].Verdict; v != nil && v.Basis != nil && v.Basis.Cluster != "" {
		return v.Basis.Cluster
	}
	if i == len(h.stored)-1 {
		return h.local.Cluster
	}
	return ""
}

// why returns, for people, the reason why a job matches the request.
func (h *hunt) why(job *jjm.GridJob, one *wire.Trace, role store.Role) string {
	switch f := h.find; {
	case f.BatchID != "":
		return "batch job " + one.Batch + " of cluster " + one.Cluster + ", bulk " + one.Tag
	case f.Tag != "":
		return "bulk " + one.Tag + " of cluster " + one.Cluster + ", batch job " + cmp.Or(one.Batch, "not known")
	case f.Host != "" && f.At != 0:
		return "ran on " + one.Host + " at that time" + match.Unsure(one.Started)
	case f.Host != "":
		return "ran on " + one.Host
	case f.DN != "" || f.Gatekeeper != "":
		return origin(job.Origin, f.DN != "")
	case role == store.RoleOwns:
		return "owns a piece of the file"
	case role == store.RoleReads:
		return "reads a dataset with the file; no local job owns it now"
	case role == store.RoleMade:
		return "the file is an output of it"
	}
	return "a grid job of " + one.User
}

// origin returns a text about the origin of a grid job: the submitter's distinguished name if dn is set, else the
// gatekeeper and its job id. The text says so if nobody verified the origin.
func origin(o *jjm.Origin, dn bool) string {
	text := "job " + strconv.Quote(o.Job) + " of gatekeeper " + cmp.Or(o.Gatekeeper, "not named")
	if dn {
		text = "submitted by " + o.Subject
	}
	if !o.Verified {
		text += ", as its own account says"
	}
	return strings.TrimSpace(text)
}
