package gridjob

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"jjm/handlers"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// prepare makes the work area and the sandbox, asks the job type how to cut the work, chooses clusters, fills datasets,
// and stores the outcome. After a crash it does all this again, which changes nothing that exists. While an input is
// being fetched, it returns nil and stores no outcome. The error is of kind Invalid if the grid job would make more
// local jobs than the site allows.
func (js *Jobs) prepare(ctx context.Context, id jjm.GridID) error {
	job := js.s.JobOf(id)
	h, err := js.b.Deps.Types.Get(job.Spec.Type)
	if err != nil {
		return err
	}
	site := js.types.Site(job.Owner, job.BaseDir)
	fit, problems := js.rooms.Clusters.Choose(&job.Spec)
	if len(fit.Clusters) == 0 {
		return problems.Err()
	}
	if job.Spec.Merge != nil {
		// the site may have changed since the submission
		if ps := js.rooms.Datasets.CheckMerge(&job.Spec, fit.Clusters); len(ps) > 0 {
			return ps.Err()
		}
	}
	inputs, err := handlers.Inputs(h, &job.Spec, site)
	if err == nil {
		err = handlers.MayPack(h, &job.Spec, site)
	}
	if err != nil {
		return fmt.Errorf("prepare grid job %s: %w", id, err)
	}
	if there, err := js.remote.Bring(&job, inputs); err != nil || !there {
		return err // the grid job is woken when the inputs are fetched
	}
	if err := js.pack(ctx, &job, inputs); err != nil {
		return fmt.Errorf("prepare grid job %s: %w", id, err)
	}
	cut, err := handlers.SplitBy(h, &job.Spec, site)
	if err != nil {
		return fmt.Errorf("prepare grid job %s: %w", id, err)
	}
	if err := js.rooms.Datasets.FillDatasets(ctx, &job, h); err != nil {
		return fmt.Errorf("prepare grid job %s: %w", id, err)
	}
	if cut.Jobs > js.b.Conf().MaxLocalJobs {
		return jjm.Errorf(jjm.Invalid, "grid job %s would make %d local jobs; this site allows %d (engine.max_local_jobs)",
			id, cut.Jobs, js.b.Conf().MaxLocalJobs)
	}
	err = js.s.Change(ctx, "prepare", func(c *state.Change) error {
		g := c.Grid(id)
		g.Step.LastMade = c.Now
		g.Step.Prepared, g.Step.Cluster, g.Step.Clusters = true, fit.Clusters[0], fit.Clusters
		g.Step.Splitter, g.Step.Why, g.Step.Expected = cut.Splitter, slices.Concat(cut.Why, fit.Notes), cut.Jobs
		if !g.Kill { // a grid job that is being killed stays aborting
			c.Status(g, jjm.Defined, fmt.Sprintf("%s on %s", howMany(&job.Spec, cut.Jobs), strings.Join(fit.Clusters, ", ")), "")
		}
		return nil
	})
	if err != nil {
		return err
	}
	js.remote.Forget(&job)
	js.rooms.Datasets.KickSources(&job)
	return nil
}

// pack makes the sandbox package and writes the file that all local jobs of a grid job share. A repeated call changes
// nothing. It returns an error if another grid job with the same number left a folder.
func (js *Jobs) pack(ctx context.Context, job *jjm.GridJob, inputs []jjm.Input) error {
	ar, err := js.areas.Of(job.Owner)
	if err != nil {
		return err
	}
	if err := ar.CheckUnused(job.ID); err != nil {
		return err
	}
	defer ar.Packing()()
	pkg, files, err := ar.Pack(ctx, inputs, within(js.b.Conf().MaxInputBytes,
		js.remote.Packed(ar, job.ID, js.types.Packable(job.Owner, job.BaseDir))))
	if err != nil {
		return err
	}
	if err := js.b.Crash("prepare.packed"); err != nil {
		return err
	}
	shared := handlers.Shared(job.ID, &job.Spec)
	shared.Package, shared.Files, shared.Credentials = pkg, files, credentialsOf(job)
	shared.Grace, shared.Heartbeat = js.b.Conf().Grace, js.b.Conf().Heartbeat
	shared.MaxOutputBytes = js.b.Conf().MaxOutputBytes
	return ar.WriteJob(shared)
}

// generate cuts the next chunk of a grid job, and stores parts, local jobs, ledger entries and the splitter's carry in
// one transaction. If the grid job reads datasets or its next local jobs are merges, the Feeder cuts the chunk instead.
func (js *Jobs) generate(ctx context.Context, id jjm.GridID) error {
	job := js.s.JobOf(id)
	v := js.s.View()
	g := v.Grid(id)
	merge := g != nil && g.Merge != nil && !g.CutsWork()
	v.Close()
	if merge {
		return js.rooms.Feeder.FeedMerge(ctx, &job)
	}
	cut, err := js.types.CuttingOf(&job)
	if err != nil {
		return fmt.Errorf("generate grid job %s: %w", id, err)
	}
	if len(job.Spec.Datasets) > 0 {
		return js.rooms.Feeder.Feed(ctx, &job, cut)
	}
	carry := state.FirstCarry(&job.Spec)
	if len(job.Step.Carry) > 0 {
		if err := json.Unmarshal(job.Step.Carry, &carry); err != nil {
			return jjm.Errorf(jjm.Internal, "grid job %s: carry: %w", id, err)
		}
	}
	room, err := js.s.PartsRoom(ctx, &job, js.b.Chunk())
	if err != nil {
		return err
	}
	parts, left, next, err := cut.Splitter.Cut(cut.Work, split.Limits{MaxParts: max(room, 1)}, cut.Params, carry)
	if err != nil {
		return fmt.Errorf("generate grid job %s: %w", id, err)
	}
	if err := js.s.WithinSerials(ctx, &job, len(parts), room); err != nil {
		return err
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	return js.s.Change(ctx, "generate", func(c *state.Change) error {
		g := c.Grid(id)
		if g == nil || g.Step.Made != job.Step.Made || g.Step.Closed {
			return nil // another change came first: the next step cuts again
		}
		c.Insert(g, parts)
		g.Step.Carry, g.Step.Closed = text, !left.More
		g.Step.Made += len(parts)
		if !left.More {
			g.Step.Expected = g.Step.Made
		}
		return nil
	})
}

// howMany describes, for the journal, the number of local jobs.
func howMany(spec *jjm.Spec, jobs int) string {
	if d := spec.Master(); d != nil {
		return "local jobs of dataset " + d.Name
	}
	return jjm.Count(jobs, "local job")
}
