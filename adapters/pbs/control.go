package pbs

import (
	"context"
	"slices"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Control acts on jobs with as few commands as possible. It lists the jobs first, for two reasons. PBS reuses ids, so a
// job may only be touched if a listing shows it with its tag and owner. And after the deletion of a range of an array,
// PBS forgets how the ended members ended.
func (a *Adapter) Control(ctx context.Context, owner jjm.Owner, op adapters.Op, refs []adapters.Ref) ([]error, error) {
	d, err := a.findDialect(ctx)
	if err != nil {
		return nil, a.wrap(op.String(), err)
	}
	// A release nearly always concerns whole bulks. The listing then need not expand arrays, which would take most of the
	// server's time for a listing.
	p, err := a.makePlan(ctx, owner, op, refs, op != adapters.Release)
	if err != nil {
		return nil, a.wrap(op.String(), err)
	}
	if p.needMembers {
		if p, err = a.makePlan(ctx, owner, op, refs, true); err != nil {
			return nil, a.wrap(op.String(), err)
		}
	}
	if d == openpbs && op == adapters.Cancel {
		if err := a.cancel(ctx, owner, p); err != nil {
			return nil, a.wrap(op.String(), adapters.AsBusy(err))
		}
		return p.answers, nil
	}
	if d == openpbs && op == adapters.Release {
		a.forbidReruns(ctx, p)
	}
	for _, c := range commands(op, d, p.targets, operandsAtOnce) {
		out, err := a.run(ctx, nil, c.argv...)
		if err != nil {
			return nil, a.wrap(op.String(), adapters.AsBusy(err))
		}
		outcome(op, out, c, p.answers)
	}
	return p.answers, nil
}

// makePlan lists the jobs and plans the commands. If members is set, the listing expands arrays.
func (a *Adapter) makePlan(ctx context.Context, owner jjm.Owner, op adapters.Op, refs []adapters.Ref,
	members bool) (*plan, error) {
	why := ordinary
	if op == adapters.Cancel {
		why = confirming
	}
	all, d, err := a.liveFor(ctx, why, owner, members)
	if err != nil {
		return nil, err
	}
	if d != torque && op != adapters.Cancel { // a cancel succeeds if the job has ended or is gone
		past, err := a.jobsByID(ctx, a.unlisted(owner, all, refs), members)
		if err != nil {
			return nil, err
		}
		all = append(all, past...)
	}
	readable, odd := readables(all, owner)
	bulks, damaged := views(readable, members), unread(odd)
	for _, u := range damaged {
		if v := bulks[u.ID]; v != nil {
			v.damaged = true
		}
	}
	p := decide(op, d, owner, bulks, refs)
	for i, ref := range refs {
		if err := adapters.Doubt(damaged, ref); err != nil && !shows(bulks, ref) {
			p.answers[i] = err
		}
	}
	return p, nil
}

// readables returns the readable jobs of all accounts, and the unreadable jobs that may belong to the owner.
func readables(all []job, owner jjm.Owner) (good, odd []job) {
	_, odd = sortOut(all, owner)
	bad := map[job]bool{}
	for _, j := range odd {
		bad[j] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(j job) bool { return bad[j] }), odd
}

// shows reports whether a listing shows the job that a reference names, either by itself or as a member of an
// unexpanded array.
func shows(bulks map[string]*bulkView, ref adapters.Ref) bool {
	id, ok := refID(ref)
	v := bulks[id.seq]
	if !ok || v == nil || v.tag != ref.Tag {
		return false
	}
	_, member := v.members[max(id.index, 0)]
	return member || !v.array || !v.expanded
}

// unlisted returns the ids of the bulks of refs that a listing does not show. If it is unknown whether a bulk is an
// array, unlisted returns its id both as a plain job and as an array.
func (a *Adapter) unlisted(owner jjm.Owner, listed []job, refs []adapters.Ref) (ids []string) {
	seen := map[string]bool{}
	for _, j := range listed {
		seen[j.seq] = true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.memoryOf(owner)
	for _, ref := range refs {
		id, ok := refID(ref)
		if !ok || seen[id.seq] {
			continue
		}
		seen[id.seq] = true
		b := p.bulks[id.seq]
		if b == nil || !b.array {
			ids = append(ids, id.seq)
		}
		if b == nil || b.array {
			ids = append(ids, jobID{seq: id.seq, array: true, whole: true}.String())
		}
	}
	return ids
}

// bulkView is one bulk according to a listing.
type bulkView struct {
	tag      jjm.Tag
	owner    string
	array    bool
	whole    job // the record of the array or of the plain job
	members  map[int32]job
	expanded bool // whether the listing contains the array's members
	damaged  bool // whether one of the members is unreadable
}

// views groups the jobs of a listing into bulks, by sequence number.
func views(all []job, expanded bool) map[string]*bulkView {
	out := map[string]*bulkView{}
	for _, j := range all {
		v := out[j.seq]
		if v == nil {
			v = &bulkView{tag: j.tag, owner: accountOf(j.owner), array: j.array, expanded: expanded, members: map[int32]job{}}
			out[j.seq] = v
		}
		if j.array && !j.jobID.whole {
			v.members[j.index] = j
		} else {
			v.whole = j
		}
	}
	return out
}

// target is one operand of a command.
type target struct {
	tag   jjm.Tag
	seq   string
	array bool
	// whole is set if the target is the whole array, not single members.
	whole bool
	// rerunnable is set if the listing did not show that reruns of the array are forbidden.
	rerunnable bool
	// members are the members to act on, with the references that name them.
	members []memberRef
}

// refs returns the positions of the references that a target answers.
func (t target) refs() []int {
	out := make([]int, len(t.members))
	for i, w := range t.members {
		out[i] = w.ref
	}
	return out
}

// plan holds the work of one call of Control by bulk, and the answers for references that need no work.
type plan struct {
	answers []error
	targets []target
	// needMembers is set if the plan cannot be made without a listing of the members.
	needMembers bool
}

// decide checks for each reference whether its job needs a command, and collects the work by bulk.
func decide(op adapters.Op, d dialect, owner jjm.Owner, bulks map[string]*bulkView, refs []adapters.Ref) *plan {
	p := &plan{answers: make([]error, len(refs))}
	wanted := map[string][]memberRef{}
	var order []string
	for i, ref := range refs {
		id, ok := refID(ref)
		v := bulks[id.seq]
		switch {
		case !ok || v == nil || v.tag != ref.Tag:
			p.answers[i] = missing(op, ref)
		case owner.User != "" && v.owner != owner.User:
			p.answers[i] = jjm.Errorf(jjm.Denied, "job %s belongs to %s", ref.ID, v.owner)
		default:
			if len(wanted[id.seq]) == 0 {
				order = append(order, id.seq)
			}
			wanted[id.seq] = append(wanted[id.seq], memberRef{max(id.index, 0), i})
		}
	}
	for _, seq := range order {
		p.bulk(op, d, seq, bulks[seq], wanted[seq])
	}
	return p
}

// memberRef is a member of a bulk, with the position of the reference that names the member.
type memberRef struct {
	index int32
	ref   int
}

// missing returns the answer for a reference whose job does not exist, or whose id now belongs to another job: nil for
// a cancel, otherwise an error of kind Gone.
func missing(op adapters.Op, ref adapters.Ref) error {
	if op == adapters.Cancel {
		return nil
	}
	return jjm.Errorf(jjm.Gone, "no job %s with tag %s", ref.ID, ref.Tag)
}

// bulk plans the work for the references to one bulk.
func (p *plan) bulk(op adapters.Op, d dialect, seq string, v *bulkView, requests []memberRef) {
	if !v.array {
		p.plain(op, seq, v, requests)
		return
	}
	if v.whole.isOver() {
		return
	}
	if !v.expanded {
		p.wholeArray(seq, v, requests)
		return
	}
	t := target{tag: v.tag, seq: seq, array: true, rerunnable: !v.whole.neverReruns()}
	chosen := map[int32]bool{}
	for _, w := range requests {
		j, ok := v.members[w.index]
		if !ok {
			p.answers[w.ref] = missing(op, adapters.Ref{Tag: v.tag, ID: seq, Index: w.index})
			continue
		}
		need, err := applies(op, j, v.whole.holds)
		p.answers[w.ref] = err
		if need {
			t.members = append(t.members, w)
			chosen[w.index] = true
		}
	}
	if len(t.members) == 0 {
		return
	}
	t.whole = v.allOf(op, chosen)
	if !t.whole && op != adapters.Cancel && d == openpbs {
		for _, ref := range t.refs() {
			p.answers[ref] = jjm.Errorf(jjm.Conflict,
				"%v some jobs of array %s: OpenPBS can only do that to the whole array", op, seq)
		}
		return
	}
	p.targets = append(p.targets, t)
}

// allOf reports whether a command for the whole array has exactly the wanted effect on the chosen members. It returns
// false for a deletion that would also remove the records of ended members.
func (v *bulkView) allOf(op adapters.Op, chosen map[int32]bool) bool {
	if v.damaged {
		return false
	}
	for i, j := range v.members {
		if op == adapters.Cancel {
			if !chosen[i] {
				return false
			}
			continue
		}
		if need, _ := applies(op, j, v.whole.holds); need && !chosen[i] {
			return false
		}
	}
	return true
}

// plain plans the work for the references to a plain job, whose only index is 0.
func (p *plan) plain(op adapters.Op, seq string, v *bulkView, requests []memberRef) {
	t := target{tag: v.tag, seq: seq}
	for _, w := range requests {
		if w.index != 0 {
			p.answers[w.ref] = missing(op, adapters.Ref{Tag: v.tag, ID: seq, Index: w.index})
			continue
		}
		need, err := applies(op, v.whole, "")
		p.answers[w.ref] = err
		if need {
			t.members = append(t.members, w)
		}
	}
	if len(t.members) > 0 {
		p.targets = append(p.targets, t)
	}
}

// wholeArray plans the release of an array whose members were not listed. If the requests do not name all members, it
// sets needMembers instead.
func (p *plan) wholeArray(seq string, v *bulkView, requests []memberRef) {
	distinct := map[int32]bool{}
	t := target{tag: v.tag, seq: seq, array: true, whole: true, members: requests, rerunnable: !v.whole.neverReruns()}
	for _, w := range requests {
		distinct[w.index] = true
	}
	switch {
	case len(distinct) != countIndices(v.whole.indices):
		p.needMembers = true
	case strings.Contains(v.whole.holds, "u"):
		p.targets = append(p.targets, t)
	}
}

// applies reports whether an operation must act on a job. It returns an error if the operation is not possible.
// arrayHolds are the holds of the job's array.
func applies(op adapters.Op, j job, arrayHolds string) (bool, error) {
	if j.isOver() {
		return false, nil
	}
	switch op {
	case adapters.Release:
		return strings.Contains(j.holds, "u") || strings.Contains(arrayHolds, "u"), nil
	case adapters.HoldJobs:
		switch {
		case strings.Contains("QWT", j.state):
			return true, nil
		case j.state == "H":
			return false, nil
		}
		return false, jjm.Errorf(jjm.Conflict, "job %s is in state %s: PBS holds waiting jobs only", j.id, j.state)
	}
	return true, nil
}
