package engine

import (
	"context"
	"slices"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/answer"
	"jjm/internal/engine/cluster"
	"jjm/internal/engine/dataset"
	"jjm/internal/engine/exclusion"
	"jjm/internal/engine/floor/choice"
	"jjm/internal/engine/gridjob"
	"jjm/internal/engine/proof"
	"jjm/internal/engine/removal"
	"jjm/internal/engine/reopen"
	"jjm/internal/engine/request"
	"jjm/internal/engine/site"
	"jjm/internal/jjm"
)

// Verbs returns the verbs of the daemon's socket that the rooms carry out.
func (e *Engine) Verbs() []serve.Verb {
	all := slices.Concat(gridjob.Verbs(e.jobs), request.Verbs(e.requests), reopen.Verbs(e.reopener),
		removal.Verbs(e.remover), choice.Verbs(e.chooser), answer.Verbs(e.answers, e.Reasons), site.Verbs(e.site),
		exclusion.Verbs(e.exclusions), cluster.Verbs(e.clusters), dataset.Verbs(e.datasets), proof.Verbs(e.prover))
	for i := range all {
		all[i] = all[i].Resolving(e.answers.Resolve)
	}
	return all
}

// JobTypes returns the job types with their documentation.
func (e *Engine) JobTypes() []wire.JobType { return e.answers.Types() }

// Clusters returns the state of the batch systems as a caller may see it.
func (e *Engine) Clusters(ctx context.Context, caller wire.Caller) []wire.Cluster {
	return e.answers.Clusters(ctx, caller)
}

// Orders returns the orders in force that a caller may see.
func (e *Engine) Orders(caller wire.Caller) []jjm.Order { return e.site.Orders(caller) }

// Low returns why no new work is accepted, for people: a part of the site is lost, or a file
// system lacks space; else "".
func (e *Engine) Low() string { return e.state.Low() }

// Waiting returns the number of local jobs that wait to be submitted.
func (e *Engine) Waiting() int { return e.clusters.Waiting() }

// TakeIn carries out the first of the requests that gatekeepers left in the spool while the daemon was down. The engine
// carries out the remaining requests while it runs.
func (e *Engine) TakeIn(ctx context.Context) { e.intake.TakeIn(ctx) }
