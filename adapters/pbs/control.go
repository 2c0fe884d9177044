package pbs

import (
	"context"
	"strings"

	"jjm"
	"jjm/adapters"
	"jjm/run"
)

// Control acts on jobs, in as few commands as there can be. It looks first: ids
// are used again, so that only what a listing shows under the tag and the owner
// is touched, and deleting a range of an array would make PBS forget how its
// ended members ended.
func (a *Adapter) Control(ctx context.Context, owner jjm.Owner, op adapters.Op, refs []adapters.Ref) ([]error, error) {
	d, err := a.speak(ctx)
	if err != nil {
		return nil, a.wrap(op.String(), err)
	}
	// A release is nearly always of whole bulks: then the arrays need not be
	// expanded, which costs the server most of the time.
	p, err := a.planned(ctx, owner, op, refs, op != adapters.Release)
	if err != nil {
		return nil, a.wrap(op.String(), err)
	}
	if p.unsure {
		if p, err = a.planned(ctx, owner, op, refs, true); err != nil {
			return nil, a.wrap(op.String(), err)
		}
	}
	for _, argv := range commands(op, d, p.targets) {
		out, err := a.config.Run(ctx, nil, argv.argv...)
		if err != nil {
			return nil, a.wrap(op.String(), adapters.AsBusy(err))
		}
		outcome(op, out, argv, p.answers)
	}
	return p.answers, nil
}

func (a *Adapter) planned(ctx context.Context, owner jjm.Owner, op adapters.Op, refs []adapters.Ref,
	members bool) (*plan, error) {
	all, d, err := a.live(ctx, owner, members)
	if err != nil {
		return nil, err
	}
	if d != torque && op != adapters.Cancel { // of which it is a success that a job is over, or gone
		past, err := a.jobsByID(ctx, a.unlisted(owner, all, refs), members)
		if err != nil {
			return nil, err
		}
		all = append(all, past...)
	}
	if _, err := ofOwner(all, owner); err != nil {
		return nil, err
	}
	return decide(op, d, owner, views(all, members), refs), nil
}

// unlisted returns the ids of the bulks of references that are not in a listing. Both
// forms are asked for where it is not known whether one is an array.
func (a *Adapter) unlisted(owner jjm.Owner, listed []job, refs []adapters.Ref) (ids []string) {
	seen := map[string]bool{}
	for _, j := range listed {
		seen[j.seq] = true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pastOf(owner)
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

// view is one bulk as a listing shows it.
type view struct {
	tag      jjm.Tag
	owner    string
	array    bool
	whole    job // the array, or the plain job
	members  map[int32]job
	expanded bool
}

// views sorts a listing by sequence number.
func views(all []job, expanded bool) map[string]*view {
	out := map[string]*view{}
	for _, j := range all {
		v := out[j.seq]
		if v == nil {
			v = &view{tag: j.tag, owner: accountOf(j.owner), array: j.array, expanded: expanded, members: map[int32]job{}}
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

// target is what one command line operand is about.
type target struct {
	seq   string
	array bool
	// whole is set where the array as a whole is meant, not single members.
	whole bool
	// wishes are the members meant, and the references that they answer.
	wishes []wish
}

// refs are the positions of the references that a target answers.
func (t target) refs() []int {
	out := make([]int, len(t.wishes))
	for i, w := range t.wishes {
		out[i] = w.ref
	}
	return out
}

// plan is what to do for a Control, and the answers that are known already.
type plan struct {
	answers []error
	targets []target
	// unsure is set where the members must be seen to decide.
	unsure bool
}

// decide finds for each reference whether anything needs to be done, and
// gathers by bulk what does.
func decide(op adapters.Op, d dialect, owner jjm.Owner, bulks map[string]*view, refs []adapters.Ref) *plan {
	p := &plan{answers: make([]error, len(refs))}
	wanted := map[string][]wish{}
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
			wanted[id.seq] = append(wanted[id.seq], wish{max(id.index, 0), i})
		}
	}
	for _, seq := range order {
		p.bulk(op, d, seq, bulks[seq], wanted[seq])
	}
	return p
}

// wish is one member that a reference means.
type wish struct {
	index int32
	ref   int
}

// missing answers for a job that is not there, or is another's by now.
func missing(op adapters.Op, ref adapters.Ref) error {
	if op == adapters.Cancel {
		return nil
	}
	return jjm.Errorf(jjm.Gone, "no job %s with tag %s", ref.ID, ref.Tag)
}

// bulk decides about the wishes for one bulk.
func (p *plan) bulk(op adapters.Op, d dialect, seq string, v *view, wishes []wish) {
	if !v.array {
		p.plain(op, seq, v, wishes)
		return
	}
	if v.whole.over() {
		return
	}
	if !v.expanded {
		p.wholeArray(seq, v, wishes)
		return
	}
	t := target{seq: seq, array: true}
	chosen := map[int32]bool{}
	for _, w := range wishes {
		j, ok := v.members[w.index]
		if !ok {
			p.answers[w.ref] = missing(op, adapters.Ref{Tag: v.tag, ID: seq, Index: w.index})
			continue
		}
		need, err := needs(op, j, v.whole.holds)
		p.answers[w.ref] = err
		if need {
			t.wishes = append(t.wishes, w)
			chosen[w.index] = true
		}
	}
	if len(t.wishes) == 0 {
		return
	}
	t.whole = v.allOf(op, chosen)
	if !t.whole && op != adapters.Cancel && d == openpbs {
		for _, ref := range t.refs() {
			p.answers[ref] = jjm.Errorf(jjm.Conflict,
				"%v job array %s: OpenPBS can only do that to the whole array, and others of it are not meant", op, seq)
		}
		return
	}
	p.targets = append(p.targets, t)
}

// allOf reports whether a command for the whole array does what is wanted and
// no more. A deletion must not touch the records of ended members.
func (v *view) allOf(op adapters.Op, chosen map[int32]bool) bool {
	for i, j := range v.members {
		if op == adapters.Cancel {
			if !chosen[i] {
				return false
			}
			continue
		}
		if need, _ := needs(op, j, v.whole.holds); need && !chosen[i] {
			return false
		}
	}
	return true
}

func (p *plan) plain(op adapters.Op, seq string, v *view, wishes []wish) {
	t := target{seq: seq}
	for _, w := range wishes {
		if w.index != 0 {
			p.answers[w.ref] = missing(op, adapters.Ref{Tag: v.tag, ID: seq, Index: w.index})
			continue
		}
		need, err := needs(op, v.whole, "")
		p.answers[w.ref] = err
		if need {
			t.wishes = append(t.wishes, w)
		}
	}
	if len(t.wishes) > 0 {
		p.targets = append(p.targets, t)
	}
}

// wholeArray releases an array of which the members were not listed; if some of
// them are not meant they must be.
func (p *plan) wholeArray(seq string, v *view, wishes []wish) {
	distinct := map[int32]bool{}
	t := target{seq: seq, array: true, whole: true, wishes: wishes}
	for _, w := range wishes {
		distinct[w.index] = true
	}
	switch {
	case len(distinct) != countIndices(v.whole.indices):
		p.unsure = true
	case strings.Contains(v.whole.holds, "u"):
		p.targets = append(p.targets, t)
	}
}

// needs reports whether an operation has anything to do to a job, and why it
// cannot be done. arrayHolds are the holds of the job's array.
func needs(op adapters.Op, j job, arrayHolds string) (bool, error) {
	if j.over() {
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

// command is one command and whom it answers, by operand.
type command struct {
	argv     []string
	operands map[string][]int
}

// verbs are the commands for the operations.
var verbs = map[adapters.Op]string{adapters.Cancel: "qdel", adapters.HoldJobs: "qhold", adapters.Release: "qrls"}

// operandsAtOnce bounds a command line; PBS works through operands one by one.
const operandsAtOnce = 200

// commands returns the commands for targets: jobs, arrays and - in OpenPBS -
// ranges share one; Torque takes the members of one array in an option.
func commands(op adapters.Op, d dialect, targets []target) []command {
	var out []command
	add := func(operand string, refs []int) {
		last := len(out) - 1
		if last < 0 || len(out[last].operands) >= operandsAtOnce {
			out = append(out, command{argv: []string{verbs[op]}, operands: map[string][]int{}})
			last++
		}
		if _, there := out[last].operands[operand]; !there {
			out[last].argv = append(out[last].argv, operand)
		}
		out[last].operands[operand] = append(out[last].operands[operand], refs...)
	}
	var some []target
	for _, t := range targets {
		switch {
		case !t.array:
			add(t.seq, t.refs())
		case t.whole:
			add(t.seq+"[]", t.refs())
		case d == torque:
			some = append(some, t)
		default:
			for _, r := range t.runs() {
				add(t.seq+"["+r.text+"]", r.refs)
			}
		}
	}
	for _, t := range some {
		var spans []string
		for _, r := range t.runs() {
			spans = append(spans, r.text)
		}
		out = append(out, command{
			argv:     []string{verbs[op], "-t", strings.Join(spans, ","), t.seq + "[]"},
			operands: map[string][]int{t.seq + "[]": t.refs()},
		})
	}
	return out
}

// outcome reads what a command answered. Its exit code is that of the last
// error; each error has a line that names the operand. Lines that name none
// leave everything in doubt that was not named.
func outcome(op adapters.Op, out run.Output, c command, answers []error) {
	if out.Exit == 0 {
		return
	}
	named, unnamed := complaints(out.Stderr)
	doubt := len(unnamed) > 0 || len(named) == 0
	for operand, refs := range c.operands {
		text, is := named[operand]
		var err error
		switch {
		case is:
			err = controlError(op, text, operand)
		case doubt:
			err = jjm.Errorf(jjm.Busy, "%s: exit %d: %s", c.argv[0], out.Exit, complaint(out.Stderr))
		}
		for _, ref := range refs {
			answers[ref] = err
		}
	}
}
