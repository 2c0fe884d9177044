package gridjob

import (
	"context"
	"fmt"

	"jjm"
	"jjm/engine/state"
	"jjm/handlers"
	"jjm/jobfile"
	"jjm/store"
	"jjm/wire"
)

// Submit checks a job file and stores the grid job it describes, unless the
// caller's request key names one already there. All mistakes are reported at
// once, as jjm.Problems, and nothing is left behind. With DryRun it only says
// what it would make.
func (js *Jobs) Submit(ctx context.Context, caller wire.Caller, req wire.Submit) (wire.Submitted, error) {
	if err := js.b.MayRun(caller); err != nil {
		return wire.Submitted{}, err
	}
	doc, problems := jobfile.ParseKeyed(req.Name, []byte(req.Text), req.Key)
	spec := &doc.Spec
	if spec.KeyReuse = spec.KeyReuse || req.Anew && spec.Key != ""; spec.KeyReuse && !caller.Spooled {
		// The cancel that allows the key anew may wait there.
		if err := js.settle(ctx, caller, jjm.HandleOf(caller.UID, spec.Key)); err != nil {
			return wire.Submitted{}, err
		}
	}
	problems = append(problems, req.Origin.Problems()...)
	if req.Origin = told(req.Origin, req.Credentials); req.Origin != nil {
		origin := *req.Origin
		origin.Verified = caller.Admin // whatever the request says
		req.Origin = &origin
	}
	problems = append(problems, checkCredentials(spec, req.Credentials)...)
	owner := jjm.Owner{UID: caller.UID, GID: caller.GID, User: caller.User}
	site := js.types.Site(owner, req.BaseDir)
	h, fit, more := js.examine(ctx, owner, spec, site, req.BaseDir)
	if problems = append(problems, problems.Unsaid(more)...); len(problems) > 0 {
		return wire.Submitted{}, doc.Locate(problems).Err()
	}
	if req.DryRun {
		v := js.s.View()
		err := js.mayAccept(v.Memory, owner, spec, req, fit)
		v.Close()
		if err != nil {
			return wire.Submitted{}, err
		}
		return js.rooms.Datasets.DryRun(ctx, owner, h, spec, site, fit)
	}
	return js.accept(ctx, caller, *spec, req, fit)
}

// mayAccept refuses a new grid job that the site does not want now: of somebody who is
// banned, drained, beyond what one account may have, or for want of space.
func (js *Jobs) mayAccept(mem state.Memory, owner jjm.Owner, spec *jjm.Spec, req wire.Submit, fit state.Choice) error {
	if err := mem.Admitted(state.Whom(owner, req.Origin, req.Credentials)); err != nil {
		return err
	}
	if err := mem.Admits(spec, owner.User, fit.Clusters, jjm.At(js.b.Now())); err != nil {
		return err
	}
	if err := mem.Allows(owner.UID); err != nil {
		return err
	}
	return js.s.HasSpace()
}

// examine finds the mistakes that only the job type and the site can tell, the
// handler, and the clusters that would be used.
func (js *Jobs) examine(ctx context.Context, owner jjm.Owner, spec *jjm.Spec, site handlers.Site,
	base string) (h handlers.Handler, fit state.Choice, problems jjm.Problems) {
	fit, more := js.rooms.Clusters.Choose(spec)
	h, err := js.b.Deps.Types.Get(spec.Type)
	if err != nil {
		problems = append(problems, jjm.Problem{Field: "type", Text: trimField(err, "type")})
	} else {
		ready, mistakes := handlers.Ready(h, spec, site)
		*spec, problems = *ready, mistakes
		if spec.Merge != nil {
			problems = append(problems, js.rooms.Datasets.CheckMerge(spec, fit.Clusters)...)
		}
		if len(problems) == 0 {
			problems = js.rooms.Datasets.CheckDatasets(ctx, owner, spec, h, site, fit.Clusters)
		}
	}
	open := js.types.Packable(owner, base)
	problems = append(problems, checkInputs(spec, open, js.b.Conf().MaxInputBytes)...)
	problems = append(problems, js.rooms.Prover.CheckRecovers(ctx, owner, spec)...)
	return h, fit, append(problems, more...)
}

// accept stores the grid job in one transaction and publishes its record.
func (js *Jobs) accept(ctx context.Context, caller wire.Caller, spec jjm.Spec, req wire.Submit,
	fit state.Choice) (wire.Submitted, error) {
	var out wire.Submitted
	owner := jjm.Owner{UID: caller.UID, GID: caller.GID, User: caller.User}
	if _, err := js.putCredentials(owner, &spec, req.Credentials); err != nil {
		return wire.Submitted{}, fmt.Errorf("accept grid job: %w", err)
	}
	err := js.s.Change(ctx, "accept", func(c *state.Change) error {
		id, found, err := js.holder(c, caller.UID, spec)
		if err != nil {
			return err
		}
		if found {
			out = wire.Submitted{ID: id, Existed: true}
			return js.nameAgain(ctx, c, caller.UID, spec.Key, id)
		}
		if err := js.mayAccept(c.Live, owner, &spec, req, fit); err != nil {
			return err
		}
		job := jjm.GridJob{
			Owner: owner,
			Spec:  spec, BaseDir: req.BaseDir, Accepted: c.Now, Changed: c.Now, Origin: req.Origin,
		}
		if err := c.Tx.InsertGrid(&job); err != nil {
			return err
		}
		if err := js.rooms.Feeder.MakeOutput(c, &job, len(fit.Clusters)); err != nil {
			return err
		}
		if err := keyed(c, caller.UID, spec.Key, job.ID); err != nil {
			return err
		}
		c.Grids[job.ID] = &job
		c.Note(job.ID, "", job.Status.String(), "accepted: "+spec.Type, caller.User)
		out = wire.Submitted{ID: job.ID}
		return nil
	})
	if err != nil {
		js.dropCredentials(owner, &spec, 0)
		return wire.Submitted{}, fmt.Errorf("accept grid job: %w", err)
	}
	if !out.Existed {
		js.rooms.Records.PublishNow(ctx, out.ID)
	}
	if spec.Key != "" {
		out.Handle = jjm.HandleOf(caller.UID, spec.Key)
	}
	return out, nil
}

// holder finds the grid job that holds the request key. Where the caller says
// so, a cancelled one gives it up.
func (js *Jobs) holder(c *state.Change, uid int, spec jjm.Spec) (jjm.GridID, bool, error) {
	if spec.Key == "" {
		return 0, false, nil
	}
	id, found, err := c.Tx.FindKey(uid, spec.Key)
	if err != nil || !found || !spec.KeyReuse {
		return id, found, err
	}
	cancelled := false
	if g := c.Live.Grid(id); g != nil {
		cancelled = g.Job.Kill
	} else {
		job, err := js.b.Store.Grid(context.Background(), id)
		if err != nil {
			return 0, false, err
		}
		cancelled = job.Kill
	}
	if !cancelled {
		return id, true, nil
	}
	return 0, false, c.Tx.ReleaseKey(id)
}

// trimField drops a leading "field: " that the problem itself will carry.
func trimField(err error, field string) string {
	text := err.Error()
	if p := field + ": "; len(text) > len(p) && text[:len(p)] == p {
		return text[len(p):]
	}
	return text
}

// keyed lets the handle of a request key mean a grid job.
func keyed(c *state.Change, uid int, key string, id jjm.GridID) error {
	if key == "" {
		return nil
	}
	return c.Tx.PutHandle(jjm.HandleOf(uid, key), store.Handle{UID: uid, Grid: id, Time: c.Now})
}

// nameAgain does so for a grid job that was there already: one that was
// accepted before jjm knew handles has none.
func (js *Jobs) nameAgain(ctx context.Context, c *state.Change, uid int, key string, id jjm.GridID) error {
	if h, err := js.b.Store.Handle(ctx, jjm.HandleOf(uid, key)); err == nil && h.Grid == id && h.Refused == "" {
		return nil
	}
	return keyed(c, uid, key, id)
}
