package conformance

import (
	"os"
	"os/user"
	"path/filepath"
	"testing"
	"time"

	"jjm/adapters"
)

// siteSystem is the embedded batch system as a site has it: one visit for all
// checks.
func siteSystem(t TB, site *Site, plant func(l *liar, s *System)) func(t TB) System {
	if site.Wrapper == "" {
		site.Wrapper = filepath.Join(t.TempDir(), "jjm-wrapper")
		if err := os.WriteFile(site.Wrapper, []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
			t.Fatalf("%v", err)
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return localSystem(func(l *liar, s *System) {
		s.Site, s.Parallel, s.Jobs, s.Owner.User = site, true, 8, me.Username
		if plant != nil {
			plant(l, s)
		}
	})
}

func TestSite_AGoodSitePasses(t *testing.T) {
	reported := 0
	open := siteSystem(t, &Site{}, func(_ *liar, s *System) { s.Patience = 30 * time.Second })
	failed := Run(t.Context(), ForSite(), open, func(o Outcome) {
		reported++
		if o.Word() == "FAILED" || o.Check.Site && o.Word() != "ok" {
			t.Errorf("%s: %s %v", o.Check.Name, o.Skipped, o.Failures)
		}
	})
	if failed != 0 || reported != len(ForSite()) {
		t.Errorf("%d failed, %d of %d were reported", failed, reported, len(ForSite()))
	}
}

// siteDefects are sites with something wrong, by check.
func siteDefects() map[string]func(t *testing.T) func(t TB) System {
	seen := func(change func(v *visit)) func(t *testing.T) func(t TB) System {
		return func(t *testing.T) func(t TB) System {
			now := time.Now()
			v := &visit{uid: os.Getuid(), gid: os.Getgid(), wrapper: "0", clock: now.Unix(), asked: now, told: now}
			change(v)
			return siteSystem(t, &Site{seen: v}, nil)
		}
	}
	return map[string]func(t *testing.T) func(t TB) System{
		"a worker sees the work area, both ways": func(t *testing.T) func(t TB) System {
			return siteSystem(t, &Site{}, func(l *liar, _ *System) {
				l.submit = func(b adapters.Bulk) adapters.Bulk { b.Dir = t.TempDir(); return b }
			})
		},
		"the wrapper can be executed there": seen(func(v *visit) { v.wrapper = "126 Permission denied" }),
		"jobs run as the right account":     seen(func(v *visit) { v.uid = 65534 }),
		"the clocks agree":                  seen(func(v *visit) { v.clock += 3600 }),
	}
}

func TestSiteChecks_EachFindsItsDefect(t *testing.T) {
	for check, open := range siteDefects() {
		t.Run(check, func(t *testing.T) {
			t.Parallel()
			wantFailure(t, check, open(t))
		})
	}
}

func TestSite_WithoutASharedFileSystemTheFilesAreLeftOut(t *testing.T) {
	open := siteSystem(t, &Site{}, func(l *liar, _ *System) {
		l.caps = func(c adapters.Capabilities) adapters.Capabilities { c.SharedFS = false; return c }
	})
	for _, name := range []string{"a worker sees the work area, both ways", "odd names pass unchanged"} {
		if o := Try(t.Context(), named(t, name), open); o.Word() != "skipped" {
			t.Errorf("%s: %s %v", name, o.Word(), o.Failures)
		}
	}
}
