package pbs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// sortOut returns the readable jobs of an owner, and the unreadable jobs that may belong to the owner. An owner without
// a user means all accounts.
func sortOut(jobs []job, owner jjm.Owner) (out, odd []job) {
	for _, j := range jobs {
		ours := owner.User == "" || j.owner == "" || accountOf(j.owner) == owner.User
		switch {
		case !ours:
		case j.damaged || j.name == "" || j.state == "":
			odd = append(odd, j)
		default:
			out = append(out, j)
		}
	}
	return out, odd
}

// unread returns the records of unreadable jobs.
func unread(odd []job) (out []adapters.Unread) {
	for _, j := range odd {
		u := adapters.Unread{Tag: j.tag, ID: j.seq, Index: -1,
			Text: fmt.Sprintf("qstat: job %.80q cannot be read: name %.80q, state %.20q", j.id, j.name, j.state)}
		if j.array && !j.whole {
			u.Index = j.index
		}
		out = append(out, u)
	}
	return out
}

// tagged returns the jobs that have a tag.
func tagged(jobs []job) []job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return !j.tag.Valid() })
}

// tasks returns the tagged jobs that run themselves: all except whole arrays. It returns an error if a job is listed
// twice.
func tasks(jobs []job) ([]job, error) {
	var out []job
	seen := make(map[jobID]bool, len(jobs))
	for _, j := range tagged(jobs) {
		if !j.isTask() {
			continue
		}
		if seen[j.jobID] {
			return nil, jjm.Errorf(jjm.Busy, "qstat: job %s is listed twice", j.id)
		}
		seen[j.jobID] = true
		out = append(out, j)
	}
	return out, nil
}

// List returns every tagged job of the owner that is alive or ended at since or later. In Torque one listing has both.
// In OpenPBS the live jobs come from a listing, and the ended jobs from memory: List looks up only once, by id, how the
// jobs of a bulk ended.
func (a *Adapter) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	now := a.env.Now()
	all, d, err := a.live(ctx, owner, true)
	if err != nil {
		return adapters.Listing{}, a.wrap("list", err)
	}
	jobs, odd := sortOut(all, owner)
	if d != torque {
		asked, more, err := a.ends(ctx, owner, jobs, odd, since)
		if err != nil {
			return adapters.Listing{}, a.wrap("list", err)
		}
		jobs, odd = append(jobs, asked...), append(odd, more...)
	}
	reports, err := a.reports(owner, jobs, d, since)
	if err != nil {
		return adapters.Listing{}, a.wrap("list", err)
	}
	return adapters.Listing{At: now, Reports: reports, Unread: unread(odd)}, nil
}

// ends finds out how the owner's bulks ended that are no longer alive. It returns the readable and the unreadable jobs
// that it looked up for this purpose. In the first listing, and whenever since is earlier than in all listings before,
// ends also queries the server for all bulks that ended at since or later. This query finds bulks that the server
// forgot and bulks that no listing ever showed. Later calls repeat the query at most once a minute, and only if nothing
// else must be looked up and the budget of ports has room. odd are the listed jobs that cannot be read: their bulks
// have not ended.
func (a *Adapter) ends(ctx context.Context, owner jjm.Owner, live, odd []job, since time.Time) (asked, unread []job,
	err error) {
	a.mu.Lock()
	p := a.memoryOf(owner)
	ask := p.unlisted(slices.Concat(live, odd), since)
	first := p.from.IsZero() || since.Before(p.from)
	p.learn(live, true, openpbs, a.zone)
	due := len(ask) == 0 && a.pace.now().Sub(p.compared) >= compareEvery
	a.mu.Unlock()
	if (first || due && a.mayAskFor(1)) && !a.historyOff() {
		unknown, err := a.compareEnds(ctx, owner, since)
		if err != nil && (first || !adapters.IsNotAsked(err)) {
			return nil, nil, err
		}
		if first {
			ask = append(ask, unknown...)
		}
	}
	asked, unread, err = a.learnEnds(ctx, owner, ask)
	if err != nil {
		return nil, nil, err
	}
	if first {
		a.mu.Lock()
		p.from = since
		a.mu.Unlock()
	}
	return asked, unread, nil
}

// compareEvery is the shortest time between two comparisons of memory with the server. Each comparison takes a port for
// each account.
const compareEvery = portLife

// compareEnds queries the server for the bulks that ended at since or later, compares the answer with memory, and
// returns the ids that memory does not have. It returns no ids if the server keeps no history or does not support the
// query.
func (a *Adapter) compareEnds(ctx context.Context, owner jjm.Owner, since time.Time) ([]string, error) {
	ended, ok, err := a.endedSince(ctx, owner, since)
	if err != nil || !ok {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.noHistory {
		return nil, nil
	}
	p := a.memoryOf(owner)
	p.compared = a.pace.now()
	return p.compare(ended, since), nil
}

// learnEnds looks up bulks, stores each answer immediately, and forgets bulks that the server no longer has. It forgets
// no bulk if an answer has a job with an unreadable id. If the deadline interrupts learnEnds, the next call looks up
// only the remaining bulks.
func (a *Adapter) learnEnds(ctx context.Context, owner jjm.Owner, ids []string) (asked, unread []job, err error) {
	err = a.lookUp(ctx, ids, true, func(answered []string, has []raw) error {
		jobs, odd := sortOut(jobsOf(has, openpbs), owner)
		a.mu.Lock()
		defer a.mu.Unlock()
		p := a.memoryOf(owner)
		p.learn(jobs, true, openpbs, a.zone)
		if !slices.ContainsFunc(odd, func(j job) bool { return j.seq == "" }) { // an unreadable job may be any of them
			p.forgetMissing(answered, slices.Concat(jobs, odd))
		}
		asked, unread = append(asked, jobs...), append(unread, odd...)
		return nil
	})
	return asked, unread, err
}

// memoryOf returns the memory of an owner's jobs. The caller holds the lock.
func (a *Adapter) memoryOf(owner jjm.Owner) *memory {
	p := a.memories[owner.User]
	if p == nil {
		p = newMemory()
		a.memories[owner.User] = p
	}
	return p
}

// reports returns the reports of tasks that are alive or ended at since or later. In OpenPBS the ended tasks come from
// memory, even if a listing shows them.
func (a *Adapter) reports(owner jjm.Owner, jobs []job, d dialect, since time.Time) (out []jjm.Report, err error) {
	jobs, err = tasks(jobs)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.memoryOf(owner)
	if d != torque {
		out = p.since(since)
	}
	for _, j := range jobs {
		if d != torque && p.hasEnded(j.seq) || j.isOver() && !j.hasRecord && a.noHistory {
			continue // the task is reported from memory, or is a plain job, which is gone at its end
		}
		r := j.report(d, a.zone)
		if !r.State.Ended() || r.Ended == 0 || !a.lastSeen(j, r).Before(since) {
			out = append(out, r)
		}
	}
	return out, nil
}

// lastSeen returns the time at which a job ended or entered the history, whichever is later. Before the job entered the
// history, its exit status may have been missing.
func (a *Adapter) lastSeen(j job, r jjm.Report) time.Time {
	return later(r.Ended.Time(), parseTime(j.history, a.zone))
}

// Find searches the listed jobs for tags. In OpenPBS it also searches memory; if a tag is in neither, Find searches the
// history for that tag.
func (a *Adapter) Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	all, d, err := a.live(ctx, owner, false)
	if err != nil {
		return nil, a.wrap("find", err)
	}
	jobs, odd := sortOut(all, owner)
	ids := map[jjm.Tag][]string{}
	if d != torque {
		var more []job
		if ids, more, err = a.findInMemory(ctx, owner, jobs, tags); err != nil {
			return nil, a.wrap("find", err)
		}
		odd = append(odd, more...)
	}
	for _, j := range tagged(jobs) {
		ids[j.tag] = appendNew(ids[j.tag], j.seq)
	}
	out := make([]adapters.Found, len(tags))
	damaged := unread(odd)
	for i, tag := range tags {
		out[i] = adapters.Found{Tag: tag, IDs: ids[tag]}
		switch {
		case len(ids[tag]) > 0:
			out[i].Presence = adapters.Present
		case !adapters.UnreadOf(damaged, tag):
			out[i].Presence = adapters.Absent
		}
	}
	return out, nil
}

// findInMemory stores the live bulks, and returns the live and the ended bulks by tag. It searches the history for tags
// that no bulk has. odd are the unreadable jobs of the history if findInMemory listed the history.
func (a *Adapter) findInMemory(ctx context.Context, owner jjm.Owner, live []job, tags []jjm.Tag) (
	known map[jjm.Tag][]string, odd []job, err error) {
	a.mu.Lock()
	p := a.memoryOf(owner)
	p.learn(live, false, openpbs, a.zone)
	known = p.tagged()
	whole := p.whole || a.noHistory
	a.mu.Unlock()
	for _, j := range live {
		known[j.tag] = appendNew(known[j.tag], j.seq)
	}
	missing := slices.DeleteFunc(slices.Clone(tags), func(t jjm.Tag) bool { return len(known[t]) > 0 })
	if len(missing) == 0 || whole {
		return known, nil, nil
	}
	if (len(missing) > 1 || !a.mayAskFor(len(missing))) && a.mayList(listing{history: true}) {
		return a.learnHistory(ctx, owner)
	}
	if len(missing) > 1 {
		missing = missing[:min(len(missing), idPorts)]
		if err := a.reserve(len(missing)); err != nil {
			return nil, nil, err
		}
	}
	for _, tag := range missing {
		ids, err := a.selectIDs(ctx, owner, "-x", "-N", string(tag))
		if err != nil {
			return nil, nil, err
		}
		for _, id := range ids {
			known[tag] = appendNew(known[tag], id.seq)
		}
	}
	return known, nil, nil
}

// learnHistory lists the whole history if several tags are searched, because a search by name takes one command for
// each tag. It returns the ended bulks by tag, and the unreadable jobs. As long as unreadable jobs exist, each search
// lists the history again.
func (a *Adapter) learnHistory(ctx context.Context, owner jjm.Owner) (known map[jjm.Tag][]string, odd []job,
	err error) {
	raws, err := a.listAll(ctx, ordinary, listing{history: true})
	if err != nil {
		return nil, nil, err
	}
	jobs, odd := sortOut(jobsOf(raws, openpbs), owner)
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.memoryOf(owner)
	p.learnHistory(jobs, a.zone)
	p.whole = len(odd) == 0
	return p.tagged(), odd, nil
}

func appendNew(list []string, s string) []string {
	for _, old := range list {
		if old == s {
			return list
		}
	}
	return append(list, s)
}

// Account returns the final facts of ended jobs, as far back as the history goes. It looks the jobs up by id.
func (a *Adapter) Account(ctx context.Context, owner jjm.Owner, refs []adapters.Ref) ([]jjm.Report, error) {
	d, err := a.findDialect(ctx)
	if err != nil {
		return nil, a.wrap("account", err)
	}
	var all []job
	if d == torque {
		all, _, err = a.live(ctx, owner, true)
	} else {
		all, err = a.jobsByID(ctx, a.operands(owner, refs), true)
	}
	if err != nil {
		return nil, a.wrap("account", err)
	}
	jobs, odd := sortOut(all, owner)
	if jobs, err = tasks(jobs); err != nil {
		return nil, a.wrap("account", err)
	}
	found := a.matching(jobs, d, refs)
	return append(found, adapters.Doubtful(unread(odd), refs, found)...), nil
}

// matching returns a report for each reference whose job has ended. If the server keeps no history, matching leaves out
// members without a record of their own.
func (a *Adapter) matching(jobs []job, d dialect, refs []adapters.Ref) (out []jjm.Report) {
	type key struct {
		tag   jjm.Tag
		seq   string
		index int32
	}
	known := make(map[key]jjm.Report, len(jobs))
	for _, j := range jobs {
		if !j.isOver() || !j.hasRecord && a.historyOff() {
			continue
		}
		r := j.report(d, a.zone)
		known[key{j.tag, j.seq, r.Index}] = r
	}
	for _, ref := range refs {
		id, ok := refID(ref)
		if !ok {
			continue
		}
		if r, ok := known[key{ref.Tag, id.seq, max(id.index, 0)}]; ok && r.State.Ended() {
			out = append(out, r)
		}
	}
	return out
}

// jobsByID returns the jobs that the server has for ids. If the budget of ports can never allow so many ids, the jobs
// come from a listing of everything.
func (a *Adapter) jobsByID(ctx context.Context, ids []string, members bool) ([]job, error) {
	if !a.everAffordable(len(ids)) {
		raws, err := a.listFor(ctx, ids, members)
		if err != nil {
			return nil, err
		}
		return jobsOf(raws, openpbs), nil
	}
	var all []raw
	err := a.lookUp(ctx, ids, members, func(_ []string, has []raw) error {
		all = append(all, has...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return jobsOf(all, openpbs), nil
}

// fewMembers is the largest number of members of one array that are looked up one by one; for more members, the whole
// array is looked up.
const fewMembers = 3

// operands returns the ids to look up for the references: members of arrays, or arrays. If it is unknown whether an id
// is an array, operands returns both forms of the id; one of the two does not exist.
func (a *Adapter) operands(owner jjm.Owner, refs []adapters.Ref) (ids []string) {
	wanted := map[string][]jobID{}
	for _, ref := range refs {
		if id, ok := refID(ref); ok && !slices.Contains(wanted[id.seq], id) {
			wanted[id.seq] = append(wanted[id.seq], id)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.memoryOf(owner)
	for seq, list := range wanted {
		b := p.bulks[seq]
		if b == nil || !b.array {
			ids = append(ids, seq)
		}
		switch {
		case b != nil && !b.array:
		case len(list) > fewMembers:
			ids = append(ids, jobID{seq: seq, array: true, whole: true}.String())
		default:
			for _, id := range list {
				ids = append(ids, jobID{seq: seq, array: true, index: max(id.index, 0)}.String())
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// refID returns the id that a reference names: the reference's own id, or the id of the member with the reference's
// index in the named bulk. The index of a plain job is 0.
func refID(ref adapters.Ref) (jobID, bool) {
	id, ok := parseID(ref.ID)
	if ok && ref.Index >= 0 {
		id = jobID{seq: id.seq, index: ref.Index}
	}
	return id, ok
}

// wrap adds the cluster's name and the verb to an error.
func (a *Adapter) wrap(verb string, err error) error {
	kind := jjm.KindOf(err)
	if kind == jjm.Unclassified {
		kind = jjm.Busy
	}
	return jjm.Errorf(kind, "cluster %s: %s: %w", a.name, verb, err)
}
