package app

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"jjm/adapters"
	adaptersall "jjm/adapters/all"
	"jjm/internal/api/server"
	"jjm/internal/engine"
	"jjm/internal/formats/nearest"
	"jjm/internal/formats/strict"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/publish/advertise/collector"
	"jjm/internal/publish/metrics"
	"jjm/internal/publish/notify"
	"jjm/internal/publish/web"
)

// Config is the whole configuration. Each package owns its part.
type Config struct {
	// State is the folder of the store, the records and the socket, on a local disk. If empty, see StateDir.
	State string `toml:"state"`
	// Work is the folder of the work areas. Workers see it under the same path. If empty, it is "work" below State.
	Work string `toml:"work"`
	// Wrapper is the path of jjm-wrapper. If empty, it is beside the daemon.
	Wrapper string `toml:"wrapper"`
	// RunAs is the account that runs jobs and the commands of batch systems, and that reads and writes the files of
	// jobs: "service" (the daemon's account, the default) or "owner" (the owner of each job; the daemon runs as root).
	RunAs string `toml:"run_as"`
	// JobTypes is the folder of files that declare the site's own job types. If empty, it is "job-types.d" below State.
	JobTypes string `toml:"job_types"`
	// Models is the folder of the models of job files. If empty, it is "models.d" below State.
	Models string `toml:"models"`
	// Reserve is the number of bytes kept allocated on the state's file system while the spool is on the same file
	// system, but at most a sixteenth of the file system; 0 = none.
	Reserve int64 `toml:"reserve_bytes"`
	// Log is the lowest level that is logged: debug, info, warn or error.
	Log string `toml:"log"`
	// Engine and Gate are the settings of package engine (the work of the daemon) and of package server (its socket).
	Engine engine.Config `toml:"engine"`
	Gate   server.Config `toml:"gate"`
	// Accounting are the settings of the site's accounting.
	Accounting AccountingConfig `toml:"accounting"`
	// Notify are the settings of notices about the ends of grid jobs.
	Notify notify.Config `toml:"notify"`
	// Advertise contains the facts about the site that are published to brokers, and the collectors that receive them.
	Advertise collector.Config `toml:"advertise"`
	// Metrics are the settings of the listener for Prometheus.
	Metrics metrics.Config `toml:"metrics"`
	// Web are the settings of the web page.
	Web web.Config `toml:"web"`
	// Cluster are the batch systems; the first is the default. Each section has a name, a kind, and the settings of its
	// kind.
	Cluster []map[string]any `toml:"cluster"`

	// stated is the value of State in the file, before defaults and $JJM_STATE were applied; "" if the file has none.
	stated string
}

// DefaultPath is the default path of the configuration.
const DefaultPath = "/etc/jjm/jjm.toml"

// Load reads the configuration at path. If path is "", it reads the file that $JJM_CONFIG names, or else DefaultPath;
// if there is no file at DefaultPath, it returns the defaults. The string is the path of the file that was read, "" if
// none was. The error contains all mistakes with their places in the file.
func Load(path string, getenv func(string) string) (Config, string, error) {
	c, path, places, problems := read(path, getenv)
	if len(problems) > 0 {
		return Config{}, path, places.Locate(problems).Err()
	}
	return c, path, nil
}

// read reads and checks the configuration. It returns the settings, the path of the file, the places of the settings in
// the file, and all problems, which do not contain their places yet.
func read(path string, getenv func(string) string) (Config, string, strict.Places, jjm.Problems) {
	c := Config{Log: "info", Reserve: 64 << 20, Engine: engine.Defaults(), Advertise: collector.Defaults(),
		Notify: notify.Defaults()}
	path, given := locate(path, getenv)
	if full, err := filepath.Abs(path); err == nil { // so that what is printed holds in each folder
		path = full
	}
	places, broken := strict.Places{}, jjm.Problems(nil)
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil && (given || !os.IsNotExist(err)) {
			c.setDefaults(getenv)
			return c, path, places, jjm.Problems{{Text: fmt.Sprintf("configuration: %v", err)}}
		}
		if err != nil {
			path = ""
		}
		if path != "" {
			places, broken = strict.Decode(path, text, &c)
		}
	}
	c.setDefaults(getenv)
	return c, path, places, append(broken, broken.Unsaid(c.check())...)
}

// locate returns the path of the configuration file, and whether the user or the environment named it. Such a file must
// exist. The file at the default path need not exist, so for that path the result is false.
func locate(path string, getenv func(string) string) (string, bool) {
	if path != "" {
		return path, true
	}
	if env := getenv("JJM_CONFIG"); env != "" {
		return env, true
	}
	return DefaultPath, false
}

// setDefaults sets the defaults that depend on other settings or the environment.
func (c *Config) setDefaults(getenv func(string) string) {
	c.stated = c.State
	if env := getenv("JJM_STATE"); c.State == "" || env != "" {
		c.State = StateDir(getenv)
	}
	if c.Work == "" {
		c.Work = filepath.Join(c.State, "work")
	}
	if c.JobTypes == "" {
		c.JobTypes = filepath.Join(c.State, ownTypes)
	}
	if c.Models == "" {
		c.Models = filepath.Join(c.State, ownModels)
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

// StateDir returns the default state folder: $JJM_STATE, else jjm below $XDG_STATE_HOME, whose default is
// ~/.local/state (XDG Base Directory Specification).
func StateDir(getenv func(string) string) string {
	if dir := getenv("JJM_STATE"); dir != "" {
		return dir
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "jjm")
	}
	return filepath.Join(getenv("HOME"), ".local", "state", "jjm")
}

// noEnv is an environment without variables.
func noEnv(string) string { return "" }

// check returns the problems of all values.
func (c *Config) check() jjm.Problems {
	problems := slices.Concat(c.Engine.Check(), c.Accounting.Check(), c.Advertise.Check(), c.Metrics.Check(),
		c.Web.Check(), c.Notify.Check())
	for _, p := range c.Gate.Check() {
		p.Field = "gate." + strings.TrimPrefix(p.Field, "gate.")
		problems = append(problems, p)
	}
	problems = append(append(problems, c.checkHolds()...), c.checkFolders()...)
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

// checkHolds returns the problems of rules about holds that name a kind of cluster that the site does not have. Such
// rules would match nothing.
func (c *Config) checkHolds() (problems jjm.Problems) {
	for i, rule := range c.Engine.Hold {
		if rule.Kind == "" || slices.Contains(kinds(), rule.Kind) {
			continue
		}
		text := fmt.Sprintf("%.40q: want a kind of cluster, one of %s", rule.Kind, strings.Join(kinds(), ", "))
		if meant := nearest.Of(rule.Kind, kinds()); meant != "" {
			text = fmt.Sprintf("%.40q: did you mean %q?", rule.Kind, meant)
		}
		problems = append(problems, jjm.Problem{Field: fmt.Sprintf("engine.hold[%d].kind", i), Text: text})
	}
	return problems
}

// checkFolders returns the problems of paths that must be absolute.
func (c *Config) checkFolders() (problems jjm.Problems) {
	if c.State == StateDir(noEnv) { // HOME is not set, so the default is not absolute
		problems = append(problems, jjm.Problem{Field: "state",
			Text: "there is no default, for HOME is not set: set HOME or JJM_STATE, or state in the configuration"})
	} else if !filepath.IsAbs(c.State) {
		problems = append(problems, jjm.Problem{Field: "state", Text: fmt.Sprintf("%q: want an absolute path", c.State)})
	}
	if !filepath.IsAbs(c.Work) && c.Work != filepath.Join(c.State, "work") {
		problems = append(problems, jjm.Problem{Field: "work", Text: fmt.Sprintf("%q: want an absolute path", c.Work)})
	}
	return problems
}

// program returns an error unless path is an executable file.
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

// checkClusters returns the problems of the clusters: a missing name, a name given twice, an unknown kind, and the
// problems of their settings.
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
			meant := nearest.Of(kind, kinds())
			problems = append(problems, jjm.Problem{Field: field("kind"), Text: unknownKind(kind, meant)})
			build = adaptersall.Registry()[meant] // the section's settings are checked as settings of the meant kind
		}
		if build == nil {
			build = anyKind
		}
		problems = append(problems, c.checkSettings(build, name, i, section)...)
	}
	return problems
}

// unknownKind describes an unknown kind and names the kind that is probably meant.
func unknownKind(kind, meant string) string {
	text := fmt.Sprintf("%.40q: want the kind of the batch system, one of %s", kind, strings.Join(kinds(), ", "))
	if meant == "" {
		return text + "; the settings of its kind were not looked at: check again when this is right"
	}
	return text + fmt.Sprintf("; did you mean %q? The other settings are checked as those of %s", meant, meant)
}

// anyKind stands for the constructor of an adapter if the kind is unknown. Only the settings that all clusters have are
// then checked.
func anyKind(_ string, _ adapters.Env, decode func(config any) error) (adapters.Adapter, error) {
	return nil, decode(nil)
}

// Readers returns the clusters, in order, with the storages that they can read.
func (c *Config) Readers() []plan.Reader {
	readers := make([]plan.Reader, len(c.Cluster))
	for i, section := range c.Cluster {
		name, _ := section["name"].(string)
		common := c.clusterDefaults(section)
		kind, _ := section["kind"].(string)
		_, _ = adaptersall.Registry()[kind](name, adapters.Env{}, func(into any) error { // check has already reported errors
			decodeCluster(i, section, &common, into)
			return errOnlyChecked
		})
		readers[i] = plan.Reader{Name: name, Storages: common.Storages}
	}
	return readers
}

// errOnlyChecked stops the constructor of an adapter after it has decoded its settings, so that nothing is opened.
var errOnlyChecked = errors.New("only checked")

// checkSettings returns the problems of a cluster's settings. It calls the constructor of the adapter only to decode
// the settings, and opens nothing.
func (c *Config) checkSettings(build maker, name string, i int, section map[string]any) jjm.Problems {
	common := c.clusterDefaults(section)
	env := adapters.Env{Owners: c.RunAs == runAsOwner}
	var problems, values jjm.Problems
	_, err := build(name, env, func(into any) error {
		problems = decodeCluster(i, section, &common, into)
		if own, ok := into.(adapters.Checked); ok {
			values = own.Check(name, env)
		}
		return errOnlyChecked
	})
	if err == nil || !errors.Is(err, errOnlyChecked) {
		problems = append(problems, jjm.Problem{Field: clusterField(i, ""), Text: fmt.Sprint("cannot be checked: ", err)})
	}
	values = append(values, common.Check()...)
	for k, p := range values { // the field names lead to the lines of the keys in the file
		values[k] = jjm.Problem{Field: clusterField(i, p.Field), Text: p.Text}
	}
	return append(problems, problems.Unsaid(values)...)
}

// adviceOnClusters returns notes on settings of clusters that are valid but may surprise. Clusters of an unknown kind
// are skipped.
func (c *Config) adviceOnClusters() (notes jjm.Problems) {
	for i, section := range c.Cluster {
		name, _ := section["name"].(string)
		kind, _ := section["kind"].(string)
		build := adaptersall.Registry()[kind]
		if build == nil {
			continue
		}
		common := c.clusterDefaults(section)
		_, _ = build(name, adapters.Env{}, func(into any) error { // checkSettings reports its problems
			decodeCluster(i, section, &common, into)
			if own, ok := into.(adapters.Advised); ok {
				for _, p := range own.Advice() {
					notes = append(notes, jjm.Problem{Field: clusterField(i, p.Field), Text: p.Text})
				}
			}
			return errOnlyChecked
		})
	}
	return notes
}

// decodeCluster decodes a cluster's section into common, the settings that all clusters have, and own, the settings of
// the cluster's kind. If own is nil, other keys are ignored.
func decodeCluster(i int, section map[string]any, common *engine.ClusterConfig, own any) jjm.Problems {
	if own == nil {
		known, table := strict.Keys(common), settings(section)
		maps.DeleteFunc(table, func(key string, _ any) bool { return !slices.Contains(known, key) })
		return strict.DecodeMap(table, clusterField(i, ""), common)
	}
	problems := strict.DecodeMap(settings(section), clusterField(i, ""), common, own)
	above := strict.Above(&Config{})
	for p := range problems {
		key := strings.TrimPrefix(problems[p].Field, clusterField(i, "")+".")
		if strings.HasPrefix(problems[p].Text, "unknown key") && slices.Contains(above, key) {
			problems[p].Text = strict.Misplaced(key, "file")
		}
	}
	return problems
}

// clusterField returns the name of a key of the i-th cluster, or of the cluster if key is "".
func clusterField(i int, key string) string {
	if key != "" {
		key = "." + key
	}
	return fmt.Sprintf("cluster[%d]%s", i, key)
}

// clusterDefaults returns the default settings of a cluster. The embedded batch system has no limit on commands,
// because its commands are calls within this process.
func (c *Config) clusterDefaults(section map[string]any) engine.ClusterConfig {
	d := c.Engine.ClusterDefaults()
	if section["kind"] == "local" {
		d.CommandsPerMinute = 0
	}
	return d
}

// maker creates the adapter of a kind of cluster.
type maker = func(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error)

// settings returns a cluster's section without the keys name and kind.
func settings(section map[string]any) map[string]any {
	out := maps.Clone(section)
	delete(out, "name")
	delete(out, "kind")
	return out
}

// kinds returns the built-in kinds of clusters.
func kinds() []string { return slices.Sorted(maps.Keys(adaptersall.Registry())) }

// plainName reports whether a text is a valid name of a cluster: 1 to 40 letters, digits, - and _.
func plainName(s string) bool {
	if s == "" || len(s) > 40 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) < 0
}
