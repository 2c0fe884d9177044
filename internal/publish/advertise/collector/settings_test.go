package collector

import (
	"testing"
	"testing/synctest"
	"time"

	"jjm/internal/jjm"
)

// The settings determine the time between two sendings of the ad, the time for which a collector keeps the ad, and the
// longest time of a withdrawal when the daemon stops.
func TestSettings_TimesOfTheAd(t *testing.T) {
	for _, c := range []struct{ interval, lifetime, withdraw time.Duration }{
		{time.Minute, 10 * time.Minute, 2 * time.Second}, {10 * time.Minute, time.Hour, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			config := Defaults()
			config.Collectors = []string{"a"}
			config.Interval, config.Lifetime, config.WithdrawTime = jjm.Duration(c.interval), jjm.Duration(c.lifetime),
				jjm.Duration(c.withdraw)
			pool := &fake{}
			p := runWith(t, config, t.TempDir(), &site{name: "X"}, map[string]*fake{"a": pool})
			if v := p.Status().Collectors[0]; v.Expires.Sub(v.Sent) != c.lifetime {
				t.Errorf("lifetime = %v: it is kept for %v", c.lifetime, v.Expires.Sub(v.Sent))
			}
			before := pool.look().sent
			time.Sleep(2*time.Hour + time.Second)
			if got := pool.look().sent - before; got != int(2*time.Hour/c.interval) {
				t.Errorf("interval = %v: sent %d times in 2 hours", c.interval, got)
			}
			pool.set(func(p *poolState) { p.hangs = true })
			began := time.Now()
			p.stop()
			if took := time.Since(began); took != c.withdraw {
				t.Errorf("withdraw_time = %v: the stop of a collector that hangs took %v", c.withdraw, took)
			}
		})
	}
}

// The setting timeout is the deadline of each command that the publisher runs for a collector.
func TestSettings_TimeoutIsThatOfACommand(t *testing.T) {
	for _, timeout := range []time.Duration{7 * time.Second, time.Minute} {
		config := Defaults()
		config.Collectors, config.Timeout = []string{"a"}, jjm.Duration(timeout)
		p := New(config, Deps{Facts: (&site{name: "X"}).facts, File: t.TempDir() + "/ad", Now: time.Now})
		if c, ok := p.deps.Open("a").(condor); !ok || c.timeout != timeout {
			t.Errorf("timeout = %v: %+v", timeout, c)
		}
	}
}
