package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"jjm"
	"jjm/handlers"
	"jjm/sandbox"
	"jjm/split"
)

// prepare makes the work area and the sandbox, decides how the work is cut and
// on which cluster, and stores that it did.
func (e *Engine) prepare(ctx context.Context, id jjm.GridID) error {
	job := e.jobOf(id)
	h, err := e.deps.Types.Get(job.Spec.Type)
	if err != nil {
		return err
	}
	site := e.site(job.Owner, job.BaseDir)
	fit, problems := e.choose(&job.Spec)
	if len(fit.clusters) == 0 {
		return problems.Err()
	}
	if job.Spec.Merge != nil {
		if ps := e.checkMerge(&job.Spec, fit.clusters); len(ps) > 0 { // the site may have changed since
			return ps.Err()
		}
	}
	if err := e.pack(ctx, &job, h, site); err != nil {
		return fmt.Errorf("prepare grid job %s: %w", id, err)
	}
	cut, err := handlers.SplitBy(h, &job.Spec, site)
	if err != nil {
		return fmt.Errorf("prepare grid job %s: %w", id, err)
	}
	if err := e.fillDatasets(ctx, &job, h); err != nil {
		return fmt.Errorf("prepare grid job %s: %w", id, err)
	}
	if cut.Jobs > e.conf().MaxLocalJobs {
		return jjm.Errorf(jjm.Invalid, "grid job %s would make %d local jobs; this site allows %d (engine.max_local_jobs)",
			id, cut.Jobs, e.conf().MaxLocalJobs)
	}
	err = e.change(ctx, "prepare", func(c *change) error {
		g := c.grid(id)
		if err := c.openInputs(g); err != nil {
			return err
		}
		if err := c.openMerge(g); err != nil {
			return err
		}
		g.Step.Prepared, g.Step.Cluster, g.Step.Clusters = true, fit.clusters[0], fit.clusters
		g.Step.Splitter, g.Step.Why, g.Step.Expected = cut.Splitter, slices.Concat(cut.Why, fit.notes), cut.Jobs
		if !g.Kill { // a kill came meanwhile: it stays aborting
			c.status(g, jjm.Defined, fmt.Sprintf("%s on %s", howMany(&job.Spec, cut.Jobs), strings.Join(fit.clusters, ", ")), "")
		}
		return nil
	})
	if err == nil {
		e.kickSources(&job)
	}
	return err
}

// pack installs the wrapper and the sandbox package, and writes what all the
// local jobs share. Doing it again changes nothing.
func (e *Engine) pack(ctx context.Context, job *jjm.GridJob, h handlers.Handler, site handlers.Site) error {
	ar, err := e.areas.of(job.Owner)
	if err != nil {
		return err
	}
	inputs, err := e.inputs(job, h, site)
	if err != nil {
		return err
	}
	pkg, files, err := ar.Pack(ctx, inputs, within(e.conf().MaxInputBytes, site.Open))
	if err != nil {
		return err
	}
	if err := e.crash("prepare.packed"); err != nil {
		return err
	}
	return ar.WriteJob(sandbox.Job{
		Grid: job.ID, Package: pkg, Files: files, Credentials: credentialsOf(job),
		Env: job.Spec.Env, Outputs: job.Spec.Outputs,
		Result: job.Spec.Result, Mode: mode(job.Spec),
		Grace: e.conf().Grace, Heartbeat: e.conf().Heartbeat, MaxOutputBytes: e.conf().MaxOutputBytes,
	})
}

// inputs are the job file's, the list of ranges that it names, and those that the
// type adds.
func (e *Engine) inputs(job *jjm.GridJob, h handlers.Handler, site handlers.Site) ([]jjm.Input, error) {
	inputs := job.Spec.Inputs
	if from := job.Spec.OnlyFrom; from != "" && !slices.ContainsFunc(inputs, func(in jjm.Input) bool { return in.Path == from }) {
		inputs = append(inputs[:len(inputs):len(inputs)], jjm.Input{Path: from, Name: filepath.Base(from)})
	}
	p, ok := h.(handlers.Preparer)
	if !ok {
		return inputs, nil
	}
	more, err := p.Prepare(&job.Spec, site)
	if err != nil {
		return nil, err
	}
	return append(inputs[:len(inputs):len(inputs)], more...), nil
}

func mode(s jjm.Spec) string {
	if s.Mode == "" {
		return "Production"
	}
	return s.Mode
}

// jobOf copies a live grid job's row.
func (e *Engine) jobOf(id jjm.GridID) jjm.GridJob {
	e.mem.RLock()
	defer e.mem.RUnlock()
	if g := e.grids[id]; g != nil {
		return g.job
	}
	return jjm.GridJob{}
}

// chunk is how many parts one cut makes, and how many files are added to a dataset
// in one transaction: large enough for speed, small enough that others get their
// turn in between.
const chunk = 5000

func (e *Engine) chunk() int { return cmp.Or(e.deps.Chunk, chunk) }

// cutting remembers a handler's decision between the cuts of one grid job.
type cutting struct {
	handlers.Cutting
	splitter split.Splitter
}

// generate cuts the next chunk: parts, local jobs and cover entries are one
// transaction, with the splitter's carry.
func (e *Engine) generate(ctx context.Context, id jjm.GridID) error {
	job := e.jobOf(id)
	e.mem.RLock()
	g := e.grids[id]
	merge := g != nil && g.merge != nil && !g.cutsWork()
	e.mem.RUnlock()
	if merge {
		return e.feedMerge(ctx, &job)
	}
	cut, err := e.cuttingOf(&job)
	if err != nil {
		return fmt.Errorf("generate grid job %s: %w", id, err)
	}
	if len(job.Spec.Datasets) > 0 {
		return e.feed(ctx, &job, cut)
	}
	carry := firstCarry(&job.Spec)
	if len(job.Step.Carry) > 0 {
		if err := json.Unmarshal(job.Step.Carry, &carry); err != nil {
			return jjm.Errorf(jjm.Internal, "grid job %s: carry: %w", id, err)
		}
	}
	parts, left, next, err := cut.splitter.Cut(cut.Work, split.Limits{MaxParts: e.chunk()}, cut.Params, carry)
	if err != nil {
		return fmt.Errorf("generate grid job %s: %w", id, err)
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	return e.change(ctx, "generate", func(c *change) error {
		g := c.grid(id)
		if g == nil || g.Step.Made != job.Step.Made || g.Step.Closed {
			return nil // overtaken: look again
		}
		c.insert(g, parts)
		g.Step.Carry, g.Step.Closed = text, !left.More
		g.Step.Made += len(parts)
		if !left.More {
			g.Step.Expected = g.Step.Made
		}
		return nil
	})
}

// insert makes local jobs of parts.
func (c *change) insert(g *jjm.GridJob, parts []jjm.Part) {
	if len(parts) == 0 {
		return
	}
	first := int32(g.Step.Made)
	c.inserted = make([]jjm.LocalJob, len(parts))
	for i, p := range parts {
		c.inserted[i] = jjm.LocalJob{ID: jjm.LocalID{Grid: g.ID, N: first + int32(i)}, Part: p, Exit: -1}
	}
	bind(g, c.inserted)
	c.journal = append(c.journal, jjm.JournalEntry{Time: c.now, Grid: g.ID,
		First: first, Last: first + int32(len(parts)) - 1, To: jjm.New.String(), Source: c.name,
		Cause: fmt.Sprintf("cut by %s: %ss %d to %d", g.Step.Splitter, parts[0].Unit, parts[0].First, parts[len(parts)-1].Last())})
	c.bar(c.inserted)
}

// packedSite opens inputs as they were packed: the job file's folder may have
// changed since.
func (e *Engine) packedSite(job *jjm.GridJob, h handlers.Handler) (handlers.Site, error) {
	site := e.site(job.Owner, job.BaseDir)
	ar, err := e.areas.of(job.Owner)
	if err != nil {
		return site, err
	}
	packed, err := ar.ReadJob(job.ID)
	if err != nil {
		return site, err
	}
	inputs, err := e.inputs(job, h, site)
	if err != nil {
		return site, err
	}
	names := map[string]string{}
	for _, in := range inputs {
		names[in.Path] = in.Name
		if in.Name == "" {
			names[in.Path] = filepath.Base(in.Path)
		}
	}
	site.Open = func(path string) (io.ReadCloser, error) {
		if name, ok := names[path]; ok {
			return ar.OpenPacked(packed.Package, name)
		}
		return e.openInput(job.Owner, job.BaseDir, path)
	}
	return site, nil
}

// cuttingOf asks the handler again after a restart; the answer is the same,
// because it depends on the stored spec and the packed inputs alone.
func (e *Engine) cuttingOf(job *jjm.GridJob) (*cutting, error) {
	e.mem.RLock()
	known := e.grids[job.ID].cutting
	e.mem.RUnlock()
	if known != nil {
		return known, nil
	}
	h, err := e.deps.Types.Get(job.Spec.Type)
	if err != nil {
		return nil, err
	}
	site, err := e.packedSite(job, h)
	if err != nil {
		return nil, err
	}
	cut, err := handlers.SplitBy(h, &job.Spec, site)
	if err != nil {
		return nil, err
	}
	sp, err := split.Get(cut.Splitter)
	if err != nil {
		return nil, err
	}
	c := &cutting{Cutting: cut, splitter: sp}
	e.adjust(func() { e.grids[job.ID].cutting = c })
	return c, nil
}
