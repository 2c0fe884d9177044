package web

import (
	"context"
	"sync"
	"time"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/policy/health"
)

const (
	// healthAge is the time for which the checks of the site are kept, because they look at file systems. healthTime is
	// the longest wait for the checks.
	healthAge  = 30 * time.Second
	healthTime = 5 * time.Second
)

// checks are the last checks of the site, as an administrator sees them.
type checks struct {
	mu    sync.Mutex
	until time.Time
	last  siteHealth
}

// siteHealth are the checks of the site that are not OK, the worst first, and the number of the others.
type siteHealth struct {
	Bad  []wire.HealthCheck
	Well int
}

// health returns the checks of the site, at most healthAge old. An error is itself a check that is not OK.
func (p *Page) health(ctx context.Context, v viewer) siteHealth {
	p.checks.mu.Lock()
	defer p.checks.mu.Unlock()
	now := p.d.Now()
	if now.Before(p.checks.until) {
		return p.checks.last
	}
	// The outcome is for all administrators, so it must not end with the request of one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTime)
	defer cancel()
	a, err := serve.Ask(ctx, p.d.Verbs, wire.VerbHealth(), v.Caller, wire.HealthRequest{})
	out := siteHealth{}
	if err != nil {
		out.Bad = []wire.HealthCheck{{State: health.Unknown, Name: "health", Text: err.Error()}}
		a.Health = &wire.Health{}
	}
	for _, c := range a.Health.Checks {
		if c.State == health.OK {
			out.Well++
			continue
		}
		out.Bad = append(out.Bad, c)
	}
	p.checks.last, p.checks.until = out, now.Add(healthAge)
	return out
}
