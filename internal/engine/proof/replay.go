package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"jjm/handlers"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/testkit/differ"
	"jjm/internal/work/split"
)

// Replay asks the job type of a grid job again the questions of the acceptance and preparation - the type's
// description, its plan, the check of the job file, the files to pack, how the work is cut - and compares the parts
// with the stored parts. It changes nothing. A refusal of the type is in the answer. The error is an error of
// [state.State.Find], of the store, or of ctx.
func (pr *Prover) Replay(ctx context.Context, caller wire.Caller, r wire.ReplayRequest) (wire.ReplayAnswer, error) {
	out, err := pr.replay(ctx, caller, r.Grid())
	return wire.ReplayAnswer{Replay: &out}, err
}

func (pr *Prover) replay(ctx context.Context, caller wire.Caller, id jjm.GridID) (wire.Replayed, error) {
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
		r.note = "the sandbox package is removed: files are read from the job file's folder"
		r.site = pr.types.Site(job.Owner, job.BaseDir)
	}
	r.ask()
	cut, ok := r.split()
	if !ok || ctx.Err() != nil {
		return r.out, ctx.Err()
	}
	return r.out, r.parts(ctx, cut)
}

// replay is a replay in progress. spec is the job file as the type plans it now; note is
// a remark on the first answer.
type replay struct {
	pr   *Prover
	job  *jjm.GridJob
	h    handlers.Handler
	site handlers.Site
	note string
	spec *jjm.Spec
	out  wire.Replayed
}

// maxFindings limits the number of findings reported for one question, maxFinding the bytes of each finding.
const (
	maxFindings = 20
	maxFinding  = 400
)

// add adds one question, and the findings about it, to the answer.
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

// ask asks the questions about description, plan, check and inputs.
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

// plan asks the type for its plan again, and adds the settings that differ from the stored plan to the findings.
func (r *replay) plan() {
	was, bare := handlers.Unplanned(r.spec)
	planned, problems := handlers.Planned(r.h, bare, r.site)
	if len(problems) > 0 {
		r.add("plan", "the next questions use the stored plan", texts(problems)...)
		return
	}
	now, _ := handlers.Unplanned(planned)
	r.add("plan", "", differences("", was, now)...)
	r.spec = planned
}

// differences returns the keys whose values differ between two tables. It compares nested tables one level deep.
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
		if one, ok := was[key].(string); ok {
			if other, too := now[key].(string); too {
				a, b = one, other // line by line
			}
		}
		found = append(found, path+key+" "+differ.First(b, a))
	}
	return found
}

// text returns a value as JSON, or "absent".
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

// prepare asks which files are packed, and reports whether they differ from the files that the stored specification
// requires.
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
	r.add("prepare", "", "the list of inputs "+differ.First(text(now), text(was)))
}

// split asks how the work is cut. It returns false if the type returns an error.
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

// partsAtOnce is the number of parts cut, or of local jobs read, at a time.
const partsAtOnce = 5000

// parts cuts the work again, and compares each part and its command with the part and the command of the stored local
// job.
func (r *replay) parts(ctx context.Context, cut handlers.Cutting) error {
	if len(r.job.Spec.Datasets) > 0 {
		r.add("parts", "parts of datasets depend on when files came: jjm verify "+r.job.ID.String()+" compares them with the ledger")
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

// comparison compares the parts that are cut now with the stored parts, in order. differ and commands are the
// differences found so far, and trouble is the error that stopped the cutting.
type comparison struct {
	*replay
	cut      handlers.Cutting
	splitter split.Splitter
	carry    split.Carry
	ready    []jjm.Part
	more     bool
	trouble  error

	compared, cutAgain int // numbers of stored parts, and of parts that were cut for them
	differ, commands   []string
}

// next returns the next part; ok is false if there is no further part.
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

// compare compares the next part and its command with the part and the command of a stored local job.
func (c *comparison) compare(l *jjm.LocalJob) {
	c.compared++
	was := l.Part
	was.Serials, was.Streams = nil, nil // jjm sets them, not the splitter
	now, ok := c.next()
	if ok {
		c.cutAgain++
	}
	switch {
	case !ok:
		c.differ = append(c.differ, fmt.Sprintf("local job %s has the part %s, and no such part is cut now", l.ID, text(was)))
		return
	case text(now) != text(was):
		c.differ = append(c.differ, fmt.Sprintf("local job %s: the part is %s, was %s", l.ID, text(now), text(was)))
	}
	c.command(l)
}

// command compares the command of a local job by the present plan with its command by the stored plan. It asks the job
// type for both, because commands are not stored.
func (c *comparison) command(l *jjm.LocalJob) {
	now, err := handlers.CommandOf(c.h, c.spec, l)
	if err != nil {
		c.commands = append(c.commands, fmt.Sprintf("local job %s: %v", l.ID, err))
		return
	}
	was, err := handlers.CommandOf(c.h, &c.job.Spec, l)
	if err != nil {
		return // the stored plan cannot be read: the question check reports that
	}
	for _, part := range []struct {
		name     string
		now, was any
	}{{"command", now.Argv, was.Argv}, {"environment", now.Env, was.Env}, {"list of outputs", now.Outputs, was.Outputs},
		{"list of required outputs", now.Required, was.Required}, {"command that analyses", now.Analyse, was.Analyse}} {
		if how := differ.First(text(part.now), text(part.was)); how != "" {
			c.commands = append(c.commands, fmt.Sprintf("local job %s: the %s %s", l.ID, part.name, how))
		}
	}
}

// end adds the questions about parts and commands, with the differences that were found, to the answer.
func (c *comparison) end() {
	if _, more := c.next(); more && c.job.Step.Closed {
		c.differ = append(c.differ, fmt.Sprintf("more parts are cut than the %d that are stored", c.compared))
	}
	if c.trouble != nil {
		c.differ = append(c.differ, c.trouble.Error())
	}
	note := jjm.Count(c.cutAgain, "part") + " cut again"
	if c.cutAgain < c.compared {
		note += fmt.Sprintf(", of the %d that are stored", c.compared)
	}
	c.add("parts", note, c.differ...)
	note = ""
	if _, plans := c.h.(handlers.Planner); !plans {
		note = "each is asked for, and not compared: of a type written in Go none is stored"
	}
	c.add("command", note, c.commands...)
}

// texts returns a separate text for each problem.
func texts(problems jjm.Problems) []string {
	var out []string
	for i := range problems {
		out = append(out, problems[i:i+1].Error())
	}
	return out
}
