package app

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"jjm"
	"jjm/adapters"
	adaptersall "jjm/adapters/all"
	"jjm/engine"
	"jjm/gate"
	"jjm/internal/strict"
	"jjm/plan"
	"jjm/publish/advertise/collector"
)

// Config is the whole configuration. Each package owns its part.
type Config struct {
	// State is the folder of the store, the records and the socket: on a local
	// disk. Empty: see StateDir.
	State string `toml:"state"`
	// Work is the folder of the work areas, seen by the workers under the same
	// path. Empty: "work" below State.
	Work string `toml:"work"`
	// Wrapper is the jjm-wrapper program. Empty: beside the daemon.
	Wrapper string `toml:"wrapper"`
	// RunAs says as whom jobs, commands of batch systems and all work on files of
	// jobs are done: "service" (the daemon's account, the default) or "owner"
	// (each owner; the daemon is root).
	RunAs string `toml:"run_as"`
	// JobTypes is the folder of files that declare job types of the site's own. Empty:
	// "job-types.d" below State.
	JobTypes string `toml:"job_types"`
	// Reserve is how much is kept allocated on the state's file system while the letter
	// box is on it too, in bytes, but at most a sixteenth of it; 0 = nothing.
	Reserve int64 `toml:"reserve_bytes"`
	// Log is the least level logged: debug, info, warn or error.
	Log string `toml:"log"`
	// Engine and Gate are those packages' parts.
	Engine engine.Config `toml:"engine"`
	Gate   gate.Config   `toml:"gate"`
	// Accounting is what is written for the site's accounting.
	Accounting AccountingConfig `toml:"accounting"`
	// Advertise is what brokers are told, and where they are.
	Advertise collector.Config `toml:"advertise"`
	// Cluster are the batch systems; the first is the default. Each has a
	// name, a kind, and the settings of its kind.
	Cluster []map[string]any `toml:"cluster"`
}

// DefaultPath is where the configuration lies unless told otherwise.
const DefaultPath = "/etc/jjm/jjm.toml"

// Load reads the configuration. An empty path means $JJM_CONFIG, else
// DefaultPath if there is such a file, else the defaults alone. All mistakes
// are reported at once, with their places.
func Load(path string, getenv func(string) string) (Config, string, error) {
	c := Config{Log: "info", Reserve: 64 << 20, Engine: engine.Defaults(), Advertise: collector.Defaults()}
	path, given := locate(path, getenv)
	places, broken := strict.Places{}, jjm.Problems(nil)
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil && (given || !os.IsNotExist(err)) {
			return Config{}, path, jjm.Errorf(jjm.Invalid, "configuration: %w", err)
		}
		if err != nil {
			path = ""
		}
		if path != "" {
			places, broken = strict.Decode(path, text, &c)
		}
	}
	c.fill(getenv)
	if problems := append(broken, broken.Unsaid(c.check())...); len(problems) > 0 {
		return Config{}, path, places.Locate(problems).Err()
	}
	return c, path, nil
}

// locate chooses the file; given tells whether somebody named it.
func locate(path string, getenv func(string) string) (string, bool) {
	if path != "" {
		return path, true
	}
	if env := getenv("JJM_CONFIG"); env != "" {
		return env, true
	}
	return DefaultPath, false
}

// fill sets what depends on other settings.
func (c *Config) fill(getenv func(string) string) {
	if env := getenv("JJM_STATE"); c.State == "" || env != "" {
		c.State = StateDir(getenv)
	}
	if c.Work == "" {
		c.Work = filepath.Join(c.State, "work")
	}
	if c.JobTypes == "" {
		c.JobTypes = filepath.Join(c.State, ownTypes)
	}
	if c.RunAs == "" {
		c.RunAs = runAsService
	}
	if c.Advertise.Site == "" {
		c.Advertise.Site = siteName()
	}
	if len(c.Cluster) == 0 {
		c.Cluster = []map[string]any{{"name": "local", "kind": "local"}}
	}
}

// StateDir is the state folder of a site that names none: $JJM_STATE, else
// jjm below $XDG_STATE_HOME, whose default is ~/.local/state (XDG Base
// Directory Specification).
func StateDir(getenv func(string) string) string {
	if dir := getenv("JJM_STATE"); dir != "" {
		return dir
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "jjm")
	}
	return filepath.Join(getenv("HOME"), ".local", "state", "jjm")
}

// nobody is an environment without variables.
func nobody(string) string { return "" }

// check finds what is wrong with values.
func (c *Config) check() jjm.Problems {
	problems := slices.Concat(c.Engine.Check(), c.Accounting.Check(), c.Advertise.Check())
	for _, p := range c.Gate.Check() {
		p.Field = "gate." + strings.TrimPrefix(p.Field, "gate.")
		problems = append(problems, p)
	}
	for _, dir := range []struct{ field, path string }{{"state", c.State}, {"work", c.Work}} {
		if dir.field == "state" && dir.path == StateDir(nobody) {
			problems = append(problems, jjm.Problem{Field: dir.field,
				Text: "there is no default, for HOME is not set: set HOME or JJM_STATE, or state in the configuration"})
			return problems
		}
		if !filepath.IsAbs(dir.path) {
			problems = append(problems, jjm.Problem{Field: dir.field,
				Text: fmt.Sprintf("%q: want an absolute path", dir.path)})
		}
	}
	problems = append(append(problems, c.checkTypes()...), c.checkRunAs()...)
	if c.Reserve < 0 {
		problems = append(problems, jjm.Problem{Field: "reserve_bytes", Text: fmt.Sprintf("%d: want 0 or more", c.Reserve)})
	}
	if _, err := level(c.Log); err != nil {
		problems = append(problems, jjm.Problem{Field: "log", Text: err.Error()})
	}
	if err := program(c.Wrapper); c.Wrapper != "" && err != nil {
		problems = append(problems, jjm.Problem{Field: "wrapper", Text: err.Error() + ": want the jjm-wrapper program"})
	}
	return append(problems, c.checkClusters()...)
}

// program reports an error unless path is a file that can be run.
func program(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not a program: its mode is %v", path, info.Mode())
	}
	return nil
}

// checkClusters finds clusters without a name or kind, or named twice.
func (c *Config) checkClusters() jjm.Problems {
	var problems jjm.Problems
	seen := map[string]bool{}
	for i, section := range c.Cluster {
		field := func(key string) string { return clusterField(i, key) }
		name, _ := section["name"].(string)
		switch {
		case !plainName(name):
			problems = append(problems, jjm.Problem{Field: field("name"),
				Text: fmt.Sprintf("%.40q: want a name of letters, digits, - and _, such as \"local\"", name)})
		case name == jjm.AnyCluster:
			problems = append(problems, jjm.Problem{Field: field("name"),
				Text: fmt.Sprintf("%q stands for every cluster in a job file: choose another name", name)})
		case seen[name]:
			problems = append(problems, jjm.Problem{Field: field("name"),
				Text: fmt.Sprintf("%q is the name of another cluster", name)})
		}
		seen[name] = true
		kind, _ := section["kind"].(string)
		build := adaptersall.Registry()[kind]
		if build == nil {
			problems = append(problems, jjm.Problem{Field: field("kind"),
				Text: fmt.Sprintf("%.40q: want the kind of batch system; this jjm knows %v", kind, kinds())})
			continue
		}
		problems = append(problems, c.checkSettings(build, name, i, section)...)
	}
	return problems
}

// Readers are the clusters, in order, with the storages that they read.
func (c *Config) Readers() []plan.Reader {
	readers := make([]plan.Reader, len(c.Cluster))
	for i, section := range c.Cluster {
		name, _ := section["name"].(string)
		common := c.clusterDefaults(section)
		kind, _ := section["kind"].(string)
		_, _ = adaptersall.Registry()[kind](name, adapters.Env{}, func(into any) error { // it was checked
			decodeCluster(i, section, &common, into)
			return errOnlyChecked
		})
		readers[i] = plan.Reader{Name: name, Storages: common.Storages}
	}
	return readers
}

// errOnlyChecked stops an adapter's construction once its settings are decoded.
var errOnlyChecked = errors.New("only checked")

// checkSettings decodes a cluster's settings without opening anything.
func (c *Config) checkSettings(build maker, name string, i int, section map[string]any) jjm.Problems {
	common := c.clusterDefaults(section)
	var problems jjm.Problems
	_, err := build(name, adapters.Env{}, func(into any) error {
		problems = decodeCluster(i, section, &common, into)
		return errOnlyChecked
	})
	if err == nil || !errors.Is(err, errOnlyChecked) {
		problems = append(problems, jjm.Problem{Field: clusterField(i, ""), Text: fmt.Sprint("cannot be checked: ", err)})
	}
	var values jjm.Problems
	for _, p := range common.Check() {
		p.Field = clusterField(i, p.Field)
		values = append(values, p)
	}
	return append(problems, problems.Unsaid(values)...)
}

// decodeCluster reads a cluster's section into the settings that all clusters
// have and into those of its kind.
func decodeCluster(i int, section map[string]any, common *engine.ClusterConfig, own any) jjm.Problems {
	return strict.DecodeMap(settings(section), clusterField(i, ""), common, own)
}

// clusterField names a key of the i-th cluster, or with no key the cluster.
func clusterField(i int, key string) string {
	if key != "" {
		key = "." + key
	}
	return fmt.Sprintf("cluster[%d]%s", i, key)
}

// clusterDefaults are the settings of a cluster whose section sets nothing. The
// embedded batch system has no ceiling: its commands are calls within this
// process.
func (c *Config) clusterDefaults(section map[string]any) engine.ClusterConfig {
	d := c.Engine.ClusterDefaults()
	if section["kind"] == "local" {
		d.CommandsPerMinute = 0
	}
	return d
}

// maker makes the adapter of one kind.
type maker = func(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error)

// settings are a cluster's keys but for name and kind.
func settings(section map[string]any) map[string]any {
	out := maps.Clone(section)
	delete(out, "name")
	delete(out, "kind")
	return out
}

// kinds are the built-in kinds of clusters.
func kinds() []string { return slices.Sorted(maps.Keys(adaptersall.Registry())) }

func plainName(s string) bool {
	if s == "" || len(s) > 40 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) < 0
}
