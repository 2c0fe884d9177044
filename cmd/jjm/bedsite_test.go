package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"jjm"
	"jjm/gate"
	"jjm/gate/gatetest"
	"jjm/gate/verbs"
	"jjm/wire"
)

// bedSite has the verbs of a site, and those of jobs that only people use, beside the jobs of a fake.
type bedSite struct {
	jobs *gatetest.Fake
	mu   sync.Mutex
	// types, clusters and ad are what the verbs of these names answer.
	types    []wire.JobType
	clusters []wire.Cluster
	ad       wire.Advertised
	history  map[jjm.GridID][]jjm.JournalEntry
	verified map[jjm.GridID]wire.Verified
	orders   []jjm.Order // in force
	bans     []jjm.Ban
	sets     map[string]wire.DatasetState
}

func newBedSite(jobs *gatetest.Fake) *bedSite {
	return &bedSite{jobs: jobs, types: jobTypesOfBed(), clusters: clustersOfBed(), ad: adOfBed(),
		history: map[jjm.GridID][]jjm.JournalEntry{}, verified: map[jjm.GridID]wire.Verified{},
		sets: map[string]wire.DatasetState{}}
}

// verbs are those of the site and of its jobs.
func (b *bedSite) verbs() []gate.Verb {
	find := verbs.Resolve(b.jobs.Resolve)
	return append(b.jobs.Verbs(),
		verbs.JobTypes(func() []wire.JobType { return b.types }),
		verbs.Clusters(func(context.Context) []wire.Cluster { return b.clusters }, func() []string { return nil }),
		verbs.Advertise(b.advertise), verbs.Reset(b.reset), verbs.Order(find, b.order), verbs.Ban(b.ban),
		verbs.Dataset(b.dataset), verbs.Release(find, b.release), verbs.History(find, b.historyOf),
		verbs.Renew(find, b.renew), verbs.Verify(find, b.verify), verbs.Retract(find, b.retract))
}

// asked counts a question, as the hook of the jobs does.
func (b *bedSite) asked(ctx context.Context, verb string) error { return b.jobs.Hook(ctx, verb) }

// advertise tells the ad; with now it is sent again first.
func (b *bedSite) advertise(ctx context.Context, now bool) (wire.Advertised, error) {
	if err := b.asked(ctx, "advertise"); err != nil {
		return wire.Advertised{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if now {
		for i := range b.ad.Collectors {
			b.ad.Collectors[i].Sent += 1000
		}
	}
	return b.ad, nil
}

// reset closes the breaker of a site in Sites.
func (b *bedSite) reset(ctx context.Context, c gate.Caller, cluster string) error {
	if err := b.asked(ctx, "reset"); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.clusters {
		if b.clusters[i].Name == cluster {
			b.clusters[i].Breaker = nil
			return nil
		}
	}
	return jjm.Errorf(jjm.Gone, "this site has no cluster %q", cluster)
}

// order keeps one order per target and verb; nil lists them.
func (b *bedSite) order(ctx context.Context, c gate.Caller, o *wire.Order) ([]jjm.Order, error) {
	if err := b.asked(ctx, "order"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o == nil {
		return slices.Clone(b.orders), nil
	}
	given := jjm.Order{Verb: o.Verb, Kind: o.Kind, Name: o.Name, Reason: o.Reason, By: c.User, Since: 1, Until: o.Until}
	var ended []jjm.Order
	b.orders = slices.DeleteFunc(b.orders, func(old jjm.Order) bool {
		same := old.Kind == o.Kind && old.Name == o.Name && (o.Verb == jjm.OrderResume || old.Verb == o.Verb)
		if same {
			ended = append(ended, old)
		}
		return same
	})
	if o.Verb == jjm.OrderResume {
		return ended, nil
	}
	b.orders = append(b.orders, given)
	return []jjm.Order{given}, nil
}

// ban keeps one ban for each name; nil lists them.
func (b *bedSite) ban(ctx context.Context, c gate.Caller, wish *wire.Ban) (wire.Banned, error) {
	if err := b.asked(ctx, "ban"); err != nil {
		return wire.Banned{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if wish == nil {
		return wire.Banned{Bans: slices.Clone(b.bans)}, nil
	}
	given := jjm.Ban{Kind: jjm.BanKind(wish.Name), Name: wish.Name, Reason: wish.Reason, By: c.User, UID: c.UID, Since: 1}
	var out wire.Banned
	b.bans = slices.DeleteFunc(b.bans, func(old jjm.Ban) bool {
		if wish.Lift && old.Same(given) {
			out.Bans = append(out.Bans, old)
		}
		return old.Same(given)
	})
	if wish.Lift {
		return out, nil
	}
	b.bans = append(b.bans, given)
	theirs, err := b.jobs.List(ctx, c, wire.List{All: true, Owner: wish.Name})
	for _, st := range theirs {
		out.Killed = append(out.Killed, st.Lookup.ID)
	}
	out.Bans = []jjm.Ban{given}
	return out, err
}

// dataset counts files by the names of their datasets.
func (b *bedSite) dataset(ctx context.Context, c gate.Caller, d wire.Dataset) (wire.Datasets, error) {
	if err := b.asked(ctx, "dataset"); err != nil {
		return wire.Datasets{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if d.UID != nil && *d.UID != c.UID && !c.Admin {
		return wire.Datasets{}, jjm.Errorf(jjm.Denied, "%s is no administrator", c.User)
	}
	out := wire.Datasets{Added: len(d.Files), Changed: d.Do == wire.DatasetClose}
	if d.Do != wire.DatasetShow {
		state := b.sets[d.Name]
		state.Name, state.UID, state.Files = d.Name, c.UID, state.Files+int64(len(d.Files))
		state.Container = cmp.Or(state.Container, d.Container)
		if d.Do == wire.DatasetClose {
			state.Closed = 1
		}
		b.sets[d.Name] = state
	}
	for _, lfn := range d.LFNs {
		one := wire.MarkedFile{LFN: lfn, State: d.State, Locals: []string{"1.0"}}
		if d.State == jjm.FileReady.String() {
			one.Locals, one.Without = nil, []jjm.GridID{1}
		}
		out.Marked = append(out.Marked, one)
	}
	for _, name := range slices.Sorted(maps.Keys(b.sets)) {
		if d.Name == "" || d.Name == name {
			out.Shown = append(out.Shown, b.sets[name])
		}
	}
	return out, nil
}

// renew remembers nothing; every credential is newer.
func (b *bedSite) renew(ctx context.Context, c gate.Caller, id jjm.GridID, given []jjm.Credential) (
	r wire.Renewal, err error) {
	err = b.jobs.Use(ctx, "renew", c, id, func(*gatetest.Job) {
		for _, one := range given {
			r.Kinds = append(r.Kinds, one.Kind)
		}
	})
	return r, err
}

// retract says that each output was made by local job 0, and that a recovery is
// needed.
func (b *bedSite) retract(ctx context.Context, c gate.Caller, id jjm.GridID, w wire.Retract) (
	out wire.Retracted, err error) {
	err = b.jobs.Use(ctx, "retract", c, id, func(*gatetest.Job) {
		local := jjm.LocalID{Grid: id}.String()
		out = wire.Retracted{ID: id, Locals: []wire.RetractedLocal{{Local: local, Outputs: w.Outputs}}, Lost: w.Outputs}
		if w.Recovery != "" {
			out.Recovery = "{}\n"
		}
	})
	return out, err
}

// verify answers what the script put there.
func (b *bedSite) verify(ctx context.Context, c gate.Caller, id jjm.GridID, recovery string) (
	v wire.Verified, err error) {
	err = b.jobs.Use(ctx, "verify", c, id, func(*gatetest.Job) {
		v = b.verified[id]
		if v.ID = id; recovery == "" {
			v.Recovery, v.RecoveryFiles = "", ""
		}
	})
	return v, err
}

// release counts the local jobs that are held, and lets them wait.
func (b *bedSite) release(ctx context.Context, c gate.Caller, refs []jjm.Ref) []wire.Released {
	out := make([]wire.Released, len(refs))
	for i, ref := range refs {
		err := b.jobs.Use(ctx, "release", c, ref.Grid, func(j *gatetest.Job) {
			for k := range j.Locals {
				if l := &j.Locals[k]; l.Holding.Now() && (!ref.Locals || ref.Has(l.ID.N)) {
					l.State, l.Phase, l.Holding = jjm.Submitting, jjm.RetryWait, nil
					out[i].Jobs++
				}
			}
		})
		out[i].Ref, out[i].Error, out[i].NoChange = ref.String(), wire.ErrorOf(err), err == nil && out[i].Jobs == 0
	}
	return out
}

// historyOf returns the last limit entries; of the orders one for each in force.
func (b *bedSite) historyOf(ctx context.Context, c gate.Caller, ref jjm.Ref, limit int) (
	h []jjm.JournalEntry, err error) {
	if ref == (jjm.Ref{}) {
		h, err = b.historyOfOrders(), b.asked(ctx, "history")
	} else {
		err = b.jobs.Use(ctx, "history", c, ref.Grid, func(*gatetest.Job) { h = b.history[ref.Grid] })
	}
	if limit > 0 && len(h) > limit {
		h = h[len(h)-limit:]
	}
	return h, err
}

func (b *bedSite) historyOfOrders() (h []jjm.JournalEntry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, o := range b.orders {
		h = append(h, jjm.JournalEntry{Seq: int64(i + 1), Time: o.Since, First: -1, Last: -1, To: o.Doing(),
			Cause: o.Kind + " " + o.Name + ": " + o.Reason, Source: "order", Actor: o.By})
	}
	return h
}
