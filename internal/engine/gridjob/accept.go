package gridjob

import (
	"context"
	"errors"
	"fmt"

	"jjm/handlers"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// Submit checks a job file and stores the grid job that it describes. If the caller already has a
// grid job with the same request key, Submit returns that grid job. All mistakes are reported
// together, as jjm.Problems, and nothing is left behind. With DryRun it stores nothing and returns
// the plan of the grid job. With Again it submits a kept grid job again.
func (js *Jobs) Submit(ctx context.Context, caller wire.Caller, r wire.SubmitRequest) (wire.SubmitAnswer, error) {
	if r.Submit.Again != 0 {
		out, err := submitAgain(ctx, js, caller, r.Submit.Again)
		return wire.SubmitAnswer{Submit: &out}, err
	}
	out, err := js.submit(ctx, caller, *r.Submit, nil)
	return wire.SubmitAnswer{Submit: &out}, err
}

// submit carries out Submit. of is the original grid job if the new grid job is a copy, else nil.
func (js *Jobs) submit(ctx context.Context, caller wire.Caller, req wire.Submit, of *original) (wire.Submitted,
	error) {
	if err := js.b.MayRun(caller); err != nil {
		return wire.Submitted{}, err
	}
	doc, problems := parse(req, of, js.b.Deps.Model)
	if doc.Incomplete {
		return wire.Submitted{}, problems.Err()
	}
	spec := &doc.Spec
	if spec.KeyReuse = spec.KeyReuse || req.Anew && spec.Key != ""; spec.KeyReuse && !caller.Spooled {
		// The spool may contain a cancel of the grid job that has this request key.
		if err := js.settle(ctx, caller, jjm.HandleOf(caller.UID, spec.Key)); err != nil {
			return wire.Submitted{}, err
		}
	}
	if len(problems) == 0 && !req.DryRun {
		if out, err := repeated(ctx, js, caller, spec, req.Credentials); err != nil || out.Existed {
			return out, err
		}
	}
	problems = append(problems, req.Origin.Problems()...)
	if req.Origin = completedOrigin(req.Origin, req.Credentials); req.Origin != nil {
		origin := *req.Origin
		origin.Verified = caller.Admin // the request itself cannot set this
		req.Origin = &origin
	}
	problems = append(problems, checkCredentials(spec, req.Credentials)...)
	problems = append(problems, checkNotify(&doc, js.b.Deps.Notices)...)
	owner := jjm.Owner{UID: caller.UID, GID: caller.GID, User: caller.User}
	problems = append(problems, problems.Unsaid(js.remote.CheckCallback(owner, req.BaseDir, spec.Callback))...)
	site := js.types.SubmissionSite(owner, req.BaseDir, caller.Spooled)
	problems = append(problems, problems.Unsaid(js.after.Check(ctx, caller, spec))...)
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
		return js.dryRun(ctx, owner, h, spec, site, fit)
	}
	out, err := js.accept(ctx, caller, *spec, req, fit, whence(spec.Type, of))
	var late jjm.Problems
	if errors.As(err, &late) {
		err = doc.Locate(late).Err()
	}
	return out, err
}

// repeated answers a submission whose request key already has a grid job. It does not check again whether the site
// would accept the submission: it was accepted, and the caller perhaps never got the answer. Newer credentials replace
// the grid job's credentials, because some gatekeepers can renew credentials only by a repeated submission. Existed is
// false if no grid job has the key, or if spec allows the reuse of the key.
func repeated(ctx context.Context, js *Jobs, caller wire.Caller, spec *jjm.Spec,
	given []jjm.Credential) (out wire.Submitted, err error) {
	if spec.Key == "" || spec.KeyReuse {
		return out, nil
	}
	id, found, err := js.b.Store.KeyHolder(ctx, caller.UID, spec.Key)
	if err != nil || !found {
		return out, err
	}
	err = js.s.Change(ctx, "accept", func(c *state.Change) error {
		return js.ensureHandle(ctx, c, caller.UID, spec.Key, id)
	})
	if err != nil {
		return out, fmt.Errorf("accept grid job: %w", err)
	}
	if err := renewAgain(ctx, js, caller, id, given); err != nil {
		return out, fmt.Errorf("renew the credentials of grid job %s: %w", id, err)
	}
	js.ids.giveOut(id)
	return wire.Submitted{ID: id, Existed: true, Handle: jjm.HandleOf(caller.UID, spec.Key)}, nil
}

// mayAccept returns an error for a grid job that the site does not accept now: its owner is
// banned, a drain order concerns it, its owner has reached a quota, or there is too little space.
func (js *Jobs) mayAccept(mem state.Memory, owner jjm.Owner, spec *jjm.Spec, req wire.Submit, fit state.Choice) error {
	if err := mem.NotBanned(state.Whom(owner, req.Origin, req.Credentials)); err != nil {
		return err
	}
	if err := mem.NotDrained(spec, owner.User, fit.Clusters, jjm.At(js.b.Now())); err != nil {
		return err
	}
	if err := mem.WithinQuota(owner.UID); err != nil {
		return err
	}
	return js.s.HasSpace()
}

// dryRun returns the plan of a grid job, with the inputs that would be fetched.
func (js *Jobs) dryRun(ctx context.Context, owner jjm.Owner, h handlers.Handler, spec *jjm.Spec, site handlers.Site,
	fit state.Choice) (wire.Submitted, error) {
	out, err := js.rooms.Datasets.DryRun(ctx, owner, h, spec, site, fit)
	if err != nil {
		return wire.Submitted{}, err
	}
	inputs, err := handlers.Inputs(h, spec, site)
	if err != nil {
		return wire.Submitted{}, err
	}
	out.Plan.Fetch = js.remote.Outlook(spec, inputs)
	out.Plan.After, err = js.after.Outlook(ctx, spec)
	return out, err
}

// examine returns the problems of a job file that only the job type and the site can find. It also returns the handler
// and the clusters that would be used.
func (js *Jobs) examine(ctx context.Context, owner jjm.Owner, spec *jjm.Spec, site handlers.Site,
	base string) (h handlers.Handler, fit state.Choice, problems jjm.Problems) {
	var added []jjm.Input
	fit, more := js.rooms.Clusters.Choose(spec)
	h, err := js.b.Deps.Types.Get(spec.Type)
	if err != nil {
		text := trimField(err, "type") + unread(js.b.Deps.Unread, spec.Type)
		problems = append(problems, jjm.Problem{Field: "type", Text: text})
	} else {
		ready, mistakes := handlers.Ready(h, spec, site)
		*spec, problems = *ready, mistakes
		if spec.Merge != nil {
			problems = append(problems, js.rooms.Datasets.CheckMerge(spec, fit.Clusters)...)
		}
		if len(problems) == 0 {
			added, problems = addedBy(h, spec, site)
			problems = append(problems, js.rooms.Datasets.CheckDatasets(ctx, owner, spec, h, site, fit.Clusters)...)
		}
	}
	problems = append(problems, js.checkInputs(owner, base, spec, added)...)
	problems = append(problems, js.rooms.Prover.CheckRecovers(ctx, owner, spec)...)
	return h, fit, append(problems, more...)
}

// unread returns the remedy for an unknown job type, to be added to the error; "" if the site has
// no file of the type. look is base.SiteFiles.Unread.
func unread(look func(typ string) string, typ string) string {
	if look == nil {
		return ""
	}
	if how := look(typ); how != "" {
		return "; " + how
	}
	return ""
}

// addedBy returns the files that a type adds to the inputs of the job file.
func addedBy(h handlers.Handler, spec *jjm.Spec, site handlers.Site) ([]jjm.Input, jjm.Problems) {
	added, err := handlers.Added(h, spec, site)
	if err != nil {
		return nil, jjm.Problems{{Field: "type", Text: err.Error()}}
	}
	return added, nil
}

// accept stores the grid job in one transaction and publishes its record. Credentials are stored before the
// transaction, and removed again if the transaction fails. why is the cause in the grid job's history.
func (js *Jobs) accept(ctx context.Context, caller wire.Caller, spec jjm.Spec, req wire.Submit,
	fit state.Choice, why string) (wire.Submitted, error) {
	var out wire.Submitted
	var skipped []string
	owner := jjm.Owner{UID: caller.UID, GID: caller.GID, User: caller.User}
	if _, err := js.putCredentials(owner, &spec, req.Credentials); err != nil {
		return wire.Submitted{}, fmt.Errorf("accept grid job: %w", err)
	}
	there := js.ids.strangersOf(ctx, owner)
	err := js.ids.reserving(ctx, func() error {
		return js.s.Change(ctx, "accept", func(c *state.Change) error {
			id, found, err := js.keyHolder(c, caller.UID, spec)
			if err != nil {
				return err
			}
			if found {
				out = wire.Submitted{ID: id, Existed: true}
				return js.ensureHandle(ctx, c, caller.UID, spec.Key, id)
			}
			if err := js.mayAccept(c.Live, owner, &spec, req, fit); err != nil {
				return err
			}
			if err := js.rooms.Prover.StillRecovers(c, &spec); err != nil {
				return err
			}
			if _, err := js.after.Outlook(ctx, &spec); err != nil {
				return err
			}
			if skipped, err = js.ids.passOver(c, owner, there); err != nil {
				return err
			}
			out.ID, err = js.insert(c, jjm.GridJob{Owner: owner, Spec: spec, BaseDir: req.BaseDir, Accepted: c.Now,
				Changed: c.Now, Origin: req.Origin, Rollback: req.Rollback}, len(fit.Clusters), why)
			return err
		})
	})
	if err != nil {
		js.dropCredentials(owner, &spec, 0)
		return wire.Submitted{}, fmt.Errorf("accept grid job: %w", err)
	}
	js.ids.warnSkipped(out.ID, skipped)
	js.ids.giveOut(out.ID)
	if err := js.b.Crash("accept.given"); err != nil {
		return wire.Submitted{}, err
	}
	if !out.Existed {
		js.rooms.Records.PublishNow(ctx, out.ID)
	}
	if spec.Key != "" {
		out.Handle = jjm.HandleOf(caller.UID, spec.Key)
	}
	return out, nil
}

// insert stores a new grid job and returns its id. why is the cause in the grid job's history.
func (js *Jobs) insert(c *state.Change, job jjm.GridJob, clusters int, why string) (jjm.GridID, error) {
	if err := c.Tx.InsertGrid(&job); err != nil {
		return 0, err
	}
	if err := js.rooms.Feeder.MakeOutput(c, &job, clusters); err != nil {
		return 0, err
	}
	if err := putHandle(c, job.Owner.UID, job.Spec.Key, job.ID); err != nil {
		return 0, err
	}
	c.Grids[job.ID] = &job
	c.Note(job.ID, "", job.Status.String(), why, job.Owner.User)
	return job.ID, nil
}

// keyHolder returns the grid job that has the request key, and true if there is one. If spec allows the reuse of the
// key, a cancelled grid job loses the key and is not returned, even if it was reopened since.
func (js *Jobs) keyHolder(c *state.Change, uid int, spec jjm.Spec) (jjm.GridID, bool, error) {
	if spec.Key == "" {
		return 0, false, nil
	}
	id, found, err := c.Tx.FindKey(uid, spec.Key)
	if err != nil || !found || !spec.KeyReuse {
		return id, found, err
	}
	cancelled := false
	if g := c.Live.Grid(id); g != nil {
		cancelled = g.Job.Told().Kill
	} else {
		job, _, err := js.b.Store.Kept(context.Background(), id) // the grid job may be removed
		if err != nil {
			return 0, false, err
		}
		cancelled = job.Told().Kill
	}
	if !cancelled {
		return id, true, nil
	}
	return 0, false, c.Tx.ReleaseKey(id)
}

// trimField returns the text of an error without a leading "field: ", because a Problem adds this prefix itself.
func trimField(err error, field string) string {
	text := err.Error()
	if p := field + ": "; len(text) > len(p) && text[:len(p)] == p {
		return text[len(p):]
	}
	return text
}

// putHandle maps the handle of a request key to a grid job. If the key is empty, it does nothing.
func putHandle(c *state.Change, uid int, key string, id jjm.GridID) error {
	if key == "" {
		return nil
	}
	return c.Tx.PutHandle(jjm.HandleOf(uid, key), store.Handle{UID: uid, Grid: id, Time: c.Now})
}

// ensureHandle maps the handle to a grid job that already existed. If a submission with the same key was refused
// meanwhile, the refusal no longer counts.
func (js *Jobs) ensureHandle(ctx context.Context, c *state.Change, uid int, key string, id jjm.GridID) error {
	if h, err := js.b.Store.Handle(ctx, jjm.HandleOf(uid, key)); err == nil && h.Grid == id && h.Refused == "" {
		return nil
	}
	return putHandle(c, uid, key, id)
}
