package answer

import (
	"context"
	"sync"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
	"jjm/internal/storage/spool"
)

// Watched holds functions that return facts which other rooms observe.
type Watched struct {
	Disks       func() health.Disks
	Unpublished func() health.Records
	Fragments   func() (n int, oldest jjm.Time)
	Unjudged    func() health.Unjudged
	Excluded    func() []jjm.Exclusion
}

// Checkup checks the health of the site. Its methods may be called from many goroutines.
type Checkup struct {
	an      *Answers
	watched Watched
	started jjm.Time
	spool   spoolCount
}

// NewCheckup returns a Checkup.
func NewCheckup(an *Answers, w Watched) *Checkup {
	return &Checkup{an: an, watched: w, started: jjm.At(an.b.Now())}
}

// Health returns all checks of the site as a caller may see them.
func (ch *Checkup) Health(ctx context.Context, caller wire.Caller, around health.Around) *wire.Health {
	f := ch.Facts(ctx, caller, around)
	return &wire.Health{At: f.Now, Checks: health.Checks(f)}
}

// Facts returns the facts about the site as a caller may see them: only administrators see the bans, and the errors of
// records and results, which name grid jobs of others.
func (ch *Checkup) Facts(ctx context.Context, caller wire.Caller, around health.Around) health.Facts {
	b := ch.an.b
	now := jjm.At(b.Now())
	f := health.Facts{Now: now, Started: ch.started, Around: around, Clusters: ch.an.Clusters(ctx, caller),
		Refuses: ch.an.s.Low(), Disks: ch.watched.Disks(), Records: ch.watched.Unpublished(),
		Store: ch.storeSize(ctx), Spool: ch.spool.at(b.Deps.SpoolDir, b.Now()), Notices: ch.notices(ctx, now),
		Unjudged: ch.watched.Unjudged(), Excluded: ch.watched.Excluded()}
	f.Records.Fragments, f.Records.Oldest = ch.watched.Fragments()
	for _, off := range b.Deps.Types.AllOff(b.Deps.Off...) {
		f.Off = append(f.Off, health.Off{Type: off.Type, Why: off.Short(), Remedy: off.Remedy()})
	}
	if caller.Admin {
		v := ch.an.s.View()
		f.Bans = append(f.Bans, v.Bans()...)
		v.Close()
	} else {
		f.Records.Error, f.Unjudged.Error = "", ""
	}
	return f
}

// notices returns the facts about notices that are not delivered.
func (ch *Checkup) notices(ctx context.Context, now jjm.Time) health.Notices {
	u, err := ch.an.b.Store.Untold(ctx, now.Add(-health.GivenUpFor))
	if err != nil {
		return health.Notices{Error: err.Error()}
	}
	return health.Notices{Waiting: u.Waiting, Oldest: u.Oldest, GivenUp: u.GivenUp, Last: u.Last}
}

func (ch *Checkup) storeSize(ctx context.Context) health.Store {
	size, err := ch.an.b.Store.Size(ctx)
	if err != nil {
		return health.Store{Error: err.Error()}
	}
	return health.Store{File: size.File, WAL: size.WAL, Schema: ch.an.b.Store.Schema()}
}

const (
	// spoolEvery is how long a count of the spool is reused. Every account may request counts, so without a limit the
	// requests could keep the daemon busy.
	spoolEvery = 5 * time.Second
	// spoolMost is the greatest number of entries that are counted.
	spoolMost = 20_000
)

// spoolCount counts the entries of the spool, and keeps the last count for spoolEvery.
type spoolCount struct {
	mu   sync.Mutex
	last health.Spool
	when time.Time
}

func (c *spoolCount) at(dir string, now time.Time) health.Spool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if dir == "" || !c.when.IsZero() && now.Sub(c.when).Abs() < spoolEvery {
		return c.last
	}
	w, err := spool.Count(dir, 0, spoolMost)
	c.last, c.when = health.Spool{Entries: w.Entries, More: w.More, Oldest: jjm.At(w.Oldest)}, now
	if err != nil {
		c.last.Error = err.Error()
	}
	return c.last
}
