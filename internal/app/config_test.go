package app

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	adaptersall "jjm/adapters/all"
	"jjm/adapters/local"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/testkit/needs"
)

var update = flag.Bool("update", false, "write the .want files, and the table of docs/SOCKET.md, anew")

func getenv(env map[string]string) func(string) string {
	return func(key string) string { return env[key] }
}

var homeOnly = map[string]string{"HOME": "/home/user"}

// TestLoad_BadConfigurations loads every bad file in testdata/bad, and compares the error with the recorded text.
func TestLoad_BadConfigurations(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.toml")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recorded files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, _, err := Load(file, getenv(homeOnly))
			if err == nil {
				t.Fatal("accepted")
			}
			if jjm.KindOf(err) != jjm.Invalid {
				t.Errorf("kind %v, want invalid", jjm.KindOf(err))
			}
			wantFile := strings.TrimSuffix(file, ".toml") + ".want"
			if *update {
				if err := os.WriteFile(wantFile, []byte(err.Error()+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, errRead := os.ReadFile(wantFile)
			if errRead != nil {
				t.Fatal(errRead)
			}
			if got := err.Error() + "\n"; got != string(want) {
				t.Errorf("error:\n%swant:\n%s", got, want)
			}
		})
	}
}

func TestLoad_WithoutAFileTheDefaultsRunTheEmbeddedCluster(t *testing.T) {
	if _, err := os.Stat(DefaultPath); err == nil {
		needs.Missing(t, "a machine without "+DefaultPath, "run it where jjm is not installed, in a container say")
	}
	c, path, err := Load("", getenv(homeOnly))
	if err != nil || path != "" {
		t.Fatalf("Load: %v (path %q)", err, path)
	}
	if c.State != "/home/user/.local/state/jjm" || c.Work != "/home/user/.local/state/jjm/work" {
		t.Errorf("state %q, work %q", c.State, c.Work)
	}
	if len(c.Cluster) != 1 || c.Cluster[0]["kind"] != "local" {
		t.Errorf("clusters %v: want the embedded one", c.Cluster)
	}
}

// The test reads the list of storages of each cluster. A cluster without a list can read all storages.
func TestLoad_ClustersReadTheirStorages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jjm.toml")
	text := "[[cluster]]\nname = \"a\"\nkind = \"local\"\nstorages = [\"here\", \"tape\"]\n[[cluster]]\nname = \"b\"\nkind = \"local\"\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := Load(path, getenv(homeOnly))
	if err != nil {
		t.Fatal(err)
	}
	if want := []plan.Reader{{Name: "a", Storages: []string{"here", "tape"}}, {Name: "b"}}; !reflect.DeepEqual(c.Readers(),
		want) {
		t.Errorf("%+v, want %+v", c.Readers(), want)
	}
}

func TestLoad_ANamedFileMustExist(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.toml")
	for name, load := range map[string]func() error{
		"argument":    func() error { _, _, err := Load(missing, getenv(homeOnly)); return err },
		"environment": func() error { _, _, err := Load("", getenv(map[string]string{"JJM_CONFIG": missing})); return err },
	} {
		if err := load(); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), missing) {
			t.Errorf("%s: %v: want an invalid configuration that names %s", name, err, missing)
		}
	}
}

func TestStateDir_FollowsTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"JJM_STATE": "/a", "XDG_STATE_HOME": "/b", "HOME": "/c"}, "/a"},
		{map[string]string{"XDG_STATE_HOME": "/b", "HOME": "/c"}, "/b/jjm"},
		{map[string]string{"XDG_STATE_HOME": "relative", "HOME": "/c"}, "/c/.local/state/jjm"},
	} {
		if got := StateDir(getenv(c.env)); got != c.want {
			t.Errorf("%v: %q, want %q", c.env, got, c.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/bad/*.toml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, etcFile) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(t.TempDir(), "c.toml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, _, err := Load(file, getenv(homeOnly)); err == nil && (!filepath.IsAbs(c.State) || len(c.Cluster) == 0) {
			t.Errorf("accepted with state %q and %d clusters", c.State, len(c.Cluster))
		}
	})
}

// No kind of cluster has a key that all clusters have, because the adapter would never see its own value of that key.
func TestClusters_NoKindHasAKeyThatAllClustersHave(t *testing.T) {
	common := keysOf(reflect.TypeFor[engine.ClusterConfig]())
	for kind, build := range adaptersall.Registry() {
		decoded := false
		_, _ = build("x", adapters.Env{}, func(into any) error {
			decoded = true
			for key := range keysOf(reflect.TypeOf(into).Elem()) {
				if common[key] || key == "name" || key == "kind" {
					t.Errorf("%s: its setting %q is one that all clusters have", kind, key)
				}
			}
			return errOnlyChecked
		})
		if !decoded {
			t.Errorf("%s: does not decode its settings first", kind)
		}
	}
}

// keysOf returns the TOML keys of a struct, including the keys of embedded structs.
func keysOf(t reflect.Type) map[string]bool {
	keys := map[string]bool{}
	for f := range t.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case key == "" && f.Anonymous:
			maps.Copy(keys, keysOf(f.Type))
		case key != "" && key != "-":
			keys[key] = true
		}
	}
	return keys
}

func TestLoad_RulesAboutHolds(t *testing.T) {
	const rules = `[engine]
hold_max_age = "6h"
[[engine.hold]]
code = "13/*"
do = "release"
times = 3
after = "5m"
[[cluster]]
name = "local"
kind = "local"
[[cluster.hold]]
text = "(?i)quota"
do = "wait"
[[cluster.hold]]
by = "operator"
do = "fail"
`
	load := func(text string) (Config, error) {
		file := filepath.Join(t.TempDir(), "jjm.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := Load(file, func(key string) string { return map[string]string{"HOME": "/home/user"}[key] })
		return c, err
	}
	c, err := load(rules)
	if err != nil {
		t.Fatal(err)
	}
	if h := c.Engine.Hold; len(h) != 1 || h[0].Times != 3 || h[0].After.D() != 5*time.Minute ||
		c.Engine.HoldMaxAge.D() != 6*time.Hour {
		t.Errorf("the site's: %+v", h)
	}
	common := c.clusterDefaults(c.Cluster[0])
	ps := decodeCluster(0, c.Cluster[0], &common, &local.Config{})
	if h := common.Hold; len(ps) > 0 || len(h) != 2 || !h[0].Text.MatchString("over Quota") || h[1].By != "operator" {
		t.Errorf("the cluster's: %+v, %v", h, ps)
	}
	for _, bad := range []struct{ old, new, want string }{
		{`do = "release"`, `do = "relaese"`, `engine.hold[0].do: "relaese": want "wait", "release", "retry" or "fail"`},
		{`do = "wait"`, `dew = "wait"`, `cluster[0].hold[0].dew: unknown key`},
		{`by = "operator"`, `by = "boss"`, `cluster[0].hold[1].by: "boss": want "batch system", "operator" or "any"`},
		{`"(?i)quota"`, `"(quota"`, `cluster[0].hold[0].text: error parsing regexp`},
		{`hold_max_age = "6h"`, `hold_max_age = "0s"`, `engine.hold_max_age: want a duration above 0`},
	} {
		if _, err := load(strings.Replace(rules, bad.old, bad.new, 1)); err == nil ||
			!strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v\nwant %s", bad.new, err, bad.want)
		}
	}
}
