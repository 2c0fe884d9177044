package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"jjm/internal/api/gate"
	"jjm/internal/api/gate/verbs"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/gatetest"
)

// bedSite answers the verbs about the site, and those verbs about jobs that only people use, for the jobs of a fake
// service.
type bedSite struct {
	jobs *gatetest.Fake
	mu   sync.Mutex
	// types, clusters and ad are the answers of the verbs of these names.
	types    []wire.JobType
	clusters []wire.Cluster
	ad       wire.Advertised
	history  map[jjm.GridID][]jjm.JournalEntry
	verified map[jjm.GridID]wire.Verified
	orders   []jjm.Order // the orders in force
	bans     []jjm.Ban
	sets     map[string]wire.DatasetState
}

func newBedSite(jobs *gatetest.Fake) *bedSite {
	return &bedSite{jobs: jobs, types: jobTypesOfBed(), clusters: clustersOfBed(), ad: adOfBed(),
		history: map[jjm.GridID][]jjm.JournalEntry{}, verified: map[jjm.GridID]wire.Verified{},
		sets: map[string]wire.DatasetState{}}
}

// verbs returns the verbs that bedSite answers.
func (b *bedSite) verbs() []gate.Verb {
	find := verbs.Resolve(b.jobs.Resolve)
	return append(b.jobs.Verbs(),
		verbs.JobTypes(func() []wire.JobType { return b.types }),
		verbs.Clusters(func(context.Context, gate.Caller) []wire.Cluster { return b.clusters },
			func(gate.Caller) []string { return nil }),
		verbs.Advertise(b.advertise), verbs.Reset(b.reset), verbs.Order(find, b.order), verbs.Ban(b.ban),
		verbs.Dataset(b.dataset), verbs.Release(find, b.release), verbs.History(find, b.historyOf, b.attemptsOf),
		verbs.Renew(find, b.renew), verbs.Verify(find, b.verify), verbs.Retract(find, b.retract),
		verbs.Copy(find, b.copy))
}

// asked calls the hook of the fake's jobs, which counts requests.
func (b *bedSite) asked(ctx context.Context, verb string) error { return b.jobs.Hook(ctx, verb) }

// advertise returns the ad. If now is set, it first counts as sent again.
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

// reset closes the circuit breaker of a cluster in Sites.
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

// order stores one order per target and verb; nil lists them.
func (b *bedSite) order(ctx context.Context, c gate.Caller, o *wire.Order) ([]jjm.Order, error) {
	if err := b.asked(ctx, "order"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o == nil {
		return slices.Clone(b.orders), nil
	}
	given := jjm.Order{Verb: o.Verb, Kind: o.Kind, Name: o.Name, Reason: o.Reason, By: c.User, Since: 1, From: o.From,
		Until: o.Until}
	if o.From != 0 {
		given.Verb = jjm.OrderMaintenance
	}
	if o.From != 0 && o.For != 0 {
		given.Until = o.From.Add(o.For.D())
	}
	var ended []jjm.Order
	b.orders = slices.DeleteFunc(b.orders, func(old jjm.Order) bool {
		same := old.Kind == o.Kind && old.Name == o.Name && (o.Verb == jjm.OrderResume || old.Verb == given.Verb)
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

// ban stores one ban per name; nil lists them.
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

// dataset counts the files of each dataset.
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

// renew stores nothing and accepts every credential as newer.
func (b *bedSite) renew(ctx context.Context, c gate.Caller, id jjm.GridID, given []jjm.Credential) (
	r wire.Renewal, err error) {
	err = b.jobs.Use(ctx, "renew", c, id, func(*gatetest.Job) {
		for _, one := range given {
			r.Kinds = append(r.Kinds, one.Kind)
		}
	})
	return r, err
}

// retract answers that local job 0 made each output, and that the grid job is reopened, or that
// a recovery is needed.
func (b *bedSite) retract(ctx context.Context, c gate.Caller, id jjm.GridID, w wire.Retract) (
	out wire.Retracted, err error) {
	err = b.jobs.Use(ctx, "retract", c, id, func(*gatetest.Job) {
		local := jjm.LocalID{Grid: id}.String()
		out = wire.Retracted{ID: id, Locals: []wire.RetractedLocal{{Local: local, Outputs: w.Outputs}}, Lost: w.Outputs}
		switch {
		case w.Recovery != "":
			out.Recovery = "{}\n"
		case !w.NewOutput:
			out.Generation = 2
		}
	})
	return out, err
}

// copy submits the edits as the lines of a job file.
func (b *bedSite) copy(ctx context.Context, c gate.Caller, id jjm.GridID, how wire.CopyHow) (
	out wire.Copied, err error) {
	if err := b.jobs.Use(ctx, "copy", c, id, func(*gatetest.Job) {}); err != nil {
		return out, err
	}
	text := strings.ReplaceAll(strings.Join(how.Set, "\n"), "=", " = ") + "\n"
	out.Submitted, err = b.jobs.Submit(ctx, c, wire.Submit{Name: "copy", Text: text, Key: how.Key, DryRun: how.DryRun})
	if out.Of = id; how.DryRun {
		out.JobFile = text
	}
	return out, err
}

// verify returns the answer that the script stored.
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

// release counts the held local jobs and, unless dry, makes them wait.
func (b *bedSite) release(ctx context.Context, c gate.Caller, refs []jjm.Ref, dry bool) []wire.Released {
	out := make([]wire.Released, len(refs))
	for i, ref := range refs {
		err := b.jobs.Use(ctx, "release", c, ref.Grid, func(j *gatetest.Job) {
			for k := range j.Locals {
				if l := &j.Locals[k]; l.Holding.Now() && (!ref.Locals || ref.Has(l.ID.N)) {
					if out[i].Jobs++; dry {
						continue
					}
					l.State, l.Phase, l.Holding = jjm.Submitting, jjm.RetryWait, nil
				}
			}
		})
		out[i].Ref, out[i].Error, out[i].NoChange = ref.String(), wire.ErrorOf(err), err == nil && out[i].Jobs == 0
	}
	return out
}

// historyOf returns the last limit entries; for orders, one entry for each order in force.
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

// attemptsOf returns no attempts: the jobs of the bed have none.
func (b *bedSite) attemptsOf(context.Context, gate.Caller, jjm.Ref) ([]wire.Attempt, error) {
	return nil, nil
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
