package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// excluding are options with one cluster that can exclude hosts.
func excluding(sim adaptertest.SimConfig) options {
	sim.ExcludesHosts = true
	return options{sim: sim}
}

// exclude excludes or includes hosts as an administrator.
func (w *world) exclude(x wire.Exclude) wire.Excluded {
	w.t.Helper()
	out, err := w.engine.Exclude(w.t.Context(), admin, &x)
	w.must(err)
	return out
}

// excludeHosts returns an action that excludes or includes hosts.
func excludeHosts(x wire.Exclude) func(*stage) error {
	return func(s *stage) error {
		_, err := s.engine.Exclude(context.Background(), admin, &x)
		return err
	}
}

// submitted submits a grid job of one local job, waits for its end, and checks which hosts its bulk excluded.
func (w *world) submitted(excluded ...string) {
	w.t.Helper()
	before := len(w.sim.Excluded())
	id := w.submit(alice, mc(1))
	w.final(time.Hour, id)
	bulks := w.sim.Excluded()[before:]
	if len(bulks) != 1 || !slices.Equal(bulks[0], excluded) {
		w.t.Errorf("grid job %s was submitted with the excluded hosts %q, want one bulk with %q", id, bulks, excluded)
	}
}

func TestExclude_SubmissionsNameTheHostsUntilTheyAreIncludedAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	inWorld(t, excluding(adaptertest.SimConfig{}), func(t *testing.T, w *world) {
		w.submitted()
		w.exclude(wire.Exclude{Hosts: []string{"wn14.example.org", "wn13"}, Reason: "eats jobs"})
		w.submitted("wn13", "wn14.example.org")
		w.reopen()
		w.submitted("wn13", "wn14.example.org")
		got := w.exclude(wire.Exclude{Include: true, Hosts: []string{"wn13", "wn99"}, Reason: "new disk"})
		if len(got.Hosts) != 1 || got.Hosts[0].Host != "wn13" {
			t.Errorf("included: %+v", got)
		}
		w.submitted("wn14.example.org")
		w.reopen()
		w.submitted("wn14.example.org")
		journal, err := w.engine.History(t.Context(), bob, jjm.Ref{}, 0)
		w.must(err)
		var told []string
		for _, en := range journal {
			if en.Source == jjm.SourceExclude {
				told = append(told, en.To+" "+en.Cause)
			}
		}
		want := []string{"excluded host wn14.example.org of cluster sim: eats jobs (until somebody includes it)",
			"excluded host wn13 of cluster sim: eats jobs (until somebody includes it)",
			"included host wn13 of cluster sim: new disk"}
		if !slices.Equal(told, want) {
			t.Errorf("journal: %q", told)
		}
	})
}

func TestExclude_EndsByItselfAlsoWhileTheDaemonIsDown(t *testing.T) {
	t.Parallel()
	inWorld(t, excluding(adaptertest.SimConfig{}), func(t *testing.T, w *world) {
		w.exclude(wire.Exclude{Hosts: []string{"wn13"}, Reason: "x", For: jjm.Duration(2 * time.Hour)})
		w.exclude(wire.Exclude{Hosts: []string{"wn14"}, Reason: "x", For: jjm.Duration(12 * time.Hour)})
		w.submitted("wn13", "wn14")
		w.pass(2 * time.Hour)
		w.submitted("wn14")
		w.until(time.Minute, "the store forgets it", func() bool {
			all, err := w.store.Exclusions(t.Context())
			return err == nil && len(all) == 1 && all[0].Host == "wn14"
		})
		w.shut()
		w.pass(12 * time.Hour)
		w.open()
		w.submitted()
		if got, err := w.engine.Exclude(t.Context(), bob, nil); err != nil || len(got.Hosts) != 0 {
			t.Errorf("in force: %+v, %v", got, err)
		}
	})
}

func TestExclude_SaysWhichJobsItDoesNotTouch(t *testing.T) {
	t.Parallel()
	inWorld(t, excluding(adaptertest.SimConfig{Slots: 3, Life: time.Hour}), func(t *testing.T, w *world) {
		id := w.submit(alice, mc(10))
		w.until(10*time.Minute, "three run", func() bool { return w.lookup(id).Counts.Running == 3 })
		first := w.exclude(wire.Exclude{Hosts: []string{"simhost"}, Reason: "x"})
		if first.Running != 3 || first.Queued != 7 {
			t.Errorf("excluded: %+v, want 3 running and 7 queued", first)
		}
		w.pass(time.Minute)
		second := w.submit(alice, mc(2))
		w.until(10*time.Minute, "two more wait", func() bool { return w.lookup(second).Counts.Submitted == 2 })
		again := w.exclude(wire.Exclude{Hosts: []string{"simhost"}, Reason: "y"})
		if again.Running != 3 || again.Queued != 7 || again.Hosts[0].Since != first.Hosts[0].Since {
			t.Errorf("excluded again: %+v, want the same jobs and the same beginning", again)
		}
		w.final(12*time.Hour, id, second)
		w.verify(id, done(10))
	})
}

// An exclusion that is refused changes nothing, whether its request is invalid or its caller is no operator.
func TestExclude_RefusesAndStoresNothing(t *testing.T) {
	t.Parallel()
	o := excluding(adaptertest.SimConfig{})
	o.more = []adaptertest.SimConfig{{Name: "plain"}}
	o.configs = map[string]engine.ClusterConfig{}
	inWorld(t, o, func(t *testing.T, w *world) {
		many := make([]string, 0, wire.MaxHosts)
		for i := range wire.MaxHosts {
			many = append(many, "n"+string(rune('a'+i/26))+string(rune('a'+i%26)))
		}
		w.exclude(wire.Exclude{Cluster: "sim", Hosts: many, Reason: "x"})
		before, err := w.store.Exclusions(t.Context())
		w.must(err)
		for says, x := range map[string]wire.Exclude{
			"want one of sim, plain":        {Hosts: []string{"a"}, Reason: "x"},
			"this site has sim, plain":      {Cluster: "none", Hosts: []string{"a"}, Reason: "x"},
			"cannot exclude hosts: wn1, b;": {Cluster: "plain", Hosts: []string{"wn1", "b"}, Reason: "x"},
			"want at most 100":              {Cluster: "sim", Hosts: []string{"another"}, Reason: "x"},
			"that time is past":             {Cluster: "sim", Hosts: []string{many[0]}, Reason: "y", Until: 5},
		} {
			got, err := w.engine.Exclude(t.Context(), admin, &x)
			if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), says) || got.Hosts != nil {
				t.Errorf("%+v: %+v, %v, want %q", x, got, err, says)
			}
		}
		for _, include := range []bool{false, true} {
			_, err := w.engine.Exclude(t.Context(), alice, &wire.Exclude{Cluster: "sim", Include: include, Hosts: many[:1],
				Reason: "x"})
			if jjm.KindOf(err) != jjm.Denied {
				t.Errorf("alice, include %v: %v", include, err)
			}
		}
		after, err := w.store.Exclusions(t.Context())
		if w.must(err); !slices.Equal(before, after) {
			t.Errorf("stored: %+v", after)
		}
	})
}
