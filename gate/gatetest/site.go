package gatetest

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"jjm"
	"jjm/gate"
	"jjm/wire"
)

// JobTypes gives Types.
func (f *Fake) JobTypes() []wire.JobType { return f.Types }

// Clusters gives Sites.
func (f *Fake) Clusters(context.Context) []wire.Cluster { return f.Sites }

// Notes gives Told.
func (f *Fake) Notes() []string { return f.Told }

// Advertised gives Ad; with now it is sent again first.
func (f *Fake) Advertised(ctx context.Context, c gate.Caller, now bool) (wire.Advertised, error) {
	if err := f.hook(ctx, wire.VerbAdvertise); err != nil {
		return wire.Advertised{}, err
	}
	if now && !c.Admin {
		return wire.Advertised{}, jjm.Errorf(jjm.Denied, "%s is no administrator", c.User)
	}
	if now {
		for i := range f.Ad.Collectors {
			f.Ad.Collectors[i].Sent += 1000
		}
	}
	return f.Ad, nil
}

// Reset closes the breaker of a site in Sites.
func (f *Fake) Reset(ctx context.Context, c gate.Caller, cluster string) error {
	if err := f.hook(ctx, wire.VerbReset); err != nil {
		return err
	}
	if !c.Admin {
		return jjm.Errorf(jjm.Denied, "%s is no administrator", c.User)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.Sites {
		if f.Sites[i].Name == cluster {
			f.Sites[i].Breaker = nil
			return nil
		}
	}
	return jjm.Errorf(jjm.Gone, "this site has no cluster %q", cluster)
}

// Order keeps one order per target and verb; nil lists them.
func (f *Fake) Order(ctx context.Context, c gate.Caller, o *wire.Order) ([]jjm.Order, error) {
	if err := f.hook(ctx, wire.VerbOrder); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if o == nil {
		return slices.Clone(f.orders), nil
	}
	if !c.Admin {
		return nil, jjm.Errorf(jjm.Denied, "%s is no administrator", c.User)
	}
	given := jjm.Order{Verb: o.Verb, Kind: o.Kind, Name: o.Name, Reason: o.Reason, By: c.User, Since: 1, Until: o.Until}
	var ended []jjm.Order
	f.orders = slices.DeleteFunc(f.orders, func(old jjm.Order) bool {
		same := old.Kind == o.Kind && old.Name == o.Name && (o.Verb == jjm.OrderResume || old.Verb == o.Verb)
		if same {
			ended = append(ended, old)
		}
		return same
	})
	if o.Verb == jjm.OrderResume {
		return ended, nil
	}
	f.orders = append(f.orders, given)
	return []jjm.Order{given}, nil
}

// Ban keeps one ban for each name; nil lists them.
func (f *Fake) Ban(ctx context.Context, c gate.Caller, b *wire.Ban) (wire.Banned, error) {
	if err := f.hook(ctx, wire.VerbBan); err != nil {
		return wire.Banned{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !c.Admin {
		return wire.Banned{}, jjm.Errorf(jjm.Denied, "%s is no administrator", c.User)
	}
	if b == nil {
		return wire.Banned{Bans: slices.Clone(f.bans)}, nil
	}
	given := jjm.Ban{Kind: jjm.BanKind(b.Name), Name: b.Name, Reason: b.Reason, By: c.User, UID: c.UID, Since: 1}
	var out wire.Banned
	f.bans = slices.DeleteFunc(f.bans, func(old jjm.Ban) bool {
		if b.Lift && old.Same(given) {
			out.Bans = append(out.Bans, old)
		}
		return old.Same(given)
	})
	if b.Lift {
		return out, nil
	}
	f.bans = append(f.bans, given)
	for id, j := range f.jobs {
		if j.Status.Owner == b.Name {
			out.Killed = append(out.Killed, id)
		}
	}
	out.Bans = []jjm.Ban{given}
	return out, nil
}

// Dataset counts files by the names of their datasets.
func (f *Fake) Dataset(ctx context.Context, c gate.Caller, d wire.Dataset) (wire.Datasets, error) {
	if err := f.hook(ctx, wire.VerbDataset); err != nil {
		return wire.Datasets{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if d.UID != nil && *d.UID != c.UID && !c.Admin {
		return wire.Datasets{}, jjm.Errorf(jjm.Denied, "%s is no administrator", c.User)
	}
	if f.sets == nil {
		f.sets = map[string]wire.DatasetState{}
	}
	out := wire.Datasets{Added: len(d.Files), Changed: d.Do == wire.DatasetClose}
	if d.Do != wire.DatasetShow {
		state := f.sets[d.Name]
		state.Name, state.UID, state.Files = d.Name, c.UID, state.Files+int64(len(d.Files))
		state.Container = cmp.Or(state.Container, d.Container)
		if d.Do == wire.DatasetClose {
			state.Closed = 1
		}
		f.sets[d.Name] = state
	}
	for _, lfn := range d.LFNs {
		one := wire.MarkedFile{LFN: lfn, State: d.State, Locals: []string{"1.0"}}
		if d.State == jjm.FileReady.String() {
			one.Locals, one.Without = nil, []jjm.GridID{1}
		}
		out.Marked = append(out.Marked, one)
	}
	for _, name := range slices.Sorted(maps.Keys(f.sets)) {
		if d.Name == "" || d.Name == name {
			out.Shown = append(out.Shown, f.sets[name])
		}
	}
	return out, nil
}

// Renew remembers nothing; every credential is newer.
func (f *Fake) Renew(ctx context.Context, c gate.Caller, id jjm.GridID, given []jjm.Credential) (r wire.Renewal, err error) {
	if err := f.hook(ctx, wire.VerbRenew); err != nil {
		return r, err
	}
	if _, err := f.get(c, id); err != nil {
		return r, err
	}
	for _, one := range given {
		r.Kinds = append(r.Kinds, one.Kind)
	}
	return r, nil
}

// Remark remembers nothing; every remark is news.
func (f *Fake) Remark(ctx context.Context, c gate.Caller, id jjm.GridID, text string) (bool, error) {
	if err := f.hook(ctx, wire.VerbRemark); err != nil {
		return false, err
	}
	if !c.Admin {
		return false, jjm.Errorf(jjm.Denied, "%s is no administrator", c.User)
	}
	_, err := f.get(c, id)
	return err == nil, err
}

// Retract says that each output was made by local job 0, and that a recovery is
// needed.
func (f *Fake) Retract(ctx context.Context, c gate.Caller, id jjm.GridID, w wire.Retract) (wire.Retracted, error) {
	if err := f.hook(ctx, wire.VerbRetract); err != nil {
		return wire.Retracted{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.get(c, id); err != nil {
		return wire.Retracted{}, err
	}
	out := wire.Retracted{ID: id, Locals: []wire.RetractedLocal{{Local: jjm.LocalID{Grid: id}.String(), Outputs: w.Outputs}}, Lost: w.Outputs}
	if w.Recovery != "" {
		out.Recovery = "{}\n"
	}
	return out, nil
}

// Verify gives what the test put there.
func (f *Fake) Verify(ctx context.Context, c gate.Caller, id jjm.GridID, recovery string) (wire.Verified, error) {
	if err := f.hook(ctx, wire.VerbVerify); err != nil {
		return wire.Verified{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	j, err := f.get(c, id)
	if err != nil {
		return wire.Verified{}, err
	}
	v := j.Verified
	if v.ID = id; recovery == "" {
		v.Recovery, v.RecoveryFiles = "", ""
	}
	return v, nil
}
