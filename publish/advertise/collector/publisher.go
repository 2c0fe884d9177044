package collector

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"jjm"
	"jjm/publish/advertise"
	"jjm/wire"
)

// Deps are what a publisher works with.
type Deps struct {
	// Facts returns what there is to tell. It is called often and returns at once.
	Facts func() advertise.Facts
	// File is where the publisher notes what it published; see wire.AdvertisedFile.
	File string
	Now  func() time.Time
	Log  *slog.Logger
	// Open returns a collector by its address; nil = HTCondor's commands.
	Open func(address string) Collector
}

// Publisher keeps the site's ad in all its collectors. Its methods may be called
// from many goroutines.
type Publisher struct {
	config  Config
	deps    Deps
	keepers []*keeper

	mu    sync.Mutex
	noted bool // trouble with the file was logged
}

// New makes a publisher, which takes up what an earlier one noted in Deps.File. It
// sends nothing.
func New(config Config, deps Deps) *Publisher {
	if deps.Open == nil {
		deps.Open = func(address string) Collector {
			return condor{cli: config.CLI, pool: address, timeout: config.Timeout.D()}
		}
	}
	p := &Publisher{config: config, deps: deps}
	facts := deps.Facts()
	before, err := recall(deps.File)
	if err != nil {
		deps.Log.Warn("an ad that an earlier daemon left is not withdrawn", "error", err)
	}
	for _, address := range config.Collectors {
		p.keepers = append(p.keepers, newKeeper(p,
			wire.AdCollector{Collector: address, Site: facts.Site, Instance: facts.Instance, State: wire.AdUnsent}))
	}
	for _, c := range left(before, facts.Site, config.Collectors, jjm.At(deps.Now())) {
		p.keepers = append(p.keepers, newKeeper(p, c))
	}
	return p
}

// Run keeps the ads where they belong until ctx ends; then it withdraws them, for
// at most Config.WithdrawTime and the end of a command.
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

// Now sends the ad at once and returns when all collectors have been tried, or
// ctx ends. Status tells what came of it.
func (p *Publisher) Now(ctx context.Context) {
	var tried []<-chan struct{}
	for _, k := range p.keepers {
		if !k.leftover {
			tried = append(tried, k.ask())
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

// Status tells what the site says of itself, and where it stands.
func (p *Publisher) Status() wire.Advertised {
	facts := p.deps.Facts()
	a := wire.Advertised{
		Site: facts.Site, Instance: facts.Instance, State: facts.State(), Ad: facts.Ad().Text(),
		Collectors: []wire.AdCollector{}, AsOf: jjm.At(p.deps.Now()),
	}
	glue, err := facts.GLUE()
	if err != nil {
		p.deps.Log.Error("the document of GLUE 2.0 cannot be written", "error", err)
	}
	a.GLUE = glue
	for _, k := range p.keepers {
		a.Collectors = append(a.Collectors, k.view())
	}
	return a
}

// Trouble tells in a line each which collectors do not have the ad as it should
// be.
func (p *Publisher) Trouble() []string {
	var out []string
	for _, k := range p.keepers {
		if v := k.view(); v.Error != "" {
			out = append(out, v.Collector+" since "+v.Since.String()+": "+v.Error)
		}
	}
	return out
}

// note writes down where ads may lie.
func (p *Publisher) note() {
	p.mu.Lock() // the last to write knows best
	defer p.mu.Unlock()
	err := remember(p.deps.File, p.Status())
	if err != nil && !p.noted {
		p.deps.Log.Warn("what is advertised is not noted down; jjm works on", "error", err)
	}
	p.noted = err != nil
}
