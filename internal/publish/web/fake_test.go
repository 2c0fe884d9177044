package web

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
)

// fake is a site in memory.
type fake struct {
	mu            sync.Mutex
	jobs          []wire.Status // the newest first; Owner is "ann" or "bob"
	locals        []jjm.LocalJob
	journal       []jjm.JournalEntry
	site          []jjm.JournalEntry // the entries that belong to no grid job
	clusters      []wire.Cluster
	busy          bool              // the account database does not answer
	errors        map[string]string // the standard error of local jobs
	held          chan struct{}     // if set, no file is read before it is closed
	excluded      []jjm.Exclusion
	checks        []wire.HealthCheck
	healths       int // how often the checks were asked for
	lists, urgent int // how often the list, and the local jobs of a grid job, were read
}

// uids are the accounts of the fake. The account root is an administrator.
var uids = map[string]int{"root": 0, "ann": 1001, "bob": 1002}

func (f *fake) verbs() []serve.Verb {
	return []serve.Verb{
		serve.Handle(wire.VerbClusters(), serve.Anyone, f.askClusters),
		serve.Handle(wire.VerbList(), serve.Owners, f.list),
		serve.Handle(wire.VerbStatus(), serve.Owners, f.status),
		serve.Handle(wire.VerbWhy(), serve.Owners, f.why),
		serve.Handle(wire.VerbHistory(), serve.Owners, f.history),
		serve.Handle(wire.VerbHealth(), serve.Anyone, f.health),
		serve.Handle(wire.VerbExclude(), serve.Owners, f.exclude),
		serve.HandleStream(wire.VerbCat(), serve.Owners, f.cat),
	}
}

// health returns the checks of the site.
func (f *fake) health(context.Context, wire.Caller, wire.HealthRequest) (wire.HealthAnswer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.healths++
	return wire.HealthAnswer{Health: &wire.Health{Checks: slices.Clone(f.checks)}}, nil
}

// exclude lists the excluded hosts.
func (f *fake) exclude(context.Context, wire.Caller, wire.ExcludeRequest) (wire.ExcludeAnswer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return wire.ExcludeAnswer{Excluded: &wire.Excluded{Hosts: slices.Clone(f.excluded)}}, nil
}

// cat sends the standard error of a local job. Like a read from a file system that hangs, it does not heed its context.
func (f *fake) cat(_ context.Context, c wire.Caller, r wire.CatRequest, out *serve.Stream[wire.CatAnswer]) error {
	if f.held != nil {
		<-f.held
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	text, ok := f.errors[r.Job().String()]
	if s := f.one(c, r.Job()); s.Lookup.Error != nil || !ok || r.File != "stderr" || r.Tail == 0 {
		return jjm.Errorf(jjm.Gone, "no %s of %s", r.File, r.Job())
	}
	if err := out.Begin(wire.CatAnswer{}); err != nil {
		return err
	}
	_, err := io.WriteString(out, text)
	return err
}

// set changes the site.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fake) askClusters(context.Context, wire.Caller, wire.ClustersRequest) (wire.ClustersAnswer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return wire.ClustersAnswer{Clusters: append([]wire.Cluster(nil), f.clusters...)}, nil
}

func (f *fake) list(_ context.Context, c wire.Caller, r wire.ListRequest) (a wire.StatusAnswer, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	for _, s := range f.jobs {
		if l := r.List; l.Owner != "" && c.Admin && l.Owner != s.Owner || l.Type != "" && l.Type != s.Type ||
			l.Status != "" && !slices.Contains(strings.Split(l.Status, ","), s.Lookup.Status) {
			continue
		}
		if c.May(uids[s.Owner]) && (r.List.Before == 0 || int64(s.Lookup.ID) < r.List.Before) &&
			len(a.Status) < r.List.Limit {
			a.Status = append(a.Status, s)
		}
	}
	return a, nil
}

func (f *fake) status(_ context.Context, c wire.Caller, r wire.StatusRequest) (a wire.StatusAnswer, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ref := range r.Jobs {
		s := f.one(c, ref)
		if u := r.Urgent; u != nil && !ref.Locals && s.Lookup.Error == nil {
			f.urgent++
			var own []jjm.LocalJob
			for _, l := range f.locals {
				if l.ID.Grid == ref.Grid {
					own = append(own, l)
				}
			}
			at := func(i int) (jjm.State, jjm.Phase) { return own[i].State, own[i].Phase }
			for _, i := range jjm.MostUrgent(len(own), at, u.From, u.Limit) {
				s.Locals = append(s.Locals, own[i])
			}
		}
		if r.Hosts && s.Lookup.Error == nil {
			s.Hosts, s.MoreHosts = []wire.HostFigures{{Host: hostile, Running: 2, Ended: 3, Failed: 1, MeanWallMS: 24_000,
				Odd: "mean wall 2.4 times the mean of the other hosts"}}, 4
		}
		a.Status = append(a.Status, s)
	}
	return a, nil
}

// one returns the status of the job that a reference names. f.mu must be held.
func (f *fake) one(c wire.Caller, ref jjm.Ref) wire.Status {
	for _, s := range f.jobs {
		switch {
		case s.Lookup.ID != ref.Grid:
			continue
		case !c.May(uids[s.Owner]):
			return wire.Status{Lookup: wire.Lookup{Error: wire.ErrorOf(
				jjm.Errorf(jjm.Denied, "grid job %s belongs to %s", ref, s.Owner))}}
		}
		for _, l := range f.locals {
			if ref.Locals && l.ID.Grid == ref.Grid && ref.Has(l.ID.N) {
				s.Locals = append(s.Locals, l)
			}
		}
		if ref.One() && len(s.Locals) == 1 {
			s.Detail = &wire.LocalDetail{Evidence: &wire.Evidence{Batch: "FAILED", Reason: hostile},
				Used: &jjm.Usage{UserMS: 30_000, WallMS: 60_000, MaxRSSKB: 102400, Started: 1, Ended: 60_001}}
		}
		return s
	}
	return wire.Status{Lookup: wire.Lookup{Error: wire.ErrorOf(jjm.Errorf(jjm.Gone, "no grid job %s", ref))}}
}

func (f *fake) why(_ context.Context, _ wire.Caller, r wire.WhyRequest) (a wire.WhyAnswer, err error) {
	for _, ref := range r.Jobs {
		a.Why = append(a.Why, wire.Why{ID: ref.Grid, Causes: []wire.Cause{{Code: "queued", Text: hostile, Jobs: 2,
			First: jjm.LocalID{Grid: ref.Grid, N: 1}.String(), Remedy: "jjm why"}}})
	}
	return a, nil
}

func (f *fake) history(_ context.Context, _ wire.Caller, r wire.HistoryRequest) (a wire.HistoryAnswer, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Orders {
		a.History = append(a.History, f.site...)
		return a, nil
	}
	a.History = append(a.History, f.journal...)
	if len(r.Jobs) == 1 && r.Jobs[0].One() {
		a.Attempts = []wire.Attempt{{Host: hostile, Exit: 3, Evidence: &wire.Evidence{Batch: "FAILED", Error: hostile}}}
	}
	return a, nil
}

// account returns the account of the fake that has a name.
func (f *fake) account(_ context.Context, name string) (wire.Caller, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy {
		return wire.Caller{}, jjm.Errorf(jjm.Busy, "the account database does not answer")
	}
	uid, ok := uids[name]
	if !ok {
		return wire.Caller{}, jjm.Errorf(jjm.Invalid, "%q is no account", name)
	}
	return wire.Caller{UID: uid, GID: uid, User: name, Admin: uid == 0}, nil
}

// hostile is a text with markup, quotes, a control character and marks that change the direction of text.
const hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202egnp.exe\x1b[2J{{.}}"

// newFake returns a site with the grid jobs 18 of bob and 17 of ann, which has 30 local jobs.
func newFake() *fake {
	f := &fake{clusters: []wire.Cluster{{Name: "farm", Kind: "slurm", Healthy: true, LastSeen: 1, Running: 4, Slots: 8},
		{Name: "ill", Kind: "pbs", Cause: "qstat: " + hostile, Trouble: []string{hostile}, Since: 1000}}}
	job := func(id jjm.GridID, owner string) wire.Status {
		return wire.Status{Name: hostile, Type: "script", Owner: owner, Accepted: 1000, Cluster: "farm",
			Clusters: []string{"farm"}, Request: jjm.Request{Cores: 1, MemoryMB: 200},
			Lookup: wire.Lookup{ID: id, Status: "running", Message: hostile,
				Counts: wire.Counts{Expected: 30, Total: 30, Completed: 1, Failed: 1, Running: 28}},
			Causes: []jjm.Cause{{Text: hostile, Jobs: 1, First: jjm.LocalID{Grid: id, N: 1}.String(), Exit: 3, Host: hostile}}}
	}
	f.jobs = []wire.Status{job(18, "bob"), job(17, "ann")}
	for n := range int32(30) {
		f.locals = append(f.locals, jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: n}, State: jjm.Running, Host: hostile,
			Message: hostile})
	}
	move := func(n int32, at jjm.Time, from, to string) {
		f.journal = append(f.journal, jjm.JournalEntry{Time: at, Grid: 17, First: n, Last: n, From: from, To: to})
	}
	move(0, 1000, "new", "submitting")
	move(0, 3000, "submitting", "submitted/queued")
	move(0, 61_000, "submitted/queued", "running")
	move(0, 121_000, "running", "completing")
	move(0, 122_000, "completing", "completed")
	return f
}

// page returns the web page of the site. proxy is the uid of the account of the proxy.
func (f *fake) page(c Config, proxy int) *Page {
	return New(c, Deps{Site: "T2_XY", Verbs: f.verbs(), Account: f.account, ProxyUID: proxy, Every: time.Millisecond,
		Counts: func() (n health.Counts) {
			n.Grids[jjm.GridRunning], n.Locals[jjm.Running] = 2, 56
			return n
		},
		Now: func() time.Time { return time.UnixMilli(200_000) }, Log: slog.New(slog.DiscardHandler)})
}

// secret returns the token of an account in the tests.
func secret(user string) string { return user + "-0123456789abcdef0123456789abcdef" }

// answer passes a request of an account, "" for a reader without an account, to the handler without a connection. It
// returns the answer and its body.
func answer(t *testing.T, p *Page, user, path string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if user != "" {
		r.Header.Set("Authorization", "Bearer "+secret(user))
	}
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	return w.Result(), w.Body.String()
}

// listen serves a page on a listener until the test ends.
func listen(t *testing.T, p *Page, network, address string) net.Addr {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- p.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Errorf("the end of Serve: %v", err)
		}
	})
	return l.Addr()
}

// fetch sends a request over a new connection, and returns the HTTP status and the body of the answer.
func fetch(t *testing.T, at net.Addr, path string, header http.Header) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, at.Network(), at.String())
		}}}
	r, err := http.NewRequest(http.MethodGet, "http://jjm"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}
