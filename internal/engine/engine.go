// Package engine carries out the decisions of package plan: it connects its sub-packages, which are called rooms, loads
// the stored state, and runs the loops of the rooms. Packages plan and analyse decide, and package store keeps the
// facts. Only the engine writes to the memory and to the store.
//
// The loops are level-triggered: each loop looks at the present state, asks package plan what to do, and does one
// thing. A loop can be stopped at any point and started again, because it stores an intent before it causes the effect
// (a bulk before the submission command, a kill before the cancel command), and because it checks whether the effect
// already exists before it causes the effect again.
//
// The store is authoritative. The engine also keeps a row of every live local job in memory, which it loads at start.
// Each change is committed to the store first and then applied to the memory, so the memory never shows a change that
// is not stored.
//
// Work that an account can delay (reading its files, its helper process, its commands) is done separately for each
// account (package fair), so that a slow account delays only its own jobs.
//
// The rooms share these packages of the folder floor:
//
//	base      store, clock, log, settings, failpoints
//	state     live grid jobs and local jobs in memory, and all changes of memory and store
//	endings   observations about attempts that may have ended
//	areas     the work areas, opened as their owners
//	fair      work done account by account
//	outputs   the names of local jobs' output files
//	lineage   which files were made from which
//	jobtype   asks job types about a grid job, with the rights of its owner
//	sweep     removes folders of bulks to which no row points any longer
//	remote    inputs that lie on servers, fetched for their owners
//	choice    the jobs that patterns and filters select
//	dependency  grid jobs that begin after other grid jobs have ended
//
// These are the rooms. No room imports another room. A room declares what it needs of other rooms as an interface, and
// package engine passes the room that implements the interface.
//
//	gridjob   the life of a grid job: accepted, prepared, cut, collected
//	dataset   the datasets of accounts, and where their files come from
//	feed      makes local jobs from datasets; merges, give-backs and retracted outputs
//	cluster   the batch systems: forms bulks, submits, reconciles, lists, cancels, releases
//	verdict   reads results, and judges how attempts ended
//	proof     proves that the work was done exactly once
//	record    the XML records
//	request   what people request of local jobs: kill, hold, release, force
//	site      orders, bans, free disk space
//	exclusion hosts that administrators keep jobs off
//	intake    requests and fragments left in folders while the daemon was down
//	reopen    grid jobs that are over and begin another generation
//	removal   grid jobs that are over and are removed
//	answer    answers to people and gatekeepers
package engine

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"

	"jjm/internal/engine/answer"
	"jjm/internal/engine/cluster"
	"jjm/internal/engine/dataset"
	"jjm/internal/engine/exclusion"
	"jjm/internal/engine/feed"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/choice"
	"jjm/internal/engine/floor/dependency"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/engine/floor/jobtype"
	"jjm/internal/engine/floor/lineage"
	"jjm/internal/engine/floor/remote"
	"jjm/internal/engine/floor/state"
	"jjm/internal/engine/floor/sweep"
	"jjm/internal/engine/gridjob"
	"jjm/internal/engine/intake"
	"jjm/internal/engine/proof"
	"jjm/internal/engine/record"
	"jjm/internal/engine/removal"
	"jjm/internal/engine/reopen"
	"jjm/internal/engine/request"
	"jjm/internal/engine/site"
	"jjm/internal/engine/verdict"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
	"jjm/internal/sys/fetch"
)

// These types are used in the arguments of New and of the methods of Engine; they are declared in package base and
// other packages of the engine.
type (
	Deps          = base.Deps
	Folders       = base.Folders
	Accounts      = base.Accounts
	SiteFiles     = base.SiteFiles
	Cluster       = base.Cluster
	Config        = base.Config
	ClusterConfig = base.ClusterConfig
	Users         = areas.Users
	Around        = health.Around // an argument of Health
)

// Defaults returns the settings of a site that sets nothing.
func Defaults() Config { return base.Defaults() }

// Engine connects all packages of the engine. Its methods carry out the requests on the daemon's socket, and may be
// called from many goroutines.
type Engine struct {
	state *state.State
	areas *areas.Areas

	asked
	clusters *cluster.Clusters
	datasets *dataset.Datasets
	feeder   *feed.Feeder
	intake   *intake.Intake
	jobs     *gridjob.Jobs
	judge    *verdict.Judge
	prover   *proof.Prover
	records  *record.Publisher
	ordered
	requests *request.Requests
	ahead
	ended
}

// ordered holds the rooms that keep what administrators allow.
type ordered struct {
	site       *site.Site
	exclusions *exclusion.Exclusions
}

// asked holds the parts of Engine that carry out requests.
type asked struct {
	answers         *answer.Answers
	chooser         *choice.Chooser
	*answer.Reasons // the verb why
	*answer.Checkup // the verb health
	*answer.Meter   // counts for metrics
}

// ahead holds the parts of Engine that delay grid jobs before they begin: inputs to be fetched from servers, and other
// grid jobs that must end first.
type ahead struct {
	remote       *remote.Inputs
	dependencies *dependency.Dependencies
}

// ended holds the rooms that work on ended grid jobs.
type ended struct {
	reopener *reopen.Reopener
	remover  *removal.Remover
}

// New makes the engine and loads the live state from the store. The loops do not run until Run is called. The error is
// of kind Invalid if deps has no cluster or a relative work folder.
func New(ctx context.Context, cfg Config, deps Deps) (*Engine, error) {
	if len(deps.Clusters) == 0 {
		return nil, jjm.Errorf(jjm.Invalid, "engine: no cluster configured")
	}
	if !filepath.IsAbs(deps.Work) {
		return nil, jjm.Errorf(jjm.Invalid, "engine: work folder %q is not absolute", deps.Work)
	}
	e := build(cfg, deps)
	e.connect()
	if err := e.load(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// build makes the rooms. A room that another room needs is made first; connect passes the rooms that are made too late
// for this.
func build(cfg Config, deps Deps) *Engine {
	var names []string
	for _, c := range deps.Clusters {
		names = append(names, c.Adapter.Name())
	}
	b := base.New(cfg, deps)
	s := state.New(b, names)
	as := areas.New(deps.Work, deps.Wrapper, deps.Users)
	ends := endings.New(s.Accounts.Of)
	types, ln, sw := jobtype.New(s, as), lineage.New(b), sweep.New(s, as)
	e := &Engine{state: s, areas: as, asked: asked{chooser: choice.New(s)}}
	e.clusters = cluster.New(s, as, sw, ln, ends)
	e.Meter = answer.NewMeter(s)
	e.prover = proof.New(s, types, ln)
	e.datasets = dataset.New(s, as, types, ln, cfg.Workers, gridjob.StepPatience)
	e.feeder = feed.New(s, ln, e.prover)
	e.records = record.New(s, as, e.clusters.Waits)
	e.judge = verdict.New(s, as, ends, sw, ln, e.clusters, e.records.Add)
	e.requests = request.New(s, cluster.Halting(e.clusters), cluster.Leaving(e.clusters))
	e.reopener = reopen.New(s, reopen.Rooms{Feeder: e.feeder, Divider: e.feeder, Prover: e.prover,
		Clusters: e.clusters, Types: types})
	e.remover = removal.New(s, as)
	e.exclusions = exclusion.New(s)
	e.site = site.New(s, as, e.clusters.Shut, cluster.Halting(e.clusters), e.records.Mend)
	e.remote = remote.New(s, as, func(owner jjm.Owner, base, path string) (io.ReadCloser, error) {
		return types.Site(owner, base).Open(path)
	})
	e.dependencies = dependency.New(s)
	e.jobs = gridjob.New(s, as, types, sw, e.remote, e.dependencies)
	e.intake = intake.New(s, intake.Rooms{Submit: e.jobs.Submit, Kill: e.requests.Kill, AddFragment: e.records.Add})
	e.Reasons = answer.NewReasons(s, cluster.NewCauses(e.clusters))
	e.answers = answer.New(s, as, ln, answer.Rooms{Jobs: e.jobs, Records: e.records, Clusters: e.clusters,
		Settle: e.intake.Settle, Told: e.remover.Told})
	e.Checkup = answer.NewCheckup(e.answers, answer.Watched{Disks: e.site.Disks, Unpublished: e.records.Unpublished,
		Fragments: e.intake.Fragments, Unjudged: e.judge.Unjudged,
		Excluded: e.exclusions.InForce})
	return e
}

// connect passes to each room the later rooms that it needs, and registers the functions that
// changes call.
func (e *Engine) connect() {
	e.jobs.Connect(gridjob.Rooms{Clusters: e.clusters, Datasets: e.datasets, Feeder: e.feeder, Prover: e.prover,
		Records: e.records}, e.intake.Settle, answer.NewReports(e.answers).Page, e.reopener)
	e.state.WakeGrid, e.state.WakeSubmit = e.jobs.Wake, e.clusters.Wake
	e.state.Participants = e.transaction()
	e.state.Shown = []func(*state.Change, *state.Memo){e.feeder.TellReaders}
	e.state.Committed = []func(*state.Change){e.judge.WakeEndings, e.clusters.WakeReleases, e.site.JobsOver,
		e.dependencies.Changed, e.Meter.Count, e.remover.Ordered}
}

// load loads the memory from the store, and wakes the loops for all work that was in progress when the daemon stopped.
func (e *Engine) load(ctx context.Context) error {
	if err := e.state.Load(ctx); err != nil {
		return err
	}
	if err := e.site.LoadBans(ctx); err != nil {
		return err
	}
	if err := e.datasets.Resume(ctx); err != nil {
		return err
	}
	e.judge.ResumeKills()
	e.clusters.WarnRemoved()
	e.clusters.RecallAccounts()
	e.records.ResumeRecords()
	v := e.state.View()
	defer v.Close()
	for id, g := range v.Grids() {
		e.jobs.Wake(id)
		e.datasets.KickSources(&g.Job)
	}
	return nil
}

// Reconfigure replaces the settings. All but Workers, which New reads, apply immediately.
func (e *Engine) Reconfigure(cfg Config) { e.state.B.Reconfigure(cfg) }

// Run runs all loops until ctx ends, and then waits for the loops to return. Local jobs in batch systems continue after
// that. The error is nil, or wraps base.ErrCrashed if a failpoint of a test stopped the engine.
func (e *Engine) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	e.state.B.Stopping(stop)
	var wg sync.WaitGroup
	for _, loop := range loops(e) {
		wg.Go(func() { loop(ctx) })
	}
	wg.Wait()
	e.areas.Close()
	if err := context.Cause(ctx); errors.Is(err, base.ErrCrashed) {
		return err
	}
	return nil
}

// loops returns the loops of all rooms.
func loops(e *Engine) []func(context.Context) {
	all := e.clusters.Loops()
	all = append(all, e.judge.Loops()...)
	all = append(all, e.site.Loops()...)
	all = append(all, e.intake.Loops()...)
	all = append(all, e.remover.Loops()...)
	return append(all, e.exclusions.Loop, e.records.Loop, e.records.MendLoop, e.reopener.Loop, e.jobs.Run, e.datasets.Run,
		e.remote.Run)
}

// Call sends an event to the server of a grid job's callback, with the rights of the grid job's owner. An error means
// that something on this host failed; a failure of the server, or a secret file that the owner cannot read, is in the
// report.
func (e *Engine) Call(ctx context.Context, job *jjm.GridJob, key string, body []byte) (fetch.Report, error) {
	return e.remote.Call(ctx, job, key, body)
}
