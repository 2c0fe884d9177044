package collector

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/publish/advertise"
)

// Deps are the dependencies of a publisher.
type Deps struct {
	// Facts returns the current facts. It is called often and must return without delay.
	Facts func() advertise.Facts
	// File is the path of the file where the publisher records the state of the ads; see wire.AdvertisedFile.
	File string
	Now  func() time.Time
	Log  *slog.Logger
	// Open returns a collector by its address; nil means a collector that uses HTCondor's commands.
	Open func(address string) Collector
}

// Publisher keeps the site's ad in all collectors. Goroutines may share it.
type Publisher struct {
	config  Config
	deps    Deps
	keepers []*keeper

	mu         sync.Mutex
	fileFailed bool // an error of the file was already logged
}

// New returns a publisher, which continues from the state that an earlier publisher recorded in Deps.File. New sends
// nothing.
func New(config Config, deps Deps) *Publisher {
	if deps.Open == nil {
		deps.Open = func(address string) Collector {
			return condor{cli: config.CLI, pool: address, timeout: config.Timeout.D()}
		}
	}
	p := &Publisher{config: config, deps: deps}
	facts := deps.Facts()
	before, err := readState(deps.File)
	if err != nil {
		deps.Log.Warn("an ad that an earlier daemon left is not withdrawn", "error", err)
	}
	for _, address := range config.Collectors {
		p.keepers = append(p.keepers, newKeeper(p,
			wire.AdCollector{Collector: address, Site: facts.Site, Instance: facts.Instance, State: wire.AdUnsent}))
	}
	for _, c := range leftovers(before, facts.Site, config.Collectors, jjm.At(deps.Now())) {
		p.keepers = append(p.keepers, newKeeper(p, c))
	}
	return p
}

// Run keeps the ads in the collectors until ctx ends. It then withdraws the ads, which takes at most
// Config.WithdrawTime.
func (p *Publisher) Run(ctx context.Context) {
	p.note()
	var wg sync.WaitGroup
	for _, k := range p.keepers {
		wg.Go(func() {
			if k.leftover {
				k.clear(ctx)
			} else {
				k.keep(ctx)
			}
		})
	}
	wg.Wait()
}

// Now sends the ad immediately. It returns after one attempt with each collector, or when ctx ends. Status returns the
// result.
func (p *Publisher) Now(ctx context.Context) {
	var tried []<-chan struct{}
	for _, k := range p.keepers {
		if !k.leftover {
			tried = append(tried, k.request())
		}
	}
	for _, done := range tried {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// Status returns the ad and its state in each collector.
func (p *Publisher) Status() wire.Advertised {
	facts := p.deps.Facts()
	a := wire.Advertised{
		Site: facts.Site, Instance: facts.Instance, State: facts.State(), Ad: facts.Ad().Text(),
		Collectors: []wire.AdCollector{}, AsOf: jjm.At(p.deps.Now()),
	}
	glue, err := facts.GLUE()
	if err != nil {
		p.deps.Log.Error("the GLUE 2.0 document cannot be written", "error", err)
	}
	a.GLUE = glue
	for _, k := range p.keepers {
		a.Collectors = append(a.Collectors, k.view())
	}
	return a
}

// Trouble returns a line for each collector that does not have the correct ad.
func (p *Publisher) Trouble() []string {
	var out []string
	for _, k := range p.keepers {
		if v := k.view(); v.Error != "" {
			out = append(out, v.Collector+" since "+v.Since.String()+": "+v.Error)
		}
	}
	return out
}

// note writes the state of the ads to the file.
func (p *Publisher) note() {
	p.mu.Lock() // the last writer has the newest state
	defer p.mu.Unlock()
	err := writeState(p.deps.File, p.Status())
	if err != nil && !p.fileFailed {
		p.deps.Log.Warn("the state of the site's ad cannot be written to its file: jjm goes on", "error", err)
	}
	p.fileFailed = err != nil
}
