package engine

import (
	"context"
	"encoding/json"
	"fmt"
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

func mode(s jjm.Spec) string {
	if s.Mode == "" {
		return "Production"
	}
	return s.Mode
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
