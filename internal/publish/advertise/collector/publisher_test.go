package collector

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/publish/advertise"
)

// site has the facts that a publisher under test publishes.
type site struct {
	name    string
	drained atomic.Bool
}

func (s *site) facts() advertise.Facts {
	return advertise.Facts{Site: s.name, Instance: "jme", Quality: "production", At: jjm.At(time.Now()), Lifetime: 900,
		Clusters: []advertise.Cluster{{Name: "c", Health: advertise.Answering, Drained: s.drained.Load()}}}
}

// running is a running publisher of a test in a synctest bubble.
type running struct {
	*Publisher
	stop func()
}

// run starts a publisher of s that sends to the named fake collectors. Its state file is in dir.
func run(t *testing.T, dir string, s *site, pools map[string]*fake, names ...string) *running {
	t.Helper()
	config := Defaults()
	config.Collectors = names
	return runWith(t, config, dir, s, pools)
}

// runWith starts a publisher with the given settings.
func runWith(t *testing.T, config Config, dir string, s *site, pools map[string]*fake) *running {
	t.Helper()
	p := New(config, Deps{
		Facts: s.facts, File: filepath.Join(dir, wire.AdvertisedFile), Now: time.Now,
		Log:  slog.New(slog.NewTextHandler(io.Discard, nil)),
		Open: func(name string) Collector { return pools[name] },
	})
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); p.Run(ctx) }()
	synctest.Wait()
	return &running{p, func() { cancel(); <-over }}
}

func TestPublisher_PublishesReadsBackRenewsAndWithdraws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := &fake{}
		p := run(t, t.TempDir(), &site{name: "X"}, map[string]*fake{"a": pool}, "a")
		v := p.Status().Collectors[0]
		if v.State != wire.AdPublished || v.Sent == 0 || v.Seen == 0 || v.Expires.Sub(v.Sent) != 15*time.Minute || !v.There {
			t.Errorf("%+v", v)
		}
		time.Sleep(time.Hour)
		if pool.look().sent < 30 || pool.look().sent > 32 || p.Status().Collectors[0].Lost != 0 {
			t.Errorf("sent %d times in an hour, %+v", pool.look().sent, p.Status().Collectors[0])
		}
		p.stop()
		if v := p.Status().Collectors[0]; pool.look().ads["X"] != "" || v.State != wire.AdWithdrawn || v.There {
			t.Errorf("after the stop there is %q, and %+v", pool.look().ads, v)
		}
	})
}

func TestPublisher_ReportsALostAdAndSendsItAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := &fake{}
		p := run(t, t.TempDir(), &site{name: "X"}, map[string]*fake{"a": pool}, "a")
		defer p.stop()
		pool.set(func(p *poolState) { clear(p.ads) })
		time.Sleep(2*time.Minute + time.Second)
		if v := p.Status().Collectors[0]; pool.look().ads["X"] == "" || v.Lost != 1 || v.LostAt == 0 ||
			v.State != wire.AdPublished {
			t.Errorf("%q, %+v", pool.look().ads, v)
		}
	})
}

func TestPublisher_SendsANewOfferAtOnceButNotNewCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, s := &fake{}, &site{name: "X"}
		p := run(t, t.TempDir(), s, map[string]*fake{"a": pool}, "a")
		defer p.stop()
		time.Sleep(time.Minute)
		if pool.look().sent != 1 {
			t.Fatalf("sent %d times", pool.look().sent)
		}
		s.drained.Store(true)
		time.Sleep(checkInterval + time.Second)
		if pool.look().sent != 2 || !strings.Contains(pool.look().ads["X"], `State = "drained"`) {
			t.Errorf("sent %d times: %s", pool.look().sent, pool.look().ads["X"])
		}
	})
}

func TestPublisher_ReportsErrorsAndTriesAgain(t *testing.T) {
	for name, c := range map[string]struct {
		break_ func(*poolState)
		want   string
	}{
		"down":        {func(f *poolState) { f.down = true }, "connection refused"},
		"drops ads":   {func(f *poolState) { f.drops = true }, "does not show it"},
		"garbles ads": {func(f *poolState) { f.garble = true }, "holds an ad that differs from the one sent: State is"},
		"hangs":       {func(f *poolState) { f.hangs = true }, "its time was over"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool, other := &fake{}, &fake{}
				pool.set(c.break_)
				p := run(t, t.TempDir(), &site{name: "X"}, map[string]*fake{"a": pool, "b": other}, "a", "b")
				defer p.stop()
				time.Sleep(10 * time.Minute)
				v := p.Status().Collectors[0]
				if v.State != wire.AdFailing || !strings.Contains(v.Error, c.want) || v.Since == 0 || len(p.Trouble()) != 1 {
					t.Errorf("%+v, trouble %q", v, p.Trouble())
				}
				if pool.look().tries < 6 || other.look().ads["X"] == "" {
					t.Errorf("%d tries in ten minutes; the other has %q", pool.look().tries, other.look().ads)
				}
				pool.set(func(p *poolState) { *p = poolState{} })
				time.Sleep(3 * time.Minute)
				if v := p.Status().Collectors[0]; v.State != wire.AdPublished || v.Error != "" || v.Since != 0 ||
					len(p.Trouble()) != 0 {
					t.Errorf("it is well again, and %+v", v)
				}
			})
		})
	}
}

func TestPublisher_ReportsAnotherInstanceOfTheSameName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := &fake{}
		p := run(t, t.TempDir(), &site{name: "X"}, map[string]*fake{"a": pool}, "a")
		defer p.stop()
		twin := (&site{name: "X"}).facts()
		twin.Instance = "jother"
		pool.set(func(p *poolState) { p.ads["X"] = twin.Ad().Text() })
		time.Sleep(2*time.Minute + time.Second)
		if v := p.Status().Collectors[0]; v.State != wire.AdFailing || !strings.Contains(v.Error, `"jother"`) ||
			!strings.Contains(pool.look().ads["X"], "jme") {
			t.Errorf("%+v", v)
		}
	})
}

func TestPublisher_StopsThoughACollectorHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, dir := &fake{}, t.TempDir()
		p := run(t, dir, &site{name: "X"}, map[string]*fake{"a": pool}, "a")
		pool.set(func(p *poolState) { p.hangs = true })
		time.Sleep(2*time.Minute + time.Second) // now an attempt to send the ad is in progress
		before := time.Now()
		p.stop()
		if took := time.Since(before); took > Defaults().WithdrawTime.D() {
			t.Errorf("the stop took %v", took)
		}
		v := p.Status().Collectors[0]
		if !v.There || !strings.Contains(v.Error, "not withdrawn") {
			t.Errorf("%+v", v)
		}
		if a, err := readState(filepath.Join(dir, wire.AdvertisedFile)); err != nil || !a.Collectors[0].There {
			t.Errorf("noted: %+v, %v", a, err)
		}
	})
}

func TestPublisher_WithdrawsWhatAKilledOneLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, dir := &fake{}, &fake{}, t.TempDir()
		pools := map[string]*fake{"a": a, "b": b}
		killed := run(t, dir, &site{name: "old"}, pools, "a", "b")
		killed.stop()
		// A daemon that is killed leaves the same state as a daemon that stopped while it could not reach any collector.
		noted := killed.Status()
		for i := range noted.Collectors {
			noted.Collectors[i].There, noted.Collectors[i].Expires = true, jjm.At(time.Now().Add(10*time.Minute))
		}
		if err := writeState(filepath.Join(dir, wire.AdvertisedFile), noted); err != nil {
			t.Fatal(err)
		}
		for _, f := range pools {
			f.set(func(p *poolState) { p.ads["old"] = (&site{name: "old"}).facts().Ad().Text() })
		}
		b.set(func(p *poolState) { p.down = true })

		p := run(t, dir, &site{name: "new"}, pools, "a") // another name, and b is no longer configured
		if a.look().ads["old"] != "" || a.look().ads["new"] == "" {
			t.Errorf("a holds %q", a.look().ads)
		}
		if got := p.Trouble(); len(got) != 1 || !strings.Contains(got[0], "b since") ||
			!strings.Contains(got[0], "not withdrawn") {
			t.Errorf("trouble %q", got)
		}
		p.stop()
		p = run(t, dir, &site{name: "new"}, pools, "a") // the state file still contains b
		b.set(func(p *poolState) { p.down = false })
		time.Sleep(time.Minute)
		if len(b.look().ads) != 0 || len(p.Trouble()) != 0 {
			t.Errorf("b holds %q, trouble %q", b.look().ads, p.Trouble())
		}
		p.stop()
		p = run(t, dir, &site{name: "new"}, pools, "a")
		if got := p.Status().Collectors; len(got) != 1 {
			t.Errorf("what is gone is withdrawn again: %+v", got)
		}
		p.stop()
	})
}

func TestPublisher_DoesNotWithdrawAnExpiredAd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, wire.AdvertisedFile)
		left := wire.AdCollector{Collector: "gone", Site: "X", Instance: "jme", There: true,
			Expires: jjm.At(time.Now().Add(3 * time.Minute))}
		if err := writeState(file, wire.Advertised{Collectors: []wire.AdCollector{left}}); err != nil {
			t.Fatal(err)
		}
		p := run(t, dir, &site{name: "X"}, map[string]*fake{"gone": {poolState: poolState{down: true}}})
		time.Sleep(6 * time.Minute)
		if v := p.Status().Collectors[0]; v.There || v.Error != "" || len(p.Trouble()) > 0 {
			t.Errorf("%+v", v)
		}
		p.stop()
	})
}

func TestPublisher_NowSendsAtOnceAndEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := &fake{}
		p := run(t, t.TempDir(), &site{name: "X"}, map[string]*fake{"a": pool}, "a")
		defer p.stop()
		time.Sleep(time.Minute)
		p.Now(t.Context())
		if pool.look().sent != 2 {
			t.Errorf("sent %d times", pool.look().sent)
		}
		pool.set(func(p *poolState) { p.hangs = true })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p.Now(ctx)
		if v := p.Status().Collectors[0]; v.Trying == 0 {
			t.Errorf("a try is under way, and %+v", v)
		}
	})
}

func TestPublisher_IgnoresAStateFileOfRubbish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, wire.AdvertisedFile), []byte("{\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := run(t, dir, &site{name: "X"}, map[string]*fake{"a": {}}, "a")
		if v := p.Status().Collectors[0]; v.State != wire.AdPublished {
			t.Errorf("%+v", v)
		}
		p.stop()
	})
}
