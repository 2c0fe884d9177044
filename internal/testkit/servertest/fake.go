// Package servertest helps to test the server and its clients. It provides a fake of the daemon, which serves the verbs
// of jobs from memory without batch systems, and a server that serves verbs on its own socket. A test that needs other
// verbs creates them with package serve.
package servertest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"jjm/internal/api/serve"
	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Job is a grid job of the fake. Tests make it and change it.
type Job struct {
	// UID is the owner. -1 means that no account may see it, not even an administrator.
	UID    int
	Status wire.Status
	Locals []jjm.LocalJob
	// Tar is the tar of the outputs. Files maps names such as "N/stdout" to the files that "cat" returns.
	Tar    []byte
	SHA256 string
	Files  map[string]string
	Record []string
	Log    []string
	// Live means that followed files can grow: their text is read again at every poll.
	Live bool
}

// Fake holds grid jobs in memory. It rejects a job file that contains the text "bad" with two problems. The line "jobs
// = N" of a job file sets the number of local jobs.
type Fake struct {
	mu      sync.Mutex
	jobs    map[jjm.GridID]*Job
	handles map[jjm.Handle]jjm.GridID
	refused map[jjm.Handle]string
	changed chan struct{}
	// Version is the answer of "ping". Poll is the time between two reads of a followed file. Both must be set before
	// Verbs is called.
	Version string
	Poll    time.Duration
	// Hook, if set, is called at the start of every verb except "ping". It may block, panic
	// or return an error.
	Hook func(ctx context.Context, verb string) error
}

// New returns a fake without jobs.
func New() *Fake {
	return &Fake{jobs: make(map[jjm.GridID]*Job), handles: make(map[jjm.Handle]jjm.GridID),
		refused: make(map[jjm.Handle]string), changed: make(chan struct{}), Poll: time.Millisecond}
}

// Verbs returns the verbs about jobs that the daemon's socket offers.
func (f *Fake) Verbs() []serve.Verb {
	all := []serve.Verb{
		serve.Handle(wire.VerbPing(), serve.Anyone, func(context.Context, server.Caller, wire.PingRequest) (
			wire.PingAnswer, error) {
			return wire.PingAnswer{Version: f.Version}, nil
		}),
		serve.Handle(wire.VerbSubmit(), serve.Anyone, f.submitVerb),
		serve.Handle(wire.VerbLookup(), serve.Owners, f.Lookup),
		serve.Handle(wire.VerbKill(), serve.Owners, f.Kill),
		serve.Handle(wire.VerbSelect(), serve.Owners, f.Select),
		serve.Handle(wire.VerbStatus(), serve.Owners, f.Status),
		serve.Handle(wire.VerbList(), serve.Owners, f.listVerb),
		serve.HandleStream(wire.VerbWait(), serve.Owners, f.Wait),
		serve.Handle(wire.VerbRecord(), serve.Owners, f.Record),
		serve.HandleStream(wire.VerbOutput(), serve.Owners, f.Output).Finishing(),
		serve.HandleStream(wire.VerbCat(), serve.Owners, f.Cat),
		serve.Handle(wire.VerbLog(), serve.Owners, f.Log),
	}
	for i := range all {
		all[i] = all[i].Resolving(f.Resolve)
	}
	return all
}

// Put stores a job under its Status.Lookup.ID.
func (f *Fake) Put(j Job) {
	f.Change(j.Status.Lookup.ID, func(old *Job) { *old = j })
}

// Change changes a job and wakes the watchers. If the job does not exist, Change creates it.
func (f *Fake) Change(id jjm.GridID, change func(*Job)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.jobs[id] == nil {
		f.jobs[id] = &Job{}
	}
	change(f.jobs[id])
	close(f.changed)
	f.changed = make(chan struct{})
}

// Jobs returns the number of jobs.
func (f *Fake) Jobs() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.jobs)
}

func (f *Fake) hook(ctx context.Context, verb string) error {
	if f.Hook == nil {
		return nil
	}
	return f.Hook(ctx, verb)
}

// Use calls the hook, and then do with the job. do may change the job. Use returns the hook's error, or an error if the
// caller may not see the job.
func (f *Fake) Use(ctx context.Context, verb string, c server.Caller, id jjm.GridID, do func(*Job)) error {
	if err := f.hook(ctx, verb); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	j, err := f.get(c, id)
	if err == nil {
		do(j)
	}
	return err
}

// get returns a job if the caller may see it. The caller must hold f.mu.
func (f *Fake) get(c server.Caller, id jjm.GridID) (*Job, error) {
	j := f.jobs[id]
	if j == nil {
		return nil, jjm.Errorf(jjm.Gone, "no grid job %v", id)
	}
	if c.UID != j.UID && (!c.Admin || j.UID < 0) {
		return nil, jjm.Errorf(jjm.Denied, "grid job %v belongs to another account than %s", id, c.User)
	}
	return j, nil
}

func (f *Fake) submitVerb(ctx context.Context, c server.Caller, r wire.SubmitRequest) (wire.SubmitAnswer, error) {
	made, err := f.Submit(ctx, c, *r.Submit)
	return wire.SubmitAnswer{Submit: &made}, err
}

// Submit stores a job in status registered.
func (f *Fake) Submit(ctx context.Context, c server.Caller, s wire.Submit) (wire.Submitted, error) {
	if err := f.hook(ctx, "submit"); err != nil {
		return wire.Submitted{}, err
	}
	if strings.Contains(s.Text, "bad") {
		return wire.Submitted{}, jjm.Problems{
			{Where: s.Name + ":1", Field: "type", Text: "unknown job type \"bad\": this site knows script"},
			{Where: s.Name + ":2", Field: "params.events", Text: "want a number above 0"},
		}.Err()
	}
	n := 1
	for line := range strings.Lines(s.Text) {
		_, _ = fmt.Sscanf(line, "jobs = %d", &n)
	}
	if s.DryRun {
		return wire.Submitted{Plan: &wire.Plan{Type: "script", Cluster: "local", Splitter: "rows", Jobs: n,
			Why:      []string{fmt.Sprintf("jobs = %d asks for %d local jobs", n, n)},
			Parts:    []jjm.Part{{Unit: jjm.UnitRow, Count: 1, Serial: 1}},
			Commands: [][]string{{"./run.sh", "a b"}}}}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	h := jjm.HandleOf(c.UID, s.Key)
	if s.Key == "" {
		h = ""
	}
	if id, ok := f.handles[h]; ok && h != "" {
		return wire.Submitted{ID: id, Handle: h, Existed: true}, nil
	}
	id := jjm.GridID(len(f.jobs) + 1)
	f.jobs[id] = &Job{UID: c.UID, Status: wire.Status{Name: s.Name, Type: "script", Owner: c.User, Key: s.Key,
		Lookup: wire.Lookup{ID: id, Status: jjm.Registered.String(), GRAM: jjm.GRAMUnsubmitted, Master: "submitted",
			Counts: wire.Counts{Expected: n}}}}
	f.handles[h] = id
	return wire.Submitted{ID: id, Handle: h}, nil
}

// Refuse makes Resolve return the error [wire.Refused] with this reason for the handle.
func (f *Fake) Refuse(h jjm.Handle, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused[h] = reason
}

// Resolve returns the id of the job with a handle, or the refusal that Refuse set for the handle.
func (f *Fake) Resolve(ctx context.Context, c server.Caller, h jjm.Handle) (jjm.GridID, error) {
	if err := f.hook(ctx, "resolve"); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if why, ok := f.refused[h]; ok {
		return 0, &wire.Refused{Reason: why}
	}
	id, ok := f.handles[h]
	if !ok {
		return 0, jjm.Errorf(jjm.Gone, "no grid job is known by %s", h)
	}
	return id, nil
}

// Lookup returns an answer for each reference.
func (f *Fake) Lookup(ctx context.Context, c server.Caller, r wire.LookupRequest) (wire.LookupAnswer, error) {
	hookErr := f.hook(ctx, "lookup")
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]wire.Lookup, len(r.Jobs))
	for i, ref := range r.Jobs {
		j, err := f.get(c, ref.Grid)
		if err == nil {
			err = hookErr
		}
		if err != nil {
			out[i] = wire.Lookup{ID: ref.Grid, Error: wire.ErrorOf(err)}
			continue
		}
		out[i] = j.Status.Lookup
	}
	return wire.LookupAnswer{Lookup: out}, nil
}

// Kill sets jobs that are not final to aborting. It changes nothing in a dry run or for references to local jobs.
func (f *Fake) Kill(ctx context.Context, c server.Caller, r wire.KillRequest) (wire.KillAnswer, error) {
	hookErr := f.hook(ctx, "kill")
	out := make([]wire.Killed, len(r.Jobs))
	for i, ref := range r.Jobs {
		out[i].Ref = ref.String()
		f.mu.Lock()
		j, err := f.get(c, ref.Grid)
		if err == nil {
			err = hookErr
		}
		out[i].Error = wire.ErrorOf(err)
		if err == nil {
			out[i].NoChange = final(j.Status)
		}
		f.mu.Unlock()
		if err == nil && !out[i].NoChange && !ref.Locals && !r.DryRun {
			f.Change(ref.Grid, func(j *Job) { j.Status.Lookup.Status = jjm.Aborting.String() })
		}
	}
	return wire.KillAnswer{Kill: out}, nil
}

func final(s wire.Status) bool {
	var st jjm.GridStatus
	return st.UnmarshalText([]byte(s.Lookup.Status)) == nil && st.Final()
}

// Status returns an answer for each reference: the job with the local jobs that the reference selects, or the error.
func (f *Fake) Status(ctx context.Context, c server.Caller, r wire.StatusRequest) (a wire.StatusAnswer, err error) {
	if err := f.hook(ctx, "status"); err != nil {
		return a, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ref := range r.Jobs {
		st, err := f.status(c, ref)
		if err != nil {
			st = wire.Status{Lookup: wire.Lookup{ID: ref.Grid, Error: wire.ErrorOf(err)}}
		}
		a.Status = append(a.Status, st)
	}
	return a, nil
}

// status returns the answer for one reference. The caller must hold f.mu.
func (f *Fake) status(c server.Caller, ref jjm.Ref) (wire.Status, error) {
	j, err := f.get(c, ref.Grid)
	if err != nil {
		return wire.Status{}, err
	}
	st := j.Status
	for _, l := range j.Locals {
		if ref.Has(l.ID.N) {
			st.Locals = append(st.Locals, l)
		}
	}
	if ref.Locals && ref.First == ref.Last && len(st.Locals) == 0 {
		return wire.Status{}, jjm.Errorf(jjm.Gone, "no local job %v", ref)
	}
	return st, nil
}

func (f *Fake) listVerb(ctx context.Context, c server.Caller, r wire.ListRequest) (wire.StatusAnswer, error) {
	var l wire.List
	if r.List != nil {
		l = *r.List
	}
	all, err := f.List(ctx, c, l)
	return wire.StatusAnswer{Status: all}, err
}

// List returns the jobs of all owners that l selects, newest first.
func (f *Fake) List(ctx context.Context, c server.Caller, l wire.List) ([]wire.Status, error) {
	if err := f.hook(ctx, "list"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []wire.Status
	for id, j := range f.jobs {
		switch {
		case !l.All && final(j.Status), l.Before != 0 && int64(id) >= l.Before,
			l.Status != "" && l.Status != j.Status.Lookup.Status,
			l.Type != "" && l.Type != j.Status.Type, l.Owner != "" && l.Owner != j.Status.Owner:
			continue
		}
		out = append(out, j.Status)
	}
	slices.SortFunc(out, func(a, b wire.Status) int { return int(b.Lookup.ID - a.Lookup.ID) })
	if l.Limit > 0 && len(out) > l.Limit {
		out = out[:l.Limit]
	}
	return out, nil
}

// Wait sends the jobs now and after every change, until all are final, ctx ends, or an error occurs.
func (f *Fake) Wait(ctx context.Context, c server.Caller, r wire.WaitRequest,
	out *serve.Stream[wire.StatusAnswer]) error {
	for {
		f.mu.Lock()
		changed := f.changed
		f.mu.Unlock()
		if err := f.hook(ctx, "wait"); err != nil {
			return err
		}
		st, err := f.Status(ctx, c, wire.StatusRequest{Many: r.Many})
		for i := range st.Status {
			if e := st.Status[i].Lookup.Error; e != nil && err == nil {
				err = e.Err()
			}
		}
		if err != nil {
			return err
		}
		if err := out.Line(st, false); err != nil {
			return err
		}
		if !slices.ContainsFunc(st.Status, func(s wire.Status) bool { return !final(s) }) {
			return out.Line(st, true)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// Record returns the lines of the record that contain Path.
func (f *Fake) Record(ctx context.Context, c server.Caller, r wire.RecordRequest) (a wire.RecordAnswer, err error) {
	err = f.Use(ctx, "record", c, r.Grid(), func(j *Job) {
		for _, line := range j.Record {
			if strings.Contains(line, r.Path) {
				a.Record = append(a.Record, line)
			}
		}
	})
	return a, err
}

// Output sends the tar. If the job is not final, the request must have partial set, and the size is not sent. If the
// request names a file, Output sends the file in Files["N/file"] instead.
func (f *Fake) Output(ctx context.Context, c server.Caller, r wire.OutputRequest,
	out *serve.Stream[wire.OutputAnswer]) error {
	tar, size, described, err := f.open(ctx, c, r.Job(), r.Wanted)
	if err != nil {
		return err
	}
	return serve.SendTar(ctx, out, r.Job(), tar, size, described)
}

func (f *Fake) open(ctx context.Context, c server.Caller, ref jjm.Ref, want wire.Wanted) (
	io.ReadCloser, int64, wire.Output, error) {
	id := ref.Grid
	if err := f.hook(ctx, "output"); err != nil {
		return nil, 0, wire.Output{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	j, err := f.get(c, id)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	if want.File != "" {
		text, ok := j.Files[path.Join(fmt.Sprint(ref.First), want.File)]
		switch {
		case !ok && j.Live:
			return nil, 0, wire.Output{}, jjm.Errorf(jjm.Conflict, "local job %v is running", ref)
		case !ok:
			return nil, 0, wire.Output{}, jjm.Errorf(jjm.Gone, "local job %v has no %s", ref, want.File)
		}
		out := wire.Output{Name: path.Base(want.File), SHA256: j.SHA256}
		return io.NopCloser(strings.NewReader(text)), int64(len(text)), out, nil
	}
	out := wire.Output{Name: fmt.Sprintf("jjm-%v.tar", id), SHA256: j.SHA256}
	size := int64(len(j.Tar))
	if !final(j.Status) {
		if !want.Partial {
			return nil, 0, wire.Output{}, jjm.Errorf(jjm.Conflict, "grid job %v is %s: its output is not complete",
				id, j.Status.Lookup.Status)
		}
		out.Partial, out.SHA256, size = true, "", -1
	}
	return io.NopCloser(strings.NewReader(string(j.Tar))), size, out, nil
}

// listFiles lists the files under Files["N/work/PATH"], by PATH.
func (f *Fake) listFiles(ctx context.Context, c server.Caller, ref jjm.Ref) (all []jjm.JobFile, more bool,
	err error) {
	if err := f.hook(ctx, "cat"); err != nil {
		return nil, false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.get(c, ref.Grid); err != nil {
		return nil, false, err
	}
	for _, name := range slices.Sorted(maps.Keys(f.jobs[ref.Grid].Files)) {
		if path, ok := strings.CutPrefix(name, fmt.Sprintf("%d/work/", ref.First)); ok {
			all = append(all, jjm.JobFile{Name: path, From: jjm.FromWork, Bytes: int64(len(f.jobs[ref.Grid].Files[name]))})
		}
	}
	return all, false, nil
}

// Cat sends a file of a job, or the list of its files.
func (f *Fake) Cat(ctx context.Context, c server.Caller, r wire.CatRequest, out *serve.Stream[wire.CatAnswer]) error {
	ref := r.Job()
	if !ref.One() {
		return jjm.Errorf(jjm.Invalid, "cat: id %q: want one local job, such as %v.0", r.Ref(), ref.Grid)
	}
	if r.List {
		files, more, err := f.listFiles(ctx, c, ref)
		if err != nil {
			return err
		}
		return out.Begin(wire.CatAnswer{Files: files, More: more})
	}
	return serve.SendFile(ctx, out, r, func() (io.ReadCloser, func() bool, error) {
		return f.file(ctx, c, ref, r.CatFile)
	}, f.Poll)
}

// file returns Files["N/file"], or Files["N/work/path"] for a path.
func (f *Fake) file(ctx context.Context, c server.Caller, ref jjm.Ref, file wire.CatFile) (io.ReadCloser, func() bool,
	error) {
	if err := f.hook(ctx, "cat"); err != nil {
		return nil, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.get(c, ref.Grid); err != nil {
		return nil, nil, err
	}
	name := path.Join(fmt.Sprint(ref.First), file.File)
	if file.Path != "" {
		name = path.Join(fmt.Sprint(ref.First), "work", file.Path)
	}
	live := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.jobs[ref.Grid].Live
	}
	if _, ok := f.jobs[ref.Grid].Files[name]; !ok {
		if !f.jobs[ref.Grid].Live {
			live = nil
		}
		return nil, live, jjm.Errorf(jjm.Gone, "local job %v has no %s", ref, file)
	}
	return &growing{fake: f, id: ref.Grid, name: name}, live, nil
}

// growing reads a file of the fake whose text a test may still extend.
type growing struct {
	fake *Fake
	id   jjm.GridID
	name string
	at   int
}

func (g *growing) Read(b []byte) (int, error) {
	g.fake.mu.Lock()
	defer g.fake.mu.Unlock()
	text := g.fake.jobs[g.id].Files[g.name]
	if g.at >= len(text) {
		return 0, io.EOF
	}
	n := copy(b, text[g.at:])
	g.at += n
	return n, nil
}

func (g *growing) Close() error { return nil }

// Log returns the log of the job.
func (f *Fake) Log(ctx context.Context, c server.Caller, r wire.LogRequest) (a wire.LogAnswer, err error) {
	err = f.Use(ctx, "log", c, r.Grid(), func(j *Job) { a.Log = slices.Clone(j.Log) })
	return a, err
}
