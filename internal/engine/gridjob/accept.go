package gridjob

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"jjm/handlers"
	"jjm/internal/api/wire"
	"jjm/internal/credential"
	"jjm/internal/engine/floor/state"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
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
	caller wire.Caller
	// job is the grid job to be stored: its owner, its description, the folder of relative paths, its origin as the
	// gatekeeper reported it, and what happens to it if it cannot be started.
	job    jjm.GridJob
	doc    jobfile.Doc // places problems in the job file
	key    requestKey
	given  []credential.Parsed // the credentials that came with the submission
	dryRun bool
	why    string // the cause with which the history of the grid job begins
}

// newSubmission returns the submission that a request describes. doc is the request's job file.
func newSubmission(caller wire.Caller, req *wire.Submit, doc jobfile.Doc) *submission {
	sub := &submission{caller: caller, doc: doc, given: credential.ParseAll(req.Credentials), dryRun: req.DryRun,
		job: jjm.GridJob{Owner: jjm.Owner{UID: caller.UID, GID: caller.GID, User: caller.User}, Spec: doc.Spec,
			BaseDir: req.BaseDir, Origin: req.Origin, Rollback: req.Rollback}}
	spec := &sub.job.Spec
	spec.KeyReuse = spec.KeyReuse || req.Anew && spec.Key != ""
	sub.key = requestKeyOf(&sub.job)
	return sub
}

// givenWith returns what a submission sets beside its job file. model returns the model with a given name.
func givenWith(req *wire.Submit, model func(string) (jobfile.Model, jjm.Problems)) jobfile.Given {
	return jobfile.Given{Key: req.Key, After: req.After, AfterEnd: req.AfterEnd, KeepGoing: req.KeepGoing, Model: model}
}

// submit carries out Submit. problems are the mistakes of the job file that were found without looking at the site.
func (js *Jobs) submit(ctx context.Context, sub *submission, problems jjm.Problems) (wire.Submitted, error) {
	if sub.key.reuse && !sub.caller.Spooled {
		// The spool may contain a cancel of the grid job that has this request key.
		if err := js.settle(ctx, sub.caller, sub.key.handle); err != nil {
			return wire.Submitted{}, err
		}
	}
	if len(problems) == 0 && !sub.dryRun {
		if out, err := repeated(ctx, js, sub.caller, sub.key, sub.given); err != nil || out.Existed {
			return out, err
		}
	}
	job := &sub.job
	problems = append(problems, job.Origin.Problems()...)
	job.Origin = completedOrigin(job.Origin, sub.given, sub.caller.Admin)
	problems = append(problems, checkCredentials(&job.Spec, sub.given)...)
	problems = append(problems, checkNotify(&job.Spec, sub.doc.IsJIM(), js.b.Deps.Notices)...)
	problems = append(problems, problems.Unsaid(js.remote.CheckCallback(job.Owner, job.BaseDir, job.Spec.Callback))...)
	site := js.types.SubmissionSite(job.Owner, job.BaseDir, sub.caller.Spooled)
	problems = append(problems, problems.Unsaid(js.after.Check(ctx, sub.caller, &job.Spec))...)
	h, fit, more := js.examine(ctx, job, site)
	if problems = append(problems, problems.Unsaid(more)...); len(problems) > 0 {
		return wire.Submitted{}, sub.doc.Locate(problems).Err()
	}
	if sub.dryRun {
		return js.dryRun(ctx, job, sub.given, h, site, fit)
	}
	out, err := js.accept(ctx, sub, fit)
	var late jjm.Problems
	if errors.As(err, &late) {
		err = sub.doc.Locate(late).Err()
	}
	return out, err
}

// mayAccept returns an error for a grid job that the site does not accept now: its owner is
// banned, a drain order concerns it, its owner has reached a quota, or there is too little space.
// given are the credentials that came with it, clusters the clusters that could run it.
func (js *Jobs) mayAccept(mem state.Memory, job *jjm.GridJob, given []credential.Parsed, clusters []string) error {
	if err := mem.NotBanned(state.Whom(job.Owner, job.Origin, given)); err != nil {
		return err
	}
	if err := mem.NotDrained(&job.Spec, job.Owner.User, clusters, jjm.At(js.b.Now())); err != nil {
		return err
	}
	if err := mem.WithinQuota(job.Owner.UID); err != nil {
		return err
	}
	return js.s.HasSpace()
}

// dryRun returns the plan of a grid job that the site would accept, with the inputs that would be fetched. given are
// the credentials that came with it.
func (js *Jobs) dryRun(ctx context.Context, job *jjm.GridJob, given []credential.Parsed, h handlers.Handler,
	site handlers.Site, fit state.Choice) (wire.Submitted, error) {
	v := js.s.View()
	err := js.mayAccept(v.Memory, job, given, fit.Clusters)
	v.Close()
	if err != nil {
		return wire.Submitted{}, err
	}
	out, err := js.rooms.Datasets.DryRun(ctx, job.Owner, h, &job.Spec, site, fit)
	if err != nil {
		return wire.Submitted{}, err
	}
	inputs, err := handlers.Inputs(h, &job.Spec, site)
	if err != nil {
		return wire.Submitted{}, err
	}
	out.Plan.Fetch = js.remote.Outlook(&job.Spec, inputs)
	out.Plan.After, err = js.after.Outlook(ctx, &job.Spec)
	return out, err
}

// examine returns the problems of a job file that only the job type and the site can find. It also returns the handler
// and the clusters that would be used.
func (js *Jobs) examine(ctx context.Context, job *jjm.GridJob, site handlers.Site) (h handlers.Handler,
	fit state.Choice, problems jjm.Problems) {
	spec := &job.Spec
	var added []jjm.Input
	fit, more := js.rooms.Clusters.Choose(spec)
	h, err := js.b.Deps.Types.Get(spec.Type)
	if err != nil {
		text := trimField(err, "type") + unread(js.b.Deps.Unread, spec.Type)
		problems = append(problems, jjm.Problem{Field: "type", Text: text})
		problems = append(problems, unchecked(spec)...)
	} else {
		ready, mistakes := handlers.Ready(h, spec, site)
		*spec, problems = *ready, mistakes
		if spec.Merge != nil {
			problems = append(problems, js.rooms.Datasets.CheckMerge(spec, fit.Clusters)...)
		}
		if len(problems) == 0 {
			added, problems = addedBy(h, spec, site)
			problems = append(problems, js.rooms.Datasets.CheckDatasets(ctx, job.Owner, spec, h, site, fit.Clusters)...)
		}
	}
	problems = append(problems, js.checkInputs(job.Owner, job.BaseDir, spec, added)...)
	problems = append(problems, js.rooms.Prover.CheckRecovers(ctx, job.Owner, spec)...)
	return h, fit, append(problems, more...)
}

// unchecked returns the parts of a job file that only its type can check, if there are any, as a problem of a job file
// with an unknown type.
func unchecked(spec *jjm.Spec) jjm.Problems {
	var parts []string
	for _, part := range []struct {
		name string
		has  bool
	}{{"params", len(spec.Params) > 0}, {"split", spec.Split != nil}, {"merge", spec.Merge != nil},
		{"datasets", len(spec.Datasets) > 0}} {
		if part.has {
			parts = append(parts, part.name)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return jjm.Problems{{Field: "type", Text: "as long as it is unknown, jjm does not check " +
		strings.Join(parts, ", ")}}
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

// notAccepted returns the error of a grid job that was not accepted. A refusal needs no further text for its reader; an
// error of another kind gets the text of what was attempted.
func notAccepted(err error) error {
	if jjm.KindOf(err) == jjm.Denied {
		return err
	}
	return fmt.Errorf("accept grid job: %w", err)
}

// accept stores the grid job in one transaction and publishes its record. Credentials are stored before the
// transaction, and removed again if the transaction fails.
func (js *Jobs) accept(ctx context.Context, sub *submission, fit state.Choice) (wire.Submitted, error) {
	var out wire.Submitted
	var skipped []string
	job := &sub.job
	if _, err := js.putCredentials(job, sub.given); err != nil {
		return wire.Submitted{}, notAccepted(err)
	}
	there := js.ids.strangersOf(ctx, job.Owner)
	err := js.ids.reserving(ctx, func() error {
		return js.s.Change(ctx, "accept", func(c *state.Change) error {
			id, found, err := keyHolder(c, js.b.Store, sub.key)
			if err != nil {
				return err
			}
			if found {
				out = wire.Submitted{ID: id, Existed: true}
				return ensureHandle(ctx, c, js.b.Store, sub.key, id)
			}
			if err := js.mayAccept(c.Live, job, sub.given, fit.Clusters); err != nil {
				return err
			}
			if err := js.rooms.Prover.StillRecovers(c, &job.Spec); err != nil {
				return err
			}
			if _, err := js.after.Outlook(ctx, &job.Spec); err != nil {
				return err
			}
			if skipped, err = js.ids.passOver(c, job.Owner, there); err != nil {
				return err
			}
			if out.ID, err = js.insert(c, *job, len(fit.Clusters), sub.why); err != nil {
				return err
			}
			return putHandle(c, sub.key, out.ID)
		})
	})
	if err != nil {
		js.dropCredentials(job)
		return wire.Submitted{}, notAccepted(err)
	}
	js.ids.warnSkipped(out.ID, skipped)
	js.ids.giveOut(out.ID)
	if err := js.b.Crash("accept.given"); err != nil {
		return wire.Submitted{}, err
	}
	if !out.Existed {
		js.rooms.Records.PublishNow(ctx, out.ID)
	}
	out.Handle = sub.key.handle
	return out, nil
}

// insert stores a new grid job and returns its id. clusters is the number of clusters that could run it; why is the
// cause with which its history begins.
func (js *Jobs) insert(c *state.Change, job jjm.GridJob, clusters int, why string) (jjm.GridID, error) {
	job.Accepted, job.Changed = c.Now, c.Now
	if err := c.Tx.InsertGrid(&job); err != nil {
		return 0, err
	}
	if err := js.rooms.Feeder.MakeOutput(c, &job, clusters); err != nil {
		return 0, err
	}
	c.Grids[job.ID] = &job
	c.Note(job.ID, "", job.Status.String(), why, job.Owner.User)
	return job.ID, nil
}

// trimField returns the text of an error without a leading "field: ", because a Problem adds this prefix itself.
func trimField(err error, field string) string {
	text := err.Error()
	if p := field + ": "; len(text) > len(p) && text[:len(p)] == p {
		return text[len(p):]
	}
	return text
}
