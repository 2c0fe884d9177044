package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/publish/web"
	"jjm/xmldb/head"
)

// The targets for accepting grid jobs.
const (
	acceptMS = 50
	madeMS   = 6000
)

// Accepted holds the cost of accepting one grid job.
type Accepted struct {
	// SubmitMS is the time until the caller has the id. MadeMS is the time from then until all local jobs are cut,
	// stored, and in the record on the disk.
	SubmitMS, MadeMS float64
	CPUMS            float64 // for submitting the grid job and making its local jobs
	PeakMB           float64
}

// Accept submits a grid job of n local jobs and waits until the record has all of them. Meanwhile the engine also
// submits local jobs to the batch system.
func (s *Site) Accept(n int, a *Accepted) error {
	return try(func() {
		began, cpu, playing := time.Now(), processCPU(), s.player.spent()
		id := s.submit(n)
		a.SubmitMS = ms(time.Since(began))
		began = time.Now()
		dir := filepath.Join(s.args.Dir, "records")
		var seen time.Time
		s.until("the whole record", func() bool {
			info := must(os.Stat(head.Path(dir, id)))
			if info.ModTime().Equal(seen) {
				return false
			}
			seen = info.ModTime()
			h := must(head.Read(dir, id))
			// The head is written after the shards that it counts.
			shards := must(filepath.Glob(filepath.Join(dir, id.String(), "jobs-*.xml")))
			return h.Jobs == n && h.Grid.Step.Closed && len(shards) == (n+999)/1000
		})
		a.MadeMS, a.CPUMS = ms(time.Since(began)), ms(processCPU()-cpu-(s.player.spent()-playing))
		a.PeakMB = peakMB("self")
	})
}

// accept measures the acceptance of small and of large grid jobs.
func accept(b *bench) {
	s := series{}
	for range b.size.rounds {
		b.onSite(SiteArgs{Idle: true}, func(on site) { acceptOn(on.Client, b.size.live, s) })
	}
	b.target("10 local jobs, until the id", s.median("small"), "ms", acceptMS)
	jobs := quantity(float64(b.size.live), "local jobs, ")
	b.target(jobs+" until the id", s.median("large"), "ms", acceptMS)
	b.target(jobs+" then until all are cut, stored and published", s.median("made"), "ms", madeMS)
	b.tell(jobs+" CPU of both and of their submission", s.median("cpu"), "ms")
	b.tell(jobs+" peak memory", s.median("peak"), "MB")
}

// acceptOn adds the figures of one site.
func acceptOn(c *rpc.Client, live int, s series) {
	for range 5 {
		s.add("small", ask[Accepted](c, "Site.Accept", 10).SubmitMS)
	}
	a := ask[Accepted](c, "Site.Accept", live)
	s.add("large", a.SubmitMS)
	s.add("made", a.MadeMS)
	s.add("cpu", a.CPUMS)
	s.add("peak", a.PeakMB)
}

// The targets of a gatekeeper's lookup.
const (
	lookupCPU  = 2.5 // limit for the CPU time, as a multiple of a program that only parses flags
	lookupP99  = 20  // ms
	recordWall = 100 // ms
)

// lookup measures a lookup with jjm-gatekeeper, which gatekeepers use, and for comparison a lookup with jjm, which
// people use. Then it measures a lookup that is answered from the record because no daemon runs.
func lookup(b *bench) {
	flags := b.build("jjm/test/bench/flagonly")
	b.onFilledSite(b.size.live, 0, func(on site) {
		s := series{}
		for range b.size.execs {
			e := b.lookUp(on)
			s.add("wall", e.wall)
			s.add("cpu", e.cpu)
			s.add("flags", b.exec(on.dir, flags, on.grid.String()).cpu)
			s.add("people", b.exec(on.dir, filepath.Join(b.bin, "jjm"), "lookup", on.grid.String()).cpu)
		}
		b.beside("jjm-gatekeeper core lookup, CPU, median", s.median("cpu"), "ms",
			"a program that only parses the flags", s.median("flags"), lookupCPU)
		b.tell("jjm lookup (for people), CPU, median", s.median("people"), "ms")
		live := fmt.Sprintf("jjm-gatekeeper core lookup, %d live", b.size.live)
		b.tell(live+", wall, median", s.median("wall"), "ms")
		b.target(live+", wall, 99 %", s.quantile("wall", 0.99), "ms", lookupP99)

		ask[int](on.Client, "Site.Stop", 0)
		for range b.size.execs {
			s.add("down", b.lookUp(on).wall)
		}
		b.tell("no daemon: from the record, wall, median", s.median("down"), "ms")
		b.target("no daemon: from the record, wall, 99 %", s.quantile("down", 0.99), "ms", recordWall)
	})
}

// lookUp looks up the large grid job once, with the command that scripts of gatekeepers run.
func (b *bench) lookUp(on site) cost {
	return b.exec(on.dir, filepath.Join(b.bin, "jjm-gatekeeper"), "core", "lookup", on.grid.String())
}

// exec runs a program once, for the daemon with this state folder.
func (b *bench) exec(state string, argv ...string) cost {
	cmd := exec.CommandContext(b.ctx, argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + state, "JJM_STATE=" + state}
	_, c := spend(cmd)
	return c
}

// build builds a program of this module for comparison, with the options of "make build", and returns its path.
func (b *bench) build(pkg string) string {
	path := filepath.Join(b.dir, filepath.Base(pkg))
	cmd := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	spend(cmd)
	return path
}

// The targets of the page of a grid job with 100 000 local jobs.
const (
	pageWall = 300 // ms
	pageSize = 2   // MB
)

// Pages holds the times and the greatest size of answers of the web page.
type Pages struct {
	WallMS []float64
	Bytes  int64
}

// Page serves the web page on the loopback interface, and reads the page of the large grid job rounds times.
func (s *Site) Page(rounds int, got *Pages) error {
	return try(func() {
		token, tokens := strings.Repeat("t", 32), filepath.Join(s.args.Dir, "tokens")
		check(os.WriteFile(tokens, []byte(owner+" "+token+"\n"), 0o600))
		l := must(net.Listen("tcp", "127.0.0.1:0"))
		page := web.New(web.Config{Tokens: tokens}, web.Deps{Site: "bench", Verbs: s.engine.Verbs(), Counts: s.engine.Counts,
			Account:  func(context.Context, string) (wire.Caller, error) { return s.caller, nil },
			ProxyUID: -1, Now: time.Now, Log: s.log, Every: time.Minute})
		serving, stop := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- page.Serve(serving, l) }()
		err := try(func() {
			for range rounds {
				began := time.Now()
				got.Bytes = max(got.Bytes, fetch(fmt.Sprintf("http://%s/jobs/%s", l.Addr(), s.grid), token))
				got.WallMS = append(got.WallMS, ms(time.Since(began)))
			}
		})
		stop()
		check(errors.Join(err, <-served))
	})
}

// fetch reads a page completely and returns its size in bytes.
func fetch(url, token string) int64 {
	r := must(http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil))
	r.Header.Set("Authorization", "Bearer "+token)
	a := must(http.DefaultClient.Do(r))
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		check(fmt.Errorf("%s: %s", url, a.Status))
	}
	return must(io.Copy(io.Discard, a.Body))
}

// see measures what people see of a large grid job: its page, and the causes for which its local jobs wait.
func see(b *bench) {
	b.onFilledSite(b.size.live, 0, func(on site) {
		p := ask[Pages](on.Client, "Site.Page", b.size.calls)
		s := series{"page": p.WallMS}
		for range b.size.calls {
			s.add("why", b.exec(on.dir, filepath.Join(b.bin, "jjm"), "why", on.grid.String()).wall)
			s.add("list", b.exec(on.dir, filepath.Join(b.bin, "jjm"), "list").wall)
		}
		name := fmt.Sprintf("%d live: ", b.size.live)
		b.target(name+"page of the grid job, wall, median", s.median("page"), "ms", pageWall)
		b.target(name+"size of this page", float64(p.Bytes)/1e6, "MB", pageSize)
		b.beside(name+"jjm why, wall, median", s.median("why"), "ms", "jjm list", s.median("list"), 0)
	})
}
