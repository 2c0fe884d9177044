package engine

import (
	"context"
	"fmt"

	"jjm"
	"jjm/handlers"
	"jjm/jobfile"
	"jjm/store"
	"jjm/wire"
)

// Submit checks a job file and stores the grid job it describes, unless the
// caller's request key names one already there. All mistakes are reported at
// once, as jjm.Problems, and nothing is left behind. With DryRun it only says
// what it would make.
func (e *Engine) Submit(ctx context.Context, caller wire.Caller, req wire.Submit) (wire.Submitted, error) {
	if err := e.mayRun(caller); err != nil {
		return wire.Submitted{}, err
	}
	doc, problems := jobfile.ParseKeyed(req.Name, []byte(req.Text), req.Key)
	spec := &doc.Spec
	if spec.KeyReuse = spec.KeyReuse || req.Anew && spec.Key != ""; spec.KeyReuse && !caller.Spooled {
		// The cancel that allows the key anew may wait there.
		if err := e.settle(ctx, caller, jjm.HandleOf(caller.UID, spec.Key)); err != nil {
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
	site := e.site(owner, req.BaseDir)
	h, fit, more := e.examine(ctx, owner, spec, site)
	if problems = append(problems, problems.Unsaid(more)...); len(problems) > 0 {
		return wire.Submitted{}, doc.Locate(problems).Err()
	}
	if req.DryRun {
		e.mem.RLock()
		err := e.admitted(whom(owner, req.Origin, req.Credentials))
		if err == nil {
			err = e.admits(spec, caller.User, fit.clusters, jjm.At(e.now()))
		}
		if err == nil {
			err = e.allows(owner.UID)
		}
		if err == nil {
			err = e.hasSpace()
		}
		e.mem.RUnlock()
		if err != nil {
			return wire.Submitted{}, err
		}
		return e.dryRun(ctx, owner, h, spec, site, fit)
	}
	return e.accept(ctx, caller, *spec, req, fit)
}

// examine finds the mistakes that only the job type and the site can tell, the
// handler, and the clusters that would be used.
func (e *Engine) examine(ctx context.Context, owner jjm.Owner, spec *jjm.Spec, site handlers.Site) (h handlers.Handler, fit choice, problems jjm.Problems) {
	fit, more := e.choose(spec)
	h, err := e.deps.Types.Get(spec.Type)
	if err != nil {
		problems = append(problems, jjm.Problem{Field: "type", Text: trimField(err, "type")})
	} else {
		if spec.Result == "" {
			spec.Result = h.Describe().Result
		}
		problems = handlers.Examine(h, spec, site)
		if spec.Merge != nil {
			problems = append(problems, e.checkMerge(spec, fit.clusters)...)
		}
		if len(problems) == 0 {
			problems = e.checkDatasets(ctx, owner, spec, h, site, fit.clusters)
		}
	}
	problems = append(problems, checkInputs(spec, site, e.conf().MaxInputBytes)...)
	problems = append(problems, e.checkRecovers(ctx, owner, spec)...)
	return h, fit, append(problems, more...)
}

// accept stores the grid job in one transaction and publishes its record.
func (e *Engine) accept(ctx context.Context, caller wire.Caller, spec jjm.Spec, req wire.Submit, fit choice) (wire.Submitted, error) {
	var out wire.Submitted
	owner := jjm.Owner{UID: caller.UID, GID: caller.GID, User: caller.User}
	if _, err := e.putCredentials(owner, &spec, req.Credentials); err != nil {
		return wire.Submitted{}, fmt.Errorf("accept grid job: %w", err)
	}
	err := e.change(ctx, "accept", func(c *change) error {
		id, found, err := e.holder(c, caller.UID, spec)
		if err != nil {
			return err
		}
		if found {
			out = wire.Submitted{ID: id, Existed: true}
			return e.nameAgain(ctx, c, caller.UID, spec.Key, id)
		}
		if err := e.admitted(whom(owner, req.Origin, req.Credentials)); err != nil {
			return err
		}
		if err := e.admits(&spec, caller.User, fit.clusters, c.now); err != nil {
			return err
		}
		if err := e.allows(owner.UID); err != nil {
			return err
		}
		if err := e.hasSpace(); err != nil {
			return err
		}
		job := jjm.GridJob{
			Owner: owner,
			Spec:  spec, BaseDir: req.BaseDir, Accepted: c.now, Changed: c.now, Origin: req.Origin,
		}
		if err := c.tx.InsertGrid(&job); err != nil {
			return err
		}
		if err := c.makeOutput(&job, len(fit.clusters)); err != nil {
			return err
		}
		if err := c.keyed(caller.UID, spec.Key, job.ID); err != nil {
			return err
		}
		c.grids[job.ID] = &job
		c.note(job.ID, "", job.Status.String(), "accepted: "+spec.Type, caller.User)
		out = wire.Submitted{ID: job.ID}
		return nil
	})
	if err != nil {
		e.dropCredentials(owner, &spec, 0)
		return wire.Submitted{}, fmt.Errorf("accept grid job: %w", err)
	}
	if !out.Existed {
		e.publishNow(ctx, out.ID)
	}
	if spec.Key != "" {
		out.Handle = jjm.HandleOf(caller.UID, spec.Key)
	}
	return out, nil
}

// holder finds the grid job that holds the request key. Where the caller says
// so, a cancelled one gives it up.
func (e *Engine) holder(c *change, uid int, spec jjm.Spec) (jjm.GridID, bool, error) {
	if spec.Key == "" {
		return 0, false, nil
	}
	id, found, err := c.tx.FindKey(uid, spec.Key)
	if err != nil || !found || !spec.KeyReuse {
		return id, found, err
	}
	cancelled := false
	if g := e.grids[id]; g != nil {
		cancelled = g.job.Kill
	} else {
		job, err := e.store.Grid(context.Background(), id)
		if err != nil {
			return 0, false, err
		}
		cancelled = job.Kill
	}
	if !cancelled {
		return id, true, nil
	}
	return 0, false, c.tx.ReleaseKey(id)
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
func (c *change) keyed(uid int, key string, id jjm.GridID) error {
	if key == "" {
		return nil
	}
	return c.tx.PutHandle(jjm.HandleOf(uid, key), store.Handle{UID: uid, Grid: id, Time: c.now})
}

// nameAgain does so for a grid job that was there already: one that was
// accepted before jjm knew handles has none.
func (e *Engine) nameAgain(ctx context.Context, c *change, uid int, key string, id jjm.GridID) error {
	if h, err := e.store.Handle(ctx, jjm.HandleOf(uid, key)); err == nil && h.Grid == id && h.Refused == "" {
		return nil
	}
	return c.keyed(uid, key, id)
}
