// Package engine carries out what package plan decides: it wires the rooms, loads what
// is stored, and runs the loops.
//
// It is level-triggered: a loop looks at what is, asks plan what to do about
// it, and does one thing. Every loop can be stopped anywhere and started
// again, because an intent is stored before its effect (a bulk before its
// command, a kill before its signal), and because the effect is looked for
// before it is made again.
//
// Truth lies in package store. The engine keeps a row of every live local job
// in memory, loaded at the start and written through: a change is committed
// first and then applied to memory, which never shows what is not stored.
//
// What an account can hold up - its files, its helper, its commands - is done
// account by account, see package fair: who is slow waits alone.
//
// The floor, which every room stands on:
//
//	base      store, clock, log, settings, failpoints
//	state     what is true now, and the changes that make it so
//	endings   what was noticed about attempts that may be over
//	areas     the work areas, opened as their owners
//	fair      work done account by account
//	outputs   the names of what local jobs make
//	lineage   who made which file of what
//	jobtype   what job types say of a grid job
//	sweep     folders that nothing points to any more
//
// The rooms. None knows another: what one needs of others it says in an interface of
// its own, and package engine connects them.
//
//	gridjob   the life of a grid job: accepted, prepared, cut, collected
//	dataset   the datasets of accounts, and where their files come from
//	feed      local jobs made of datasets, merged, given back and made again
//	cluster   the batch systems: form, submit, settle, list, cancel, release
//	verdict   results are taken, attempts are judged
//	proof     was the work done exactly once?
//	record    the XML records
//	wish      kills and releases that people wish
//	site      orders, bans, room on the disks
//	intake    what was left in folders while the daemon was away
//	answer    what people and gatekeepers are told
package engine

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"jjm"
	"jjm/engine/answer"
	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/cluster"
	"jjm/engine/dataset"
	"jjm/engine/endings"
	"jjm/engine/feed"
	"jjm/engine/gridjob"
	"jjm/engine/intake"
	"jjm/engine/jobtype"
	"jjm/engine/lineage"
	"jjm/engine/proof"
	"jjm/engine/record"
	"jjm/engine/site"
	"jjm/engine/state"
	"jjm/engine/sweep"
	"jjm/engine/verdict"
	"jjm/engine/wish"
)

// What the engine works with, and its part of the configuration.
type (
	Deps          = base.Deps
	Folders       = base.Folders
	Accounts      = base.Accounts
	Cluster       = base.Cluster
	Config        = base.Config
	ClusterConfig = base.ClusterConfig
	Users         = areas.Users
)

// Defaults are the settings of a site that sets nothing.
func Defaults() Config { return base.Defaults() }

// Engine is the running heart of the daemon. Its methods may be called from many
// goroutines.
type Engine struct {
	base  *base.Base
	state *state.State
	areas *areas.Areas

	answers  *answer.Answers
	clusters *cluster.Clusters
	datasets *dataset.Datasets
	feeder   *feed.Feeder
	intake   *intake.Intake
	jobs     *gridjob.Jobs
	judge    *verdict.Judge
	prover   *proof.Prover
	records  *record.Publisher
	site     *site.Site
	wishes   *wish.Wishes
}

// New loads the live state. It starts nothing: Run does.
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

// build makes the rooms.
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
	e := &Engine{base: b, state: s, areas: as}
	e.clusters = cluster.New(s, as, ends)
	e.prover = proof.New(s, types, ln)
	e.datasets = dataset.New(s, as, types, ln, cfg.Workers, gridjob.StepPatience)
	e.feeder = feed.New(s, ln, e.prover)
	e.records = record.New(s, as, e.clusters.Waits)
	e.judge = verdict.New(s, as, ends, sw, e.clusters, e.records.Add)
	e.wishes = wish.New(s)
	e.site = site.New(s, as)
	e.jobs = gridjob.New(s, as, types, sw)
	e.intake = intake.New(s, intake.Rooms{Submit: e.jobs.Submit, Kill: e.wishes.Kill, AddFragment: e.records.Add})
	e.answers = answer.New(s, as, answer.Rooms{Jobs: e.jobs, Records: e.records, Clusters: e.clusters,
		Settle: e.intake.Settle})
	return e
}

// connect lets the rooms hear of one another's changes.
func (e *Engine) connect() {
	e.jobs.Connect(gridjob.Rooms{Clusters: e.clusters, Datasets: e.datasets, Feeder: e.feeder, Prover: e.prover,
		Records: e.records}, e.intake.Settle)
	e.state.WakeGrid, e.state.WakeSubmit = e.jobs.Wake, e.clusters.Wake
	e.state.Participants = e.transaction()
	e.state.Shown = []func(*state.Change, *state.Memo){e.feeder.TellReaders}
	e.state.Committed = []func(*state.Change){e.judge.WakeEndings, e.clusters.WakeReleases, e.site.JobsOver}
}

// load fills the memory, and has all looked at that was under way.
func (e *Engine) load(ctx context.Context) error {
	if err := e.state.Load(ctx); err != nil {
		return err
	}
	if err := e.site.LoadBans(ctx); err != nil {
		return err
	}
	e.judge.ResumeKills()
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

// Reconfigure takes over new settings; all but Workers apply at once.
func (e *Engine) Reconfigure(cfg Config) { e.base.Reconfigure(cfg) }

// Run drives all loops until ctx ends, then waits for them. Local jobs go on
// without it. The error is nil, or what stopped the engine.
func (e *Engine) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	e.base.Stopping(stop)
	var wg sync.WaitGroup
	for _, loop := range e.loops() {
		wg.Go(func() { loop(ctx) })
	}
	wg.Wait()
	e.areas.Close()
	if err := context.Cause(ctx); errors.Is(err, base.ErrCrashed) {
		return err
	}
	return nil
}

// loops are those of all rooms.
func (e *Engine) loops() []func(context.Context) {
	loops := e.clusters.Loops()
	loops = append(loops, e.judge.Loops()...)
	loops = append(loops, e.site.Loops()...)
	loops = append(loops, e.intake.Loops()...)
	return append(loops, e.records.Loop, e.jobs.Run, e.datasets.Run)
}
