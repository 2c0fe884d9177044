package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"jjm/internal/api/plain"
	served "jjm/internal/api/serve"
	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/credential"
	"jjm/internal/jjm"
	"jjm/internal/testkit/servertest"
)

// bedSite is a fake service, which answers the verbs about the site, and the verbs about jobs that only people use.
// Another fake service, servertest.Fake, has the jobs.
type bedSite struct {
	jobs *servertest.Fake
	mu   sync.Mutex
	// types, clusters and ad are the answers of the verbs of these names.
	types    []wire.JobType
	clusters []wire.Cluster
	ad       wire.Advertised
	history  map[jjm.GridID][]jjm.JournalEntry
	verified map[jjm.GridID]wire.Verified
	orders   []jjm.Order // the orders in force
	bans     []jjm.Ban
	excluded []jjm.Exclusion
	sets     map[string]wire.DatasetState
}

func newBedSite(jobs *servertest.Fake) *bedSite {
	return &bedSite{jobs: jobs, types: jobTypesOfBed(), clusters: clustersOfBed(), ad: adOfBed(),
		history: map[jjm.GridID][]jjm.JournalEntry{}, verified: map[jjm.GridID]wire.Verified{},
		sets: map[string]wire.DatasetState{}}
}

// verbs returns the verbs that bedSite answers.
func (b *bedSite) verbs() []served.Verb {
	all := []served.Verb{
		served.Handle(wire.VerbJobTypes(), served.Anyone, func(context.Context, server.Caller, wire.JobTypesRequest) (
			wire.JobTypesAnswer, error) {
			return wire.JobTypesAnswer{JobTypes: b.types}, nil
		}),
		served.Handle(wire.VerbClusters(), served.Anyone, func(context.Context, server.Caller, wire.ClustersRequest) (
			wire.ClustersAnswer, error) {
			return wire.ClustersAnswer{Clusters: b.clusters}, nil
		}),
		served.Handle(wire.VerbAdvertise(), served.AnyoneReads, b.advertise),
		served.Handle(wire.VerbReset(), served.Administrators, b.reset),
		served.Handle(wire.VerbOrder(), served.Owners, b.order),
		served.Handle(wire.VerbBan(), served.Administrators, b.ban),
		served.Handle(wire.VerbExclude(), served.Owners, b.exclude),
		served.Handle(wire.VerbDataset(), served.Owners, b.dataset),
		served.Handle(wire.VerbRelease(), served.Owners, b.release),
		served.Handle(wire.VerbResubmit(), served.Owners, b.resubmit),
		served.Handle(wire.VerbHistory(), served.Owners, b.historyOf),
		served.Handle(wire.VerbRenew(), served.Owners, b.renew),
		served.Handle(wire.VerbVerify(), served.Owners, b.verify),
		served.Handle(wire.VerbRetract(), served.Owners, b.retract),
		served.Handle(wire.VerbCopy(), served.Owners, b.copy),
	}
	for i := range all {
		all[i] = all[i].Resolving(b.jobs.Resolve)
	}
	return append(b.jobs.Verbs(), all...)
}

// asked calls the hook of the fake service that has the jobs. The hook counts requests.
func (b *bedSite) asked(ctx context.Context, verb string) error { return b.jobs.Hook(ctx, verb) }

// advertise returns the ad. If the request has Now, the ad is first marked as sent again.
func (b *bedSite) advertise(ctx context.Context, _ server.Caller,
	r wire.AdvertiseRequest) (wire.AdvertiseAnswer, error) {
	if err := b.asked(ctx, "advertise"); err != nil {
		return wire.AdvertiseAnswer{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Now {
		for i := range b.ad.Collectors {
			b.ad.Collectors[i].Sent += 1000
		}
	}
	ad := b.ad
	return wire.AdvertiseAnswer{Advertised: &ad}, nil
}

// reset closes the circuit breaker of a cluster.
func (b *bedSite) reset(ctx context.Context, c server.Caller, r wire.ResetRequest) (a wire.None, err error) {
	if err := b.asked(ctx, "reset"); err != nil {
		return a, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.clusters {
		if b.clusters[i].Name == r.Cluster {
			b.clusters[i].Breaker = nil
			return a, nil
		}
	}
	return a, jjm.Errorf(jjm.Gone, "this site has no cluster %q", r.Cluster)
}

// order stores one order for each target and verb. A request without an order lists the stored orders.
func (b *bedSite) order(ctx context.Context, c server.Caller, r wire.OrderRequest) (a wire.OrderAnswer, err error) {
	o := r.Order
	if err := b.asked(ctx, "order"); err != nil {
		return a, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if o == nil {
		a.Orders = slices.Clone(b.orders)
		return a, nil
	}
	given := jjm.Order{Verb: o.Verb, Kind: o.Kind, Name: o.Name, Reason: o.Reason, By: c.User, Since: 1, From: o.From,
		Until: o.Until}
	if o.From != 0 {
		given.Verb = jjm.OrderMaintenance
	}
	if o.From != 0 && o.For != 0 {
		given.Until = o.From.Add(o.For.D())
	}
	b.orders = slices.DeleteFunc(b.orders, func(old jjm.Order) bool {
		same := old.Kind == o.Kind && old.Name == o.Name && (o.Verb == jjm.OrderResume || old.Verb == given.Verb)
		if same {
			a.Orders = append(a.Orders, old)
		}
		return same
	})
	if o.Verb == jjm.OrderResume {
		if a.NoChange = len(a.Orders) == 0; a.NoChange {
			a.Notes = []string{o.Kind + " " + o.Name + " has no order to end"}
		}
		return a, nil
	}
	b.orders = append(b.orders, given)
	a.Orders = []jjm.Order{given}
	return a, nil
}

// ban stores one ban for each name. A request without a ban lists the stored bans.
func (b *bedSite) ban(ctx context.Context, c server.Caller, r wire.BanRequest) (wire.BanAnswer, error) {
	out, request := &wire.Banned{}, r.Ban
	a := wire.BanAnswer{Banned: out}
	if err := b.asked(ctx, "ban"); err != nil {
		return a, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if request == nil {
		out.Bans = slices.Clone(b.bans)
		return a, nil
	}
	given := jjm.Ban{Kind: jjm.BanKind(request.Name), Name: request.Name, Reason: request.Reason, By: c.User, UID: c.UID,
		Since: 1}
	b.bans = slices.DeleteFunc(b.bans, func(old jjm.Ban) bool {
		if request.Lift && credential.SameBan(old, given) {
			out.Bans = append(out.Bans, old)
		}
		return credential.SameBan(old, given)
	})
	if request.Lift {
		if out.NoChange = len(out.Bans) == 0; out.NoChange {
			out.Notes = []string{given.Whom() + " is not banned"}
		}
		return a, nil
	}
	b.bans = append(b.bans, given)
	theirs, err := b.jobs.List(ctx, c, wire.List{All: true, Owner: request.Name})
	for _, st := range theirs {
		out.Killed = append(out.Killed, st.Lookup.ID)
	}
	out.Bans = []jjm.Ban{given}
	return a, err
}

// exclude stores and ends exclusions of hosts of the cluster slurm, with two running and three queued local jobs. A
// request without hosts lists the exclusions.
func (b *bedSite) exclude(ctx context.Context, c server.Caller, r wire.ExcludeRequest) (wire.ExcludeAnswer, error) {
	out := &wire.Excluded{}
	a := wire.ExcludeAnswer{Excluded: out}
	if err := b.asked(ctx, "exclude"); err != nil {
		return a, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Exclude == nil {
		out.Hosts = slices.Clone(b.excluded)
		return a, nil
	}
	for _, host := range r.Exclude.Hosts {
		at := slices.IndexFunc(b.excluded, func(old jjm.Exclusion) bool { return old.Host == host })
		switch {
		case r.Exclude.Include && at < 0:
			out.NoChange, out.Notes = append(out.NoChange, host), append(out.Notes, "host "+host+" is not excluded")
		case !r.Exclude.Include && at >= 0 && b.excluded[at].Reason == r.Exclude.Reason:
			out.NoChange, out.Notes = append(out.NoChange, host), append(out.Notes, b.excluded[at].String())
		}
	}
	b.excluded = slices.DeleteFunc(b.excluded, func(old jjm.Exclusion) bool {
		named := slices.Contains(r.Exclude.Hosts, old.Host)
		if named && r.Exclude.Include {
			out.Hosts = append(out.Hosts, old)
		}
		return named
	})
	if r.Exclude.Include {
		return a, nil
	}
	for _, host := range r.Exclude.Hosts {
		e := jjm.Exclusion{Cluster: "slurm", Host: host, Reason: r.Exclude.Reason, By: c.Actor(), Since: 1}
		if r.Exclude.For > 0 {
			e.Until = e.Since.Add(r.Exclude.For.D())
		}
		out.Hosts = append(out.Hosts, e)
	}
	b.excluded = append(b.excluded, out.Hosts...)
	out.Running, out.Queued = 2, 3
	return a, nil
}

// dataset stores only the number of files of each dataset.
func (b *bedSite) dataset(ctx context.Context, c server.Caller,
	r wire.DatasetRequest) (a wire.DatasetAnswer, err error) {
	d := r.Dataset
	if err := b.asked(ctx, "dataset"); err != nil {
		return a, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if d.UID != nil && *d.UID != c.UID && !c.Admin {
		return a, jjm.Errorf(jjm.Denied, "%s is no administrator", c.User)
	}
	out := &wire.Datasets{Added: len(d.Files), Changed: d.Do == wire.DatasetClose}
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
	a.Datasets = out
	return a, nil
}

// renew stores nothing, and answers that every credential was newer.
func (b *bedSite) renew(ctx context.Context, c server.Caller, r wire.RenewRequest) (a wire.RenewAnswer, err error) {
	err = b.jobs.Use(ctx, "renew", c, r.Grid(), func(*servertest.Job) {
		for _, one := range r.Credentials {
			a.Renewed = append(a.Renewed, one.Kind)
		}
	})
	return a, err
}

// retract returns an answer in which local job 0 made each output. If the request names a recovery, the answer contains
// one. Otherwise the answer says that the grid job is reopened, unless the request has NewOutput.
func (b *bedSite) retract(ctx context.Context, c server.Caller,
	r wire.RetractRequest) (a wire.RetractAnswer, err error) {
	id, w := r.Grid(), r.Retract
	err = b.jobs.Use(ctx, "retract", c, id, func(*servertest.Job) {
		local := jjm.LocalID{Grid: id}.String()
		out := &wire.Retracted{ID: id, Lost: w.Outputs,
			Locals: []wire.RetractedLocal{{Local: local, Outputs: w.Outputs}}}
		switch {
		case w.Recovery != "":
			out.Recovery = "{}\n"
		case !w.NewOutput:
			out.Generation = 2
		}
		a.Retracted = out
	})
	return a, err
}

// copy submits, to the fake service, a job file whose lines are the edits of the request.
func (b *bedSite) copy(ctx context.Context, c server.Caller, r wire.CopyRequest) (a wire.CopyAnswer, err error) {
	id, how := r.Grid(), r.CopyHow
	if err := b.jobs.Use(ctx, "copy", c, id, func(*servertest.Job) {}); err != nil {
		return a, err
	}
	out := &wire.Copied{}
	a.Copied = out
	text := strings.ReplaceAll(strings.Join(how.Set, "\n"), "=", " = ") + "\n"
	out.Submitted, err = b.jobs.Submit(ctx, c, wire.Submit{Name: "copy", Text: text, Key: how.Key, DryRun: how.DryRun})
	if out.Of = id; how.DryRun {
		out.JobFile = text
	}
	return a, err
}

// verify returns the answer that the script stored.
func (b *bedSite) verify(ctx context.Context, c server.Caller, r wire.VerifyRequest) (a wire.VerifyAnswer, err error) {
	err = b.jobs.Use(ctx, "verify", c, r.Grid(), func(*servertest.Job) {
		v := b.verified[r.Grid()]
		a.Verify = &v
		if v.ID = r.Grid(); r.Recovery == "" {
			v.Recovery, v.RecoveryFiles = "", ""
		}
	})
	return a, err
}

// release counts the held local jobs. Unless the request has DryRun, it makes them wait for a submission.
func (b *bedSite) release(ctx context.Context, c server.Caller, r wire.ReleaseRequest) (wire.ReleaseAnswer, error) {
	out := make([]wire.Released, len(r.Jobs))
	for i, ref := range r.Jobs {
		err := b.jobs.Use(ctx, "release", c, ref.Grid, func(j *servertest.Job) {
			for k := range j.Locals {
				if l := &j.Locals[k]; l.Holding.Now() && (!ref.Locals || ref.Has(l.ID.N)) {
					if out[i].Jobs++; r.DryRun {
						continue
					}
					l.State, l.Phase, l.Holding = jjm.Submitting, jjm.RetryWait, nil
				}
			}
		})
		out[i].Ref, out[i].Error, out[i].NoChange = ref.String(), wire.ErrorOf(err), err == nil && out[i].Jobs == 0
	}
	return wire.ReleaseAnswer{Release: out}, nil
}

// resubmit counts the failed local jobs, and reopens a grid job that is over. Unless the request has DryRun, the grid
// job runs then.
func (b *bedSite) resubmit(ctx context.Context, c server.Caller, r wire.ResubmitRequest) (wire.ResubmitAnswer, error) {
	out := make([]wire.Resubmitted, len(r.Jobs))
	for i, ref := range r.Jobs {
		out[i].ID = ref.Grid
		err := b.jobs.Use(ctx, "resubmit", c, ref.Grid, func(j *servertest.Job) {
			l := &j.Status.Lookup
			if out[i].Jobs = l.Counts.Failed; plain.Final(l.Status) {
				out[i].Generation = 2
			}
			if !r.DryRun {
				l.Status = jjm.GridRunning.String()
			}
		})
		out[i].Error = wire.ErrorOf(err)
	}
	return wire.ResubmitAnswer{Resubmit: out}, nil
}

// historyOf returns the last Limit entries of the journal. For the journal of orders, it returns an entry for each
// order in force.
func (b *bedSite) historyOf(ctx context.Context, c server.Caller, r wire.HistoryRequest) (a wire.HistoryAnswer,
	err error) {
	if r.Orders {
		a.History, err = b.historyOfOrders(), b.asked(ctx, "history")
	} else {
		id := r.Jobs[0].Grid
		err = b.jobs.Use(ctx, "history", c, id, func(*servertest.Job) { a.History = b.history[id] })
	}
	if h := a.History; r.Limit > 0 && len(h) > r.Limit {
		a.History = h[len(h)-r.Limit:]
	}
	return a, err
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
