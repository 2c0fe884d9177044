package all

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

// ownTrials returns trials of the settings that only one kind of cluster has, by KIND/KEY.
func ownTrials(t *testing.T, f fakes) map[string]commonTrial {
	t.Helper()
	hours := func(n int) jjm.Duration { return jjm.Duration(time.Duration(n) * time.Hour) }
	other, err := filepath.Abs("../../etc/adapters/slurm.toml")
	if err != nil {
		t.Fatal(err)
	}
	smp := settings{"pe": "smp"}
	rest := settings{"rest": "http://127.0.0.1:1"}
	return map[string]commonTrial{
		"command/description": {value: other},

		"condor/keep": {value: "2h"}, "condor/history": {value: false}, "condor/grace": {value: "60s"},
		"condor/max_cores":         {value: 2, r: jjm.Request{Cores: 4}},
		"condor/max_memory_mb":     {value: 500, r: jjm.Request{MemoryMB: 1000}},
		"condor/max_walltime":      {value: "1h", r: jjm.Request{Walltime: hours(2)}},
		"condor/queues":            {value: settings{"long": "true"}, r: jjm.Request{Queue: "long"}},
		"condor/requirements":      {value: "TARGET.HasCVMFS"},
		"condor/project_attribute": {value: "P", r: jjm.Request{Project: "mc"}},
		"condor/qos_attribute":     {value: "Q", r: jjm.Request{QOS: "high"}},
		"condor/delegated_proxies": {value: true, with: settings{"shared_fs": false}},

		"pbs/dialect":      {value: "torque", with: settings{"project": "", "dialect": "openpbs"}},
		"pbs/qos_resource": {value: "q", r: jjm.Request{QOS: "high"}},
		"pbs/scratch":      {value: "scratch_local", r: jjm.Request{ScratchMB: 500}},
		"pbs/chunk":        {value: "arch=linux"},

		"sge/pe":               {value: "smp", r: jjm.Request{Cores: 2}},
		"sge/memory_resource":  {value: "mem_free", r: jjm.Request{MemoryMB: 1000}},
		"sge/memory_per_slot":  {value: false, with: smp, r: jjm.Request{MemoryMB: 1000, Cores: 2}},
		"sge/gpu_resource":     {value: "cards", r: jjm.Request{GPUs: 1}},
		"sge/scratch_resource": {value: "tmp", r: jjm.Request{ScratchMB: 500}},
		"sge/accounting":       {value: filepath.Join(filepath.Dir(f.log), "nowhere", "accounting")},

		"slurm/rest":          {value: "http://127.0.0.1:1"},
		"slurm/api":           {value: "v0.0.37", with: rest},
		"slurm/token_command": {value: []string{filepath.Join(f.quiet, "lsid"), "a token"}, with: rest},
		"slurm/token_file":    {value: filepath.Join(filepath.Dir(f.log), "no-token"), with: rest},
	}
}

// ownElsewhere returns the settings whose effects are tested in the packages of their kinds, not here.
func ownElsewhere() []string {
	return []string{"condor/event_log", "sge/keep", "slurm/history", "local/slots", "local/keep", "local/grace"}
}

// TestOwn_EveryKeyOfAKindIsObserved tries the settings that only one kind of cluster has, in the same way as the common
// settings.
func TestOwn_EveryKeyOfAKindIsObserved(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	f := newFakes(t)
	trials := ownTrials(t, f)
	for kind, build := range Registry() {
		_, err := build("x", adapters.Env{}, func(into any) error {
			for _, key := range tomlKeys(reflect.TypeOf(into).Elem()) {
				name := kind + "/" + key
				c, tried := trials[name]
				delete(trials, name)
				own := !slices.Contains(tomlKeys(reflect.TypeFor[adapters.Common]()), key)
				switch {
				case !own || slices.Contains(ownElsewhere(), name):
				case !tried:
					t.Errorf("no value to try %s with", name)
				default:
					t.Run(name, func(t *testing.T) { c.tryOwn(t, kind, key, f) })
				}
			}
			return os.ErrInvalid
		})
		if !errors.Is(err, os.ErrInvalid) {
			t.Error(kind, err)
		}
	}
	for name := range trials {
		t.Errorf("%s is no setting", name)
	}
}

// tryOwn requires that a setting changes an observable property of a cluster.
func (c *commonTrial) tryOwn(t *testing.T, kind, key string, f fakes) {
	without := base(t, kind, f)
	maps.Copy(without, c.with)
	with := maps.Clone(without)
	with[key] = c.value
	a, b := seen(t, kind, f, without, c.r), seen(t, kind, f, with, c.r)
	if again := seen(t, kind, f, without, c.r); again != a {
		t.Fatalf("the same settings differ:\n%s\n%s", a, again)
	}
	if a == b {
		t.Errorf("it changes nothing:\n%s", a)
	}
	for _, text := range []string{a, b} {
		if strings.HasPrefix(text, "refused: ") {
			t.Error(text)
		}
	}
}
