package command_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"jjm/adapters"
	"jjm/adapters/command"
	"jjm/internal/formats/strict"
)

// In the example etc/clusters/command.toml most settings are commented out. The test removes the comment signs,
// requires that the common settings are shown, and makes an adapter from all of them.
func TestExampleCluster_EveryKeyIsKnown(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "etc", "clusters", "command.toml"))
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`(?m)^# ([a-z_]+ = )`).ReplaceAll(text, []byte("$1"))
	var file struct {
		Cluster []map[string]any `toml:"cluster"`
	}
	if _, ps := strict.Decode("command.toml", text, &file); ps != nil || len(file.Cluster) != 1 {
		t.Fatalf("%v, %d clusters", ps, len(file.Cluster))
	}
	settings := file.Cluster[0]
	if settings["kind"] != "command" {
		t.Errorf("kind %v", settings["kind"])
	}
	delete(settings, "name")
	delete(settings, "kind")
	settings["description"] = shipped(t, "lsf.toml")
	for _, key := range []string{"bin", "env", "queue", "account", "project", "qos", "directives", "allow_directives",
		"hook", "shared_fs", "max_bulk"} {
		if _, known := settings[key]; !known {
			t.Errorf("the example does not show %s", key)
		}
	}
	a, err := command.New("lsf", adapters.Env{State: t.TempDir()}, func(into any) error {
		return strict.DecodeMap(settings, "cluster[0]", into).Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := a.Capabilities(); !c.TwoPhase || !c.SharedFS || c.MaxBulk != 1000 || !c.Accounting {
		t.Errorf("%+v", c)
	}
}

// Decoding the configuration is enough to find a mistake in the description. "jjm config check" therefore finds it too.
func TestExampleCluster_CheckingTheConfigurationChecksTheDescription(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.toml")
	if err := os.WriteFile(path, []byte("name = \"x\"\nlits = {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := command.DefaultConfig()
	ps := strict.DecodeMap(map[string]any{"description": path}, "cluster[0]", &c)
	found := regexp.MustCompile(`bad\.toml:2: lits: unknown key "lits": did you mean "list"`)
	named := 0
	for _, p := range ps {
		if found.MatchString(p.Text) && strings.HasPrefix(p.Text, path) {
			named++
		}
		if p.Field != "cluster[0].description" || strings.Contains(p.Text, "\n") {
			t.Errorf("not one mistake of the description: %q", p)
		}
	}
	if named != 1 || len(ps) < 4 { // each missing setting is a mistake
		t.Errorf("problems %v", ps)
	}
}
