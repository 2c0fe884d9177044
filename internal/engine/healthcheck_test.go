package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jjm/adapters/idealize"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/needs"
)

// checked returns the health check with the given name. of is the cluster or file system that the check concerns; ""
// for any.
func (w *world) checked(by wire.Caller, name, of string) wire.HealthCheck {
	w.t.Helper()
	all := w.engine.Health(context.Background(), by, health.Around{Version: "test"}).Checks
	for _, c := range all {
		if c.Name == name && (of == "" || c.Of == of) {
			return c
		}
	}
	w.t.Fatalf("no check %s %s in %+v", name, of, all)
	return wire.HealthCheck{}
}

// state requires the state of a health check and the beginning of its text, and returns the check.
func (w *world) state(name, of, state, text string) wire.HealthCheck {
	w.t.Helper()
	c := w.checked(admin, name, of)
	if c.State != state || !strings.HasPrefix(c.Text, text) {
		w.t.Errorf("%s %s: want %s %q, got %+v", name, of, state, text, c)
	}
	return c
}

func TestChecks_ShowAnOutage(t *testing.T) {
	t.Parallel()
	var cold *polled
	clusters := func(w *world) []engine.Cluster {
		cold = w.add("cold")
		return []engine.Cluster{{Kind: "sim", Adapter: w.adapter},
			{Kind: "sim", Adapter: idealize.Wrap(cold, engine.Defaults().ClusterDefaults().Config, idealize.Deps{})}}
	}
	long := func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play { return adaptertest.Play{Life: 2 * time.Hour} }
	inWorld(t, options{clusters: clusters, play: long}, func(t *testing.T, w *world) {
		w.running(w.submit(alice, mc(5, `cluster = "cold"`)), 5)
		w.pass(time.Minute)
		if all := w.engine.Health(t.Context(), admin, health.Around{}).Checks; health.Worst(all) != health.OK {
			t.Errorf("a well site: %+v", all)
		}
		cold.frozen.Store(true)
		w.until(10*time.Minute, "a young outage", func() bool {
			return w.checked(admin, "listing", "cold").State == health.Warning
		})
		w.pass(20 * time.Minute)
		c := w.state("listing", "cold", health.Critical, "cluster cold has not answered for ")
		if c.Since == 0 || c.Detail == "" || !strings.Contains(c.Remedy, "jjm clusters reset cold") {
			t.Errorf("%+v", c)
		}
		w.state("listing", "sim", health.OK, "cluster sim ")
		cold.frozen.Store(false)
		w.until(time.Hour, "the end of the outage", func() bool {
			return w.checked(admin, "listing", "cold").State == health.OK
		})
		w.until(time.Hour, "its end in the journal", func() bool { return len(w.outages()) == 2 })
		cold.frozen.Store(true) // the cluster is frozen for too short a time to be in the journal
		w.until(10*time.Minute, "another outage", func() bool { return !w.site("cold").Healthy })
		cold.frozen.Store(false)
		w.until(time.Hour, "its end", func() bool { return w.site("cold").Healthy })
		w.pass(10 * time.Minute)
		all := w.outages()
		if len(all) != 2 || all[0].To != "silent" || all[1].To != "answers" || all[0].Silent() != "cold" ||
			all[1].Silent() != "cold" {
			t.Errorf("%+v", all)
		}
	})
}

// outages returns the entries about outages that the journal shows to everybody.
func (w *world) outages() []jjm.JournalEntry {
	w.t.Helper()
	all, err := w.engine.History(w.t.Context(), bob, jjm.Ref{}, 0)
	w.must(err)
	return slices.DeleteFunc(all, func(en jjm.JournalEntry) bool { return en.Source != jjm.SourceOutage })
}

// Every account sees the number of doubtful submissions and of missing local jobs, but no account sees their ids.
func TestChecks_CountLocalJobsOfUnknownState(t *testing.T) {
	t.Parallel()
	config := func(c *engineConfig) { c.AbsentFor = jjm.Duration(10 * time.Hour) }
	inWorld(t, options{sim: adaptertest.SimConfig{Settle: time.Hour, Life: 3 * time.Hour}, config: config},
		func(t *testing.T, w *world) {
			w.running(w.submit(bob, mc(2)), 2)
			w.sim.OnSubmit(adaptertest.LoseRequest)
			id := w.submit(bob, mc(3))
			w.pass(time.Minute)
			w.sim.Lie(1<<30, nil)
			w.pass(20 * time.Minute)
			w.state("unsettled", "sim", health.Warning, "1 submission of 3 local jobs to cluster sim not settled for ")
			w.state("missing", "sim", health.Warning, "2 local jobs missing from the listings of cluster sim for ")
			all, err := json.Marshal(w.engine.Health(t.Context(), alice, health.Around{}).Checks)
			w.must(err)
			if text := string(all); !strings.Contains(text, "3 local jobs") || strings.Contains(text, id.String()+".") ||
				strings.Contains(text, "bob") {
				t.Errorf("alice sees %s", text)
			}
			w.sim.Lie(0, nil)
			w.until(3*time.Hour, "the end of all doubts", func() bool {
				return w.checked(admin, "unsettled", "sim").State == health.OK &&
					w.checked(admin, "missing", "sim").State == health.OK
			})
		})
}

func TestChecks_ShowBansToAdministratorsOnly(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		_, err := w.engine.Ban(t.Context(), admin, &wire.Ban{Name: "/DC=org/CN=Mallory", Reason: "coins"})
		w.must(err)
		if c := w.state("bans", "", health.OK, "1 ban in force"); !strings.Contains(c.Detail, "Mallory") {
			t.Errorf("%+v", c)
		}
		for _, c := range w.engine.Health(t.Context(), alice, health.Around{}).Checks {
			if c.Name == "bans" {
				t.Errorf("alice sees %+v", c)
			}
		}
	})
}

// A folder of the daemon is lost. The health checks show that new work is refused until the folder is back.
func TestChecks_ShowThatNewWorkIsRefused(t *testing.T) {
	t.Parallel()
	inWorld(t, options{lookEvery: 2 * time.Second}, func(t *testing.T, w *world) {
		w.pass(10 * time.Second)
		w.state("space", "", health.OK, "new work is accepted")
		records := filepath.Join(w.dir, "records")
		w.must(os.Rename(records, records+".away"))
		w.pass(10 * time.Second)
		if c := w.state("space", "", health.Critical, "new work is refused"); !strings.Contains(c.Detail, "records") {
			t.Errorf("%+v", c)
		}
		w.must(os.Rename(records+".away", records))
		w.pass(10 * time.Second)
		w.state("space", "", health.OK, "new work is accepted")
	})
}

// On a full disk new work is refused, and records that cannot be written are counted until there is room.
func TestChecks_ShowAFullDiskAndItsRecords(t *testing.T) {
	needs.Root(t, "to mount a small file system")
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}}, func(t *testing.T, w *world) {
		small := filepath.Join(w.dir, "records")
		w.must(unix.Mount("small", small, "tmpfs", 0, "size=16m"))
		defer func() { w.must(unix.Unmount(small, unix.MNT_DETACH)) }()
		w.pass(10 * time.Second) // the engine opens the new folder of records
		id := w.submit(alice, mc(2))
		w.running(id, 2)
		w.pass(time.Minute)
		w.state("disk", "records", health.OK, "")
		filler := filepath.Join(small, "filler")
		w.must(fill(filler))
		w.until(2*time.Hour, "a record that cannot be written", func() bool {
			return w.checked(admin, "records", "").State != health.OK
		})
		w.state("space", "", health.Critical, "new work is refused")
		w.state("disk", "records", health.Warning, "0.0 GB of 0.0 GB free for records in ")
		c := w.checked(admin, "records", "")
		if !strings.HasPrefix(c.Text, "1 record could not be written for ") || c.Detail == "" {
			t.Errorf("%+v", c)
		}
		if c := w.checked(alice, "records", ""); c.Detail != "" {
			t.Errorf("alice sees %+v", c)
		}
		w.must(os.Remove(filler))
		w.until(time.Hour, "the record is written", func() bool {
			return w.checked(admin, "records", "").State == health.OK
		})
		w.final(2*time.Hour, id)
	})
}

// fill writes a file until its file system is full.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	_ = f.Close()
	return nil
}
