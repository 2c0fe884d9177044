package advertise_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/publish/advertise"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

func TestAdvertise_IsPublishedReadBackChangedAndWithdrawn(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	p := startPool(t)
	s := newSite(t, p)
	const name = "jjm \"test\"\nName = \"other\" \\ü"
	s.configure(name, []string{p.address},
		"[[advertise.gatekeeper]]\nkind = \"gram5\"\ncontact = \"ce.example.org:2119/jobmanager-jjm\"")
	s.start()
	k := s.published(time.Time{})
	held, err := p.held(name)
	if err != nil || len(held) != 1 {
		t.Fatalf("the collector holds %v, %v", held, err)
	}
	h := held[0]
	if got, _ := h.Get("Name").(string); advertise.Plain(got) != name || h.Get("State") != "open" ||
		h.Get("TotalSlots") != json.Number("3") {
		t.Errorf("the ad is %v", h)
	}
	if k.Expires.Sub(k.Sent) != 10*time.Minute || !k.There {
		t.Errorf("%+v", k)
	}
	// The daemon publishes its ad again after a change, and the collector shows the change.
	if out, errs, code := s.jjm("drain", "cluster", "local", "--reason", `a "quoted" reason`); code != 0 {
		t.Fatal(out, errs)
	}
	s.eventually("the ad says that the site is drained", func() error {
		held, err := p.held(name)
		if err == nil && (len(held) != 1 || held[0].Get("State") != "drained" ||
			!strings.Contains(fmt.Sprint(held[0].Get("Clusters")), `a "quoted" reason`)) {
			err = fmt.Errorf("it says %v", held)
		}
		return err
	})
	s.stop(syscall.SIGTERM)
	p.wants(name, 0)
}

func TestAdvertise_TheCommandShowsSendsAndWorksWithoutADaemon(t *testing.T) {
	t.Parallel()
	p := startPool(t)
	s := newSite(t, p)
	s.configure("jjm-test-command", []string{p.address, "127.0.0.1:1"}, "")
	s.start()
	s.published(time.Time{})
	s.eventually("the trouble with the other collector is known", func() error {
		if out, _, _ := s.jjm("advertise"); !strings.Contains(out, "in trouble since") {
			return errors.New(out)
		}
		return nil
	})
	out, errs, code := s.jjm("advertise")
	if code != 0 || !strings.Contains(out, "published") || !strings.Contains(out, "127.0.0.1:1: in trouble since") ||
		!strings.Contains(out, `Name = "jjm-test-command"`) {
		t.Errorf("jjm advertise: exit %d\n%s%s", code, out, errs)
	}
	if out, _, _ := s.jjm("clusters"); !strings.Contains(out, "advertising: 127.0.0.1:1 since") {
		t.Errorf("jjm clusters says nothing of the trouble:\n%s", out)
	}
	sent := s.told().Collectors[0].Sent
	if _, errs, code := s.jjm("advertise", "--now"); code != 1 ||
		!strings.Contains(errs, "not as it should be at 127.0.0.1:1\n") {
		t.Errorf("--now: exit %d, %s", code, errs)
	}
	if now := s.told().Collectors[0].Sent; now <= sent {
		t.Errorf("--now sent nothing: %v, before %v", now, sent)
	}
	var doc map[string][]map[string]any
	out, _, code = s.jjm("advertise", "--glue2")
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 ||
		doc["ComputingManager"][0]["TotalSlots"] != 3.0 {
		t.Errorf("--glue2: exit %d, %v\n%s", code, err, out)
	}
	s.stop(syscall.SIGKILL)
	var told wire.Advertised
	out, errs, code = s.jjm("advertise", "--json")
	if err := json.Unmarshal([]byte(out), &told); err != nil || code != 0 || !told.Stale || !told.Collectors[0].There ||
		!strings.Contains(errs, "what was so at") {
		t.Errorf("without a daemon: exit %d, %v\n%s%s", code, err, out, errs)
	}
	if _, _, code := s.jjm("advertise", "--now"); code != 4 {
		t.Errorf("--now without a daemon: exit %d", code)
	}
	s.start()
}

func TestAdvertise_WithoutCollectorsNothingIsSentAndAllIsShown(t *testing.T) {
	t.Parallel()
	s := newSite(t, noPool(t))
	s.configure("jjm-test-alone", nil, "")
	s.start()
	if out, errs, code := s.jjm("advertise"); code != 0 || !strings.Contains(out, "not advertised") ||
		!strings.Contains(out, `Name = "jjm-test-alone"`) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if _, errs, code := s.jjm("advertise", "--now"); code != 1 ||
		!strings.Contains(errs, "name collectors below [advertise]") {
		t.Errorf("--now: exit %d, %s", code, errs)
	}
}

// If the collector does not accept the credentials of the daemon's account, it refuses the ad, and the daemon reports
// the refusal.
func TestAdvertise_ARefusalIsTold(t *testing.T) {
	t.Parallel()
	p := startPool(t)
	s := newSite(t, p)
	s.env = map[string]string{"_CONDOR_SEC_CLIENT_AUTHENTICATION_METHODS": "PASSWORD",
		"_CONDOR_SEC_DEFAULT_AUTHENTICATION_METHODS": "PASSWORD"}
	s.configure("jjm-test-refused", []string{p.address}, "")
	s.start()
	s.eventually("the refusal is told", func() error {
		if k := s.told().Collectors[0]; k.State != wire.AdFailing || !strings.Contains(k.Error, "exit 1: ") || k.Sent != 0 {
			return fmt.Errorf("%+v", k)
		}
		return nil
	})
	if held, err := p.held("jjm-test-refused"); err != nil || len(held) > 0 {
		t.Errorf("and yet the collector holds %v, %v", held, err)
	}
}

func TestAdvertise_WhatAKilledDaemonLeftIsTakenAwayByTheNext(t *testing.T) {
	t.Parallel()
	p := startPool(t)
	s := newSite(t, p)
	s.configure("jjm-test-old", []string{p.address}, "")
	s.start()
	s.published(time.Time{})
	s.stop(syscall.SIGKILL)
	p.wants("jjm-test-old", 1) // the killed daemon did not withdraw this ad

	s.configure("jjm-test-new", []string{p.address}, "")
	s.start()
	s.published(time.Time{})
	p.wants("jjm-test-old", 0)
	p.wants("jjm-test-new", 1)
	s.stop(syscall.SIGKILL)

	s.configure("jjm-test-new", nil, "") // the old name is no longer advertised
	s.start()
	p.wants("jjm-test-new", 0)
	s.stop(syscall.SIGTERM)
}

// If an ad is neither withdrawn nor renewed, the collector removes it at the end of its lifetime, not earlier.
func TestAdvertise_WhatAKilledDaemonLeftEndsByItself(t *testing.T) {
	t.Parallel()
	p := startPool(t)
	short := await.Provoked(3 * time.Second).String()
	for name, lifetime := range map[string]string{"jjm-test-short": short, "jjm-test-long": "10m"} {
		s := newSite(t, p)
		s.lifetime = lifetime
		s.configure(name, []string{p.address}, "")
		s.start()
		s.published(time.Time{})
		s.stop(syscall.SIGKILL)
	}
	p.wants("jjm-test-short", 0)
	p.wants("jjm-test-long", 1)
}

func TestAdvertise_WhatTheCollectorLosesItGetsAgain(t *testing.T) {
	t.Parallel()
	p := startPool(t)
	s := newSite(t, p)
	s.configure("jjm-test-lost", []string{p.address}, "")
	s.start()
	s.published(time.Time{})
	// An administrator of the pool removes the ad.
	if _, err := p.run(advertise.Withdrawal("jjm-test-lost", s.told().Instance), "condor_advertise", "-tcp",
		"INVALIDATE_ADS_GENERIC", "-"); err != nil {
		t.Fatal(err)
	}
	s.eventually("the loss is told", func() error {
		if k := s.told().Collectors[0]; k.Lost != 1 || k.LostAt == 0 {
			return fmt.Errorf("%+v", k)
		}
		return nil
	})
	p.wants("jjm-test-lost", 1)

	p.kill()
	s.eventually("a collector that is down is told of", func() error {
		if k := s.told().Collectors[0]; k.State != wire.AdFailing || k.Error == "" || k.Since == 0 {
			return fmt.Errorf("%+v", k)
		}
		return nil
	})
	p.start()
	s.published(time.Now())
	p.wants("jjm-test-lost", 1)
}

func TestAdvertise_AFrozenCollectorHoldsUpNothing(t *testing.T) {
	t.Parallel()
	p := startPool(t)
	s := newSite(t, p)
	s.timeout = await.Provoked(3 * time.Second)
	s.configure("jjm-test-frozen", []string{p.address}, "")
	s.start()
	s.published(time.Time{})
	p.freeze()
	s.eventually("it is told that the collector hangs", func() error {
		if k := s.told().Collectors[0]; k.State != wire.AdFailing || !strings.Contains(k.Error, "its time was over") {
			return fmt.Errorf("%+v", k)
		}
		return nil
	})
	job := wire.Submit{Name: "job.toml", BaseDir: "/", Text: "type = \"script\"\n[params]\ncommand = [\"/bin/true\"]\n"}
	if _, err := client.Call(t.Context(), s.client(), wire.VerbSubmit(), wire.SubmitRequest{Submit: &job}); err != nil {
		t.Fatal(err)
	}
	s.eventually("the grid job is done", func() error {
		a, err := client.Call(context.Background(), s.client(), wire.VerbLookup(),
			wire.LookupRequest{Many: wire.Refs("1")})
		if err == nil && a.Lookup[0].GRAM != jjm.GRAMDone {
			err = fmt.Errorf("it is %s", a.Lookup[0].Status)
		}
		return err
	})
	s.stop(syscall.SIGTERM) // the daemon ends, although the collector is still frozen
	p.thaw()
	// A new daemon finds the ad or makes a new ad, and withdraws the ad when it stops. The time for the withdrawal is
	// limited, and the collector of a busy machine may be too slow: then the next daemon withdraws the ad.
	for range 5 {
		s.start()
		s.published(time.Time{})
		s.stop(syscall.SIGTERM)
		if held, err := p.held("jjm-test-frozen"); err == nil && len(held) == 0 {
			break
		}
	}
	p.wants("jjm-test-frozen", 0)
}
