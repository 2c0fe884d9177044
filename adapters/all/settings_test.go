package all

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

// commandNames returns the commands of all kinds.
func commandNames() []string {
	return []string{"sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo", "condor_submit", "condor_q",
		"condor_history", "condor_rm", "condor_hold", "condor_release", "condor_config_val", "condor_version",
		"condor_status",
		"qsub", "qstat", "qselect", "qdel", "qhold", "qrls", "qmod", "qconf", "qhost", "pbsnodes", "bsub", "bjobs", "bkill",
		"bhist", "bstop", "bresume", "bparams", "bhosts", "bqueues", "lsid"}
}

// fakes are folders of commands that log their calls. The commands in quiet print little; the commands in loud print
// more than a limit of 1 MB allows.
type fakes struct{ quiet, loud, log string }

func newFakes(t *testing.T) fakes {
	t.Helper()
	dir := t.TempDir()
	f := fakes{quiet: filepath.Join(dir, "quiet"), loud: filepath.Join(dir, "loud"), log: filepath.Join(dir, "log")}
	for folder, says := range map[string]string{f.quiet: "echo 1", f.loud: "head -c 3000000 /dev/zero | tr '\\0' x"} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		// The script waits for its memory limit, which is set only after the command has started.
		text := "#!/bin/sh\nwhile [ \"$(ulimit -d)\" = unlimited ]; do :; done\n{ echo \"$0 $*\"; env | sort | grep -v '^_='; " +
			"ulimit -d; cat; } >>" + f.log + " 2>&1\n" + says + "\n"
		for _, name := range commandNames() {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	hook := "#!/bin/sh\ncat >/dev/null\necho asked >>" + f.log + "\n"
	if err := os.WriteFile(filepath.Join(dir, "hook"), []byte(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	return f
}

// noon returns a clock that begins at noon and moves on by a second whenever it is read. Two adapters that do the same
// see the same times, and an adapter that waits for its clock does not wait for ever.
func noon() func() time.Time {
	var reads atomic.Int64
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time { return begin.Add(time.Duration(reads.Add(1)) * time.Second) }
}

// settings are some keys of a cluster's section.
type settings = map[string]any

// seen returns a text with everything that can be observed of a cluster with the given settings: whether the settings
// are refused, the capabilities, the refused requests, and the calls of its commands to submit, to list, and to find
// ended jobs.
func seen(t *testing.T, kind string, f fakes, all settings, r jjm.Request) string {
	t.Helper()
	if err := os.WriteFile(f.log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := &strings.Builder{}
	if err := toml.NewEncoder(text).Encode(all); err != nil {
		t.Fatal(err)
	}
	a, err := Registry()[kind]("east", adapters.Env{State: t.TempDir(), Now: noon()}, func(into any) error {
		meta, err := toml.Decode(text.String(), into)
		if err == nil && len(meta.Undecoded()) > 0 {
			err = fmt.Errorf("unknown %v", meta.Undecoded())
		}
		return err
	})
	if err != nil {
		return fmt.Sprint("refused: ", err)
	}
	defer stop(t, a)
	me := jjm.Owner{UID: os.Getuid(), GID: os.Getgid(), User: "root"}
	out := fmt.Sprintf("%+v\n", a.Capabilities())
	if c, ok := a.(adapters.Checker); ok {
		out += fmt.Sprintln("checked:", c.Check(r))
	}
	_, err = a.Submit(t.Context(), adapters.Bulk{Tag: "jtag", N: 2, Owner: me, Request: r, Dir: "/", Argv: []string{"x"}})
	out += fmt.Sprintln("submitted:", err)
	_, err = a.List(t.Context(), me, time.Time{})
	out += fmt.Sprintln("listed:", err)
	_, err = a.Account(t.Context(), me, []adapters.Ref{{Tag: "jtag", ID: "7", Index: 0}})
	out += fmt.Sprintln("accounted for:", err)
	log, err := os.ReadFile(f.log)
	if err != nil {
		t.Fatal(err)
	}
	return out + string(log)
}

// commonTrial tries a setting of a cluster: value is its value, with has other settings that the trial needs, and r is
// the request with which jobs are submitted.
type commonTrial struct {
	value any
	with  settings
	r     jjm.Request
}

// commonTrials returns the trials of all common settings. The trials of a setting may differ between kinds of cluster.
func commonTrials(f fakes) map[string]commonTrial {
	hook := filepath.Join(filepath.Dir(f.quiet), "hook")
	lines := map[string]string{"slurm": "--constraint=el9", "condor": "+Wants = true", "pbs": "-l place=pack",
		"sge": "-l arch=x", "command": "-app grid"}
	out := map[string]commonTrial{
		"bin": {value: f.loud}, "env": {value: settings{"X": "1"}}, "command_memory_mb": {value: 512},
		"command_output_mb": {value: 1, with: settings{"bin": f.loud}},
		"queue":             {value: "long"}, "account": {value: "grid"}, "project": {value: "mc"}, "qos": {value: "high"},
		"hook": {value: hook}, "shared_fs": {value: false}, "max_bulk": {value: 1},
		"condor/queue":   {value: "long", with: settings{"queues": settings{"long": "TARGET.Hours > 1"}}},
		"condor/project": {value: "mc", with: settings{"project_attribute": "P"}},
		"condor/qos":     {value: "high", with: settings{"qos_attribute": "Q"}},
		"pbs/qos":        {value: "high", with: settings{"qos_resource": "q"}},
	}
	for kind, line := range lines {
		out[kind+"/directives"] = commonTrial{value: []string{line}}
		out[kind+"/allow_directives"] = commonTrial{value: true, r: jjm.Request{Directives: line}}
	}
	return out
}

// base returns the settings that a kind of cluster requires.
func base(t *testing.T, kind string, f fakes) settings {
	t.Helper()
	all := settings{"bin": f.quiet}
	switch kind {
	case "command":
		path, err := filepath.Abs("../../etc/adapters/lsf.toml")
		if err != nil {
			t.Fatal(err)
		}
		all["description"] = path
	case "pbs":
		all["dialect"] = "openpbs"
	}
	return all
}

// TestCommon_EveryKeyOfEveryKindIsObserved tries each common setting on each kind of cluster. The setting changes the
// arguments of commands, the capabilities of the cluster, or its refusals. A kind that cannot have a setting refuses
// the setting, and its example does not show it.
func TestCommon_EveryKeyOfEveryKindIsObserved(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	keys := tomlKeys(reflect.TypeFor[adapters.Common]())
	for kind := range Registry() {
		if kind == "local" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			f := newFakes(t)
			trials := commonTrials(f)
			if one, two := seen(t, kind, f, base(t, kind, f), jjm.Request{}), seen(t, kind, f, base(t, kind, f),
				jjm.Request{}); one != two {
				t.Fatalf("the same settings differ:\n%s", cmp.Diff(one, two))
			}
			example, err := os.ReadFile("../../etc/clusters/" + kind + ".toml")
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				c, own := trials[kind+"/"+key]
				if !own {
					if c, own = trials[key]; !own {
						t.Errorf("no value to try %s with", key)
						continue
					}
				}
				without := base(t, kind, f)
				for k, v := range c.with {
					without[k] = v
				}
				with := settings{}
				for k, v := range without {
					with[k] = v
				}
				with[key] = c.value
				a, b := seen(t, kind, f, without, c.r), seen(t, kind, f, with, c.r)
				shown := strings.Contains(string(example), "\n# "+key+" = ") || strings.Contains(string(example), "\n"+key+" = ")
				refused := strings.HasPrefix(b, "refused: ")
				switch {
				case a == b:
					t.Errorf("%s changes nothing:\n%s", key, a)
				case strings.HasPrefix(a, "refused: "):
					t.Errorf("without %s: %s", key, a)
				case refused && shown && key != "shared_fs":
					t.Errorf("%s is shown in the example and %s", key, b)
				case !refused && !shown:
					t.Errorf("%s has an effect and is not shown in the example", key)
				}
			}
		})
	}
}

// tomlKeys returns the keys of a struct, including those of embedded structs.
func tomlKeys(of reflect.Type) (keys []string) {
	for f := range of.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case key == "" && f.Anonymous:
			keys = append(keys, tomlKeys(f.Type)...)
		case key != "" && key != "-":
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
