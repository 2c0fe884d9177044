package gridjob

import (
	"context"
	"fmt"

	"jjm/internal/api/wire"
	"jjm/internal/credential"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// requestKey is the request key of a submission. The same key of two accounts is two request keys.
type requestKey struct {
	uid    int        // of the account
	text   string     // "" if the submission has no key
	reuse  bool       // whether a cancelled grid job loses the key to the submission
	handle jjm.Handle // "" if the submission has no key
}

// requestKeyOf returns the request key with which a grid job is submitted.
func requestKeyOf(job *jjm.GridJob) requestKey {
	key := requestKey{uid: job.Owner.UID, text: job.Spec.Key, reuse: job.Spec.KeyReuse}
	if key.text != "" {
		key.handle = jjm.HandleOf(key.uid, key.text)
	}
	return key
}

// repeated answers a submission whose request key already has a grid job. It does not check again whether the site
// would accept the submission: it was accepted, and the caller perhaps never got the answer. The newer ones of the
// given credentials replace the grid job's credentials, because some gatekeepers can renew credentials only by a
// repeated submission. Existed is false if no grid job has the key, or if the submission allows the reuse of the key.
func repeated(ctx context.Context, js *Jobs, caller wire.Caller, key requestKey,
	given []credential.Parsed) (out wire.Submitted, err error) {
	if key.text == "" || key.reuse {
		return out, nil
	}
	id, found, err := js.b.Store.KeyHolder(ctx, key.uid, key.text)
	if err != nil || !found {
		return out, err
	}
	err = js.s.Change(ctx, "accept", func(c *state.Change) error { return ensureHandle(ctx, c, js.b.Store, key, id) })
	if err != nil {
		return out, notAccepted(err)
	}
	if err := renewAgain(ctx, js, caller, id, given); err != nil {
		return out, fmt.Errorf("renew the credentials of grid job %s: %w", id, err)
	}
	js.ids.giveOut(id)
	return wire.Submitted{ID: id, Existed: true, Handle: key.handle}, nil
}

// keyHolder returns the grid job that has the request key, and true if there is one. If the key may be reused, a
// cancelled grid job loses the key and is not returned, even if it was reopened since.
func keyHolder(c *state.Change, st *store.Store, key requestKey) (jjm.GridID, bool, error) {
	if key.text == "" {
		return 0, false, nil
	}
	id, found, err := c.Tx.FindKey(key.uid, key.text)
	if err != nil || !found || !key.reuse {
		return id, found, err
	}
	cancelled, err := isCancelled(c, st, id)
	if err != nil {
		return 0, false, err
	}
	if !cancelled {
		return id, true, nil
	}
	return 0, false, c.Tx.ReleaseKey(id)
}

// isCancelled reports whether a kill of a grid job was requested before the gatekeeper was told its end. The grid job
// may have ended or be removed.
func isCancelled(c *state.Change, st *store.Store, id jjm.GridID) (bool, error) {
	if g := c.Live.Grid(id); g != nil {
		return g.Job.Told().Kill, nil
	}
	job, _, err := st.Kept(context.Background(), id)
	return job.Told().Kill, err
}

// putHandle maps the handle of a request key to a grid job. It does nothing if the submission has no key.
func putHandle(c *state.Change, key requestKey, id jjm.GridID) error {
	if key.handle == "" {
		return nil
	}
	return c.Tx.PutHandle(key.handle, store.Handle{UID: key.uid, Grid: id, Time: c.Now})
}

// ensureHandle maps the handle of a request key to a grid job that already existed. If a submission with the same key
// was refused meanwhile, the refusal no longer counts.
func ensureHandle(ctx context.Context, c *state.Change, st *store.Store, key requestKey, id jjm.GridID) error {
	if h, err := st.Handle(ctx, key.handle); err == nil && h.Grid == id && h.Refused == "" {
		return nil
	}
	return putHandle(c, key, id)
}
