package reopen

import (
	"context"
	"encoding/json"
	"fmt"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/store"
)

// request is the JSON text that the store keeps of a person's request to reopen a grid job. Exactly one field is set.
type request struct {
	Resubmit *resubmitRequest `json:"resubmit,omitempty"`
	Retract  *wire.Retract    `json:"retract,omitempty"`
	Resplit  *resplitRequest  `json:"resplit,omitempty"`
}

// resubmitRequest is the JSON text that the store keeps of a request to resubmit local jobs (see again).
type resubmitRequest struct {
	Refs []string `json:"refs"`
	All  bool     `json:"all,omitempty"`
	// Resources are the resources that the local jobs request from now on, nil for the same as before.
	Resources *jjm.Resources `json:"resources,omitempty"`
	// Args replace the retry arguments of the local jobs; none keeps them.
	Args []string `json:"args,omitempty"`
}

func (w again) stored() request {
	r := &resubmitRequest{All: w.all, Resources: w.asked, Args: w.args}
	for _, ref := range w.refs {
		r.Refs = append(r.Refs, ref.String())
	}
	return request{Resubmit: r}
}

func (r *resubmitRequest) again() (w again, err error) {
	w.all, w.asked, w.args = r.All, r.Resources, r.Args
	for _, text := range r.Refs {
		ref, err := jjm.ParseRef(text)
		if err != nil {
			return w, err
		}
		w.refs = append(w.refs, ref)
	}
	return w, nil
}

// resubmitOver stores the request to run local jobs of an ended grid job again. left are the requested local jobs that
// do not run again. With dry, it stores nothing and the error is [state.ErrDryRun].
func (ro *Reopener) resubmitOver(ctx context.Context, caller wire.Caller, job *jjm.GridJob, w again,
	dry bool) (out wire.Resubmitted, left []plan.Left, err error) {
	if err := plan.MayReopen(job); err != nil {
		return out, nil, err
	}
	locals, err := ro.b.Store.Locals(ctx, job.ID, 0, -1)
	if err != nil {
		return out, nil, err
	}
	taken, err := ro.rooms.Prover.Elsewhere(ctx, job)
	if err != nil {
		return out, nil, err
	}
	run, left, err := ro.decide(ctx, job, w, locals, taken)
	if err == nil && len(run) == 0 {
		out.Notes = []string{plan.NoneAgain(job, locals, w.all)}
	}
	if err != nil || len(run) == 0 {
		return out, left, err
	}
	to, err := ro.moves(job, locals, run, w.asked)
	if err != nil {
		return out, left, err
	}
	out.Jobs, out.Generation = len(run), job.Generation+1
	why := "resubmit " + jjm.Count(len(run), "local job")
	if to != nil {
		out.Resources, out.Notes = w.asked, to.notes
		why += " with " + to.asked.String()
	}
	err = ro.put(ctx, caller, job, w.stored(), why, dry)
	return out, left, err
}

// put stores a request, unless the site would not accept the grid job now. With dry, it stores nothing and returns
// [state.ErrDryRun] instead of nil.
func (ro *Reopener) put(ctx context.Context, caller wire.Caller, job *jjm.GridJob, w request, why string,
	dry bool) error {
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	r := store.Reopening{Grid: job.ID, Generation: job.Generation + 1, Request: text, Actor: caller.Actor(), Why: why}
	err = ro.s.Change(ctx, "request", func(c *state.Change) error {
		if err := ro.mayAccept(c, job, &w); err != nil {
			return err
		}
		if err := c.Request(&r); err != nil {
			return err
		}
		c.Note(job.ID, "", fmt.Sprintf("generation %d requested", r.Generation), why, r.Actor)
		if dry {
			return state.ErrDryRun
		}
		return nil
	})
	if err == nil {
		ro.Wake()
	}
	return err
}

// requested returns the specification and the clusters of a grid job with the resources that a request
// asks for.
func (w *request) requested(job *jjm.GridJob) (*jjm.Spec, []string) {
	if w.Resubmit == nil || w.Resubmit.Resources == nil {
		return &job.Spec, job.Step.Clusters
	}
	asked, spec, clusters := w.Resubmit.Resources, job.Spec, job.Step.Clusters
	if asked.Cluster != "" {
		clusters = []string{asked.Cluster}
	}
	spec.Request = spec.Request.With(asked.Request())
	return &spec, clusters
}

// mayAccept returns an error if the site would not accept the grid job now, with the resources that the request asks
// for.
func (ro *Reopener) mayAccept(c *state.Change, job *jjm.GridJob, w *request) error {
	if err := c.Live.NotBanned(state.WhomOf(job)); err != nil {
		return err
	}
	spec, clusters := w.requested(job)
	if err := c.Live.NotDrained(spec, job.Owner.User, clusters, c.Now); err != nil {
		return err
	}
	if err := c.Live.WithinQuota(job.Owner.UID); err != nil {
		return err
	}
	return ro.s.HasSpace()
}
