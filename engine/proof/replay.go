package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"jjm"
	"jjm/engine/state"
	"jjm/handlers"
	"jjm/split"
	"jjm/wire"
)

// Replay asks the type of a grid job anew what it was asked before: what it is, how the
// grid job is done, whether the job file is right, which files it adds, how the work is
// cut. The parts are held against those that are stored. Nothing is changed. Kinds: as
// of [state.State.Find]; what the type refuses is in the answer.
func (pr *Prover) Replay(ctx context.Context, caller wire.Caller, id jjm.GridID) (wire.Replayed, error) {
	job, err := pr.s.Find(ctx, caller, id)
	if err != nil {
		return wire.Replayed{}, err
	}
	r := &replay{pr: pr, job: &job, out: wire.Replayed{ID: id, Type: job.Spec.Type}}
	h, err := pr.b.Deps.Types.Get(job.Spec.Type)
	if err != nil {
		r.add("describe", "", err.Error())
		return r.out, nil
	}
	r.h = h
	r.site, err = pr.types.PackedSite(&job, h)
	if err != nil {
		r.note = "what was packed is not there any more: files are read from the job file's folder"
		r.site = pr.types.Site(job.Owner, job.BaseDir)
	}
	r.ask()
	cut, ok := r.split()
	if !ok || ctx.Err() != nil {
		return r.out, ctx.Err()
	}
	return r.out, r.parts(ctx, cut)
}

// replay is one in progress. Spec is the job file as the type plans it now.
type replay struct {
	pr   *Prover
	job  *jjm.GridJob
	h    handlers.Handler
	site handlers.Site
	note string
	spec *jjm.Spec
	out  wire.Replayed
}

// maxFindings bounds what is told of one question, maxFinding how long each is, in bytes.
const (
	maxFindings = 20
	maxFinding  = 400
)

// add adds what was found at one question.
func (r *replay) add(name, note string, found ...string) {
	if n := len(found); n > maxFindings {
		found = append(found[:maxFindings:maxFindings], fmt.Sprintf("and %d more", n-maxFindings))
	}
	found = slices.Clone(found)
	for i, text := range found {
		if len(text) > maxFinding {
			found[i] = strings.ToValidUTF8(text[:maxFinding], "") + "..."
		}
	}
	r.out.Checks = append(r.out.Checks, wire.ReplayCheck{Name: name, Note: note, Findings: found})
}

// ask asks all that needs no parts.
func (r *replay) ask() {
	problems := handlers.Learn(r.h)
	if len(problems) == 0 {
		problems = handlers.Fits(r.job.Spec.Type, r.h.Describe(), &r.job.Spec)
	}
	r.add("describe", r.note, texts(problems)...)
	r.spec = &r.job.Spec
	if _, plans := r.h.(handlers.Planner); plans {
		r.plan()
	}
	r.add("check", "", texts(handlers.Examine(r.h, r.spec, r.site))...)
	r.prepare()
}

// plan has the type plan anew, and tells what it plans otherwise.
func (r *replay) plan() {
	was, bare := handlers.Unplanned(r.spec)
	planned, problems := handlers.Planned(r.h, bare, r.site)
	if len(problems) > 0 {
		r.add("plan", "what follows is asked of the plan that is stored", texts(problems)...)
		return
	}
	now, _ := handlers.Unplanned(planned)
	r.add("plan", "", differences("", was, now)...)
	r.spec = planned
}

// differences tells what differs between two tables, one level below their first keys.
func differences(path string, was, now map[string]any) (found []string) {
	keys := maps.Clone(was)
	maps.Copy(keys, now)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		a, b := text(was[key]), text(now[key])
		if a == b {
			continue
		}
		below, both := was[key].(map[string]any)
		other, too := now[key].(map[string]any)
		if both && too && path == "" {
			found = append(found, differences(key+".", below, other)...)
			continue
		}
		found = append(found, fmt.Sprintf("%s%s is %.150s, was %.150s", path, key, b, a))
	}
	return found
}

// text is a value as people read it.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if v == nil {
		return "absent"
	}
	return string(b)
}

// prepare asks which files are packed.
func (r *replay) prepare() {
	now, err := handlers.Inputs(r.h, r.spec, r.site)
	if err != nil {
		r.add("prepare", "", err.Error())
		return
	}
	was, err := handlers.Inputs(r.h, &r.job.Spec, r.site)
	if err != nil || text(was) == text(now) {
		r.add("prepare", "")
		return
	}
	r.add("prepare", "", fmt.Sprintf("the inputs are %s, were %s", text(now), text(was)))
}

// split asks how the work is cut; false if that is not told.
func (r *replay) split() (handlers.Cutting, bool) {
	cut, err := handlers.SplitBy(r.h, r.spec, r.site)
	if err != nil {
		r.add("split", "", err.Error())
		return cut, false
	}
	if was := r.job.Step.Splitter; was != "" && was != cut.Splitter {
		r.add("split", "", fmt.Sprintf("the splitter is %s, was %s", cut.Splitter, was))
		return cut, true
	}
	r.add("split", strings.Join(cut.Why, "; "))
	return cut, true
}

// partsAtOnce is how many parts are cut, or read, at a time.
const partsAtOnce = 5000

// parts cuts the work anew, and holds each part and its command against what is stored.
func (r *replay) parts(ctx context.Context, cut handlers.Cutting) error {
	if len(r.job.Spec.Datasets) > 0 {
		r.add("parts", "of files as they came: jjm verify "+r.job.ID.String()+" holds them against the ledger")
		return nil
	}
	splitter, err := split.Get(cut.Splitter)
	if err != nil {
		r.add("parts", "", err.Error())
		return nil
	}
	c := comparison{replay: r, carry: state.FirstCarry(r.spec), cut: cut, splitter: splitter, more: true}
	for first := int32(0); ; first += partsAtOnce {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		locals, err := r.pr.b.Store.Locals(ctx, r.job.ID, first, first+partsAtOnce-1)
		if err != nil {
			return err
		}
		for i := range locals {
			if locals[i].Step == jjm.StepWork {
				c.compare(&locals[i])
			}
		}
		if len(locals) < partsAtOnce {
			break
		}
	}
	c.end()
	return nil
}

// comparison holds parts that are cut now against those that are stored, in their order.
type comparison struct {
	*replay
	cut      handlers.Cutting
	splitter split.Splitter
	carry    split.Carry
	ready    []jjm.Part
	more     bool
	trouble  error

	compared         int
	differ, commands []string
}

// next returns the next part; false if there is none.
func (c *comparison) next() (jjm.Part, bool) {
	for len(c.ready) == 0 && c.more && c.trouble == nil {
		var left split.Left
		c.ready, left, c.carry, c.trouble = c.splitter.Cut(c.cut.Work, split.Limits{MaxParts: partsAtOnce}, c.cut.Params,
			c.carry)
		c.more = left.More
	}
	if len(c.ready) == 0 {
		return jjm.Part{}, false
	}
	p := c.ready[0]
	c.ready = c.ready[1:]
	return p, true
}

// compare holds the next part, and its command, against a local job.
func (c *comparison) compare(l *jjm.LocalJob) {
	c.compared++
	was := l.Part
	was.Serials, was.Streams = nil, nil // they are given by jjm, not by the type
	now, ok := c.next()
	switch {
	case !ok:
		c.differ = append(c.differ, fmt.Sprintf("local job %s has the part %s, and there is none now", l.ID, text(was)))
		return
	case text(now) != text(was):
		c.differ = append(c.differ, fmt.Sprintf("local job %s: the part is %s, was %s", l.ID, text(now), text(was)))
	}
	if _, err := handlers.CommandOf(c.h, c.spec, l); err != nil {
		c.commands = append(c.commands, fmt.Sprintf("local job %s: %v", l.ID, err))
	}
}

// end tells what was found.
func (c *comparison) end() {
	if _, more := c.next(); more && c.job.Step.Closed {
		c.differ = append(c.differ, fmt.Sprintf("there are more than the %d that are stored", c.compared))
	}
	if c.trouble != nil {
		c.differ = append(c.differ, c.trouble.Error())
	}
	c.add("parts", fmt.Sprintf("%d parts cut again", c.compared), c.differ...)
	c.add("command", "", c.commands...)
}

// texts are problems, one each.
func texts(problems jjm.Problems) []string {
	var out []string
	for i := range problems {
		out = append(out, problems[i:i+1].Error())
	}
	return out
}
