package gridjob

import (
	"context"
	"errors"
	"fmt"

	"jjm/handlers"
	"jjm/internal/api/wire"
	"jjm/internal/credential"
	"jjm/internal/engine/floor/state"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// Submit checks a job file and stores the grid job that it describes. If the caller already has a
// grid job with the same request key, Submit returns that grid job. All mistakes are reported
// together, as jjm.Problems, and nothing is left behind. With DryRun it stores nothing and returns
// the plan of the grid job. With Again it submits a kept grid job again.
func (js *Jobs) Submit(ctx context.Context, caller wire.Caller, r wire.SubmitRequest) (wire.SubmitAnswer, error) {
	req := r.Submit
	if req.Again != 0 {
		out, err := submitAgain(ctx, js, caller, req.Again)
		return wire.SubmitAnswer{Submit: &out}, err
	}
	if err := js.b.MayRun(caller); err != nil {
		return wire.SubmitAnswer{}, err
	}
	doc, problems := jobfile.ParseGiven(req.Name, []byte(req.Text), givenWith(req, js.b.Deps.Model))
	if doc.Incomplete {
		return wire.SubmitAnswer{}, problems.Err()
	}
	sub := newSubmission(caller, req, doc)
	sub.why = "accepted: " + doc.Spec.Type
	out, err := js.submit(ctx, sub, problems)
	return wire.SubmitAnswer{Submit: &out}, err
}

// submission is a submission whose job file has been read.
type submission struct {
	caller   wire.Caller
	owner    jjm.Owner
	doc      jobfile.Doc
	spec     *jjm.Spec           // of doc
	handle   jjm.Handle          // the handle of the request key; "" if there is no key
	base     string              // the folder of relative paths
	origin   *jjm.Origin         // as the gatekeeper reported it
	given    []credential.Parsed // the credentials that came with the submission
	rollback jjm.Rollback
	dryRun   bool
	why      string // the cause with which the history of the grid job begins
}

// newSubmission returns the submission that a request describes. doc is the request's job file.
func newSubmission(caller wire.Caller, req *wire.Submit, doc jobfile.Doc) *submission {
	sub := &submission{caller: caller, owner: jjm.Owner{UID: caller.UID, GID: caller.GID, User: caller.User}, doc: doc,
		base: req.BaseDir, origin: req.Origin, given: credential.ParseAll(req.Credentials), rollback: req.Rollback,
		dryRun: req.DryRun}
	sub.spec = &sub.doc.Spec
	sub.spec.KeyReuse = sub.spec.KeyReuse || req.Anew && sub.spec.Key != ""
	if sub.spec.Key != "" {
		sub.handle = jjm.HandleOf(caller.UID, sub.spec.Key)
	}
	return sub
}

// givenWith returns what a submission sets beside its job file. model returns the model with a given name.
func givenWith(req *wire.Submit, model func(string) (jobfile.Model, jjm.Problems)) jobfile.Given {
	return jobfile.Given{Key: req.Key, After: req.After, AfterEnd: req.AfterEnd, KeepGoing: req.KeepGoing, Model: model}
}

// submit carries out Submit. problems are the mistakes of the job file that were found without looking at the site.
func (js *Jobs) submit(ctx context.Context, sub *submission, problems jjm.Problems) (wire.Submitted, error) {
	if sub.spec.KeyReuse && !sub.caller.Spooled {
		// The spool may contain a cancel of the grid job that has this request key.
		if err := js.settle(ctx, sub.caller, sub.handle); err != nil {
			return wire.Submitted{}, err
		}
	}
	if len(problems) == 0 && !sub.dryRun {
		if out, err := repeated(ctx, js, sub); err != nil || out.Existed {
			return out, err
		}
	}
	problems = append(problems, sub.origin.Problems()...)
	if sub.origin = completedOrigin(sub.origin, sub.given); sub.origin != nil {
		origin := *sub.origin
		origin.Verified = sub.caller.Admin // the request itself cannot set this
		sub.origin = &origin
	}
	problems = append(problems, checkCredentials(sub.spec, sub.given)...)
	problems = append(problems, checkNotify(&sub.doc, js.b.Deps.Notices)...)
	problems = append(problems, problems.Unsaid(js.remote.CheckCallback(sub.owner, sub.base, sub.spec.Callback))...)
	site := js.types.SubmissionSite(sub.owner, sub.base, sub.caller.Spooled)
	problems = append(problems, problems.Unsaid(js.after.Check(ctx, sub.caller, sub.spec))...)
	h, fit, more := js.examine(ctx, sub, site)
	if problems = append(problems, problems.Unsaid(more)...); len(problems) > 0 {
		return wire.Submitted{}, sub.doc.Locate(problems).Err()
	}
	if sub.dryRun {
		return js.dryRun(ctx, sub, h, site, fit)
	}
	out, err := js.accept(ctx, sub, fit)
	var late jjm.Problems
	if errors.As(err, &late) {
		err = sub.doc.Locate(late).Err()
	}
	return out, err
}

// repeated answers a submission whose request key already has a grid job. It does not check again whether the site
// would accept the submission: it was accepted, and the caller perhaps never got the answer. Newer credentials replace
// the grid job's credentials, because some gatekeepers can renew credentials only by a repeated submission. Existed is
// false if no grid job has the key, or if the submission allows the reuse of the key.
func repeated(ctx context.Context, js *Jobs, sub *submission) (out wire.Submitted, err error) {
	if sub.spec.Key == "" || sub.spec.KeyReuse {
		return out, nil
	}
	id, found, err := js.b.Store.KeyHolder(ctx, sub.owner.UID, sub.spec.Key)
	if err != nil || !found {
		return out, err
	}
	err = js.s.Change(ctx, "accept", func(c *state.Change) error { return js.ensureHandle(ctx, c, sub, id) })
	if err != nil {
		return out, fmt.Errorf("accept grid job: %w", err)
	}
	if err := renewAgain(ctx, js, sub, id); err != nil {
		return out, fmt.Errorf("renew the credentials of grid job %s: %w", id, err)
	}
	js.ids.giveOut(id)
	return wire.Submitted{ID: id, Existed: true, Handle: sub.handle}, nil
}

// mayAccept returns an error for a grid job that the site does not accept now: its owner is
// banned, a drain order concerns it, its owner has reached a quota, or there is too little space.
func (js *Jobs) mayAccept(mem state.Memory, sub *submission, fit state.Choice) error {
	if err := mem.NotBanned(state.Whom(sub.owner, sub.origin, sub.given)); err != nil {
		return err
	}
	if err := mem.NotDrained(sub.spec, sub.owner.User, fit.Clusters, jjm.At(js.b.Now())); err != nil {
		return err
	}
	if err := mem.WithinQuota(sub.owner.UID); err != nil {
		return err
	}
	return js.s.HasSpace()
}

// dryRun returns the plan of a grid job that the site would accept, with the inputs that would be fetched.
func (js *Jobs) dryRun(ctx context.Context, sub *submission, h handlers.Handler, site handlers.Site,
	fit state.Choice) (wire.Submitted, error) {
	v := js.s.View()
	err := js.mayAccept(v.Memory, sub, fit)
	v.Close()
	if err != nil {
		return wire.Submitted{}, err
	}
	out, err := js.rooms.Datasets.DryRun(ctx, sub.owner, h, sub.spec, site, fit)
	if err != nil {
		return wire.Submitted{}, err
	}
	inputs, err := handlers.Inputs(h, sub.spec, site)
	if err != nil {
		return wire.Submitted{}, err
	}
	out.Plan.Fetch = js.remote.Outlook(sub.spec, inputs)
	out.Plan.After, err = js.after.Outlook(ctx, sub.spec)
	return out, err
}

// examine returns the problems of a job file that only the job type and the site can find. It also returns the handler
// and the clusters that would be used.
func (js *Jobs) examine(ctx context.Context, sub *submission, site handlers.Site) (h handlers.Handler, fit state.Choice,
	problems jjm.Problems) {
	spec := sub.spec
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
			problems = append(problems, js.rooms.Datasets.CheckDatasets(ctx, sub.owner, spec, h, site, fit.Clusters)...)
		}
	}
	problems = append(problems, js.checkInputs(sub.owner, sub.base, spec, added)...)
	problems = append(problems, js.rooms.Prover.CheckRecovers(ctx, sub.owner, spec)...)
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
// transaction, and removed again if the transaction fails.
func (js *Jobs) accept(ctx context.Context, sub *submission, fit state.Choice) (wire.Submitted, error) {
	var out wire.Submitted
	var skipped []string
	if _, err := js.putCredentials(sub.owner, sub.spec, sub.handle, sub.given); err != nil {
		return wire.Submitted{}, fmt.Errorf("accept grid job: %w", err)
	}
	there := js.ids.strangersOf(ctx, sub.owner)
	err := js.ids.reserving(ctx, func() error {
		return js.s.Change(ctx, "accept", func(c *state.Change) error {
			id, found, err := js.keyHolder(c, sub.owner.UID, sub.spec)
			if err != nil {
				return err
			}
			if found {
				out = wire.Submitted{ID: id, Existed: true}
				return js.ensureHandle(ctx, c, sub, id)
			}
			if err := js.mayAccept(c.Live, sub, fit); err != nil {
				return err
			}
			if err := js.rooms.Prover.StillRecovers(c, sub.spec); err != nil {
				return err
			}
			if _, err := js.after.Outlook(ctx, sub.spec); err != nil {
				return err
			}
			if skipped, err = js.ids.passOver(c, sub.owner, there); err != nil {
				return err
			}
			out.ID, err = js.insert(c, sub, len(fit.Clusters))
			return err
		})
	})
	if err != nil {
		js.dropCredentials(sub.owner, sub.spec, 0)
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
	out.Handle = sub.handle
	return out, nil
}

// insert stores the new grid job of a submission and returns its id.
func (js *Jobs) insert(c *state.Change, sub *submission, clusters int) (jjm.GridID, error) {
	job := jjm.GridJob{Owner: sub.owner, Spec: *sub.spec, BaseDir: sub.base, Accepted: c.Now, Changed: c.Now,
		Origin: sub.origin, Rollback: sub.rollback}
	if err := c.Tx.InsertGrid(&job); err != nil {
		return 0, err
	}
	if err := js.rooms.Feeder.MakeOutput(c, &job, clusters); err != nil {
		return 0, err
	}
	if err := putHandle(c, sub, job.ID); err != nil {
		return 0, err
	}
	c.Grids[job.ID] = &job
	c.Note(job.ID, "", job.Status.String(), sub.why, job.Owner.User)
	return job.ID, nil
}

// keyHolder returns the grid job that has the request key, and true if there is one. If spec allows the reuse of the
// key, a cancelled grid job loses the key and is not returned, even if it was reopened since.
func (js *Jobs) keyHolder(c *state.Change, uid int, spec *jjm.Spec) (jjm.GridID, bool, error) {
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

// putHandle maps the handle of a submission to a grid job. If the submission has no request key, it does nothing.
func putHandle(c *state.Change, sub *submission, id jjm.GridID) error {
	if sub.handle == "" {
		return nil
	}
	return c.Tx.PutHandle(sub.handle, store.Handle{UID: sub.owner.UID, Grid: id, Time: c.Now})
}

// ensureHandle maps the handle to a grid job that already existed. If a submission with the same key was refused
// meanwhile, the refusal no longer counts.
func (js *Jobs) ensureHandle(ctx context.Context, c *state.Change, sub *submission, id jjm.GridID) error {
	if h, err := js.b.Store.Handle(ctx, sub.handle); err == nil && h.Grid == id && h.Refused == "" {
		return nil
	}
	return putHandle(c, sub, id)
}
