package pbs

import (
	"os"
	"regexp"
	"testing"

	"github.com/BurntSushi/toml"

	"jjm/adapters"
	"jjm/internal/formats/strict"
)

// The test uncomments the settings of etc/clusters/pbs.toml.
func TestEtc_ShowsEverySetting(t *testing.T) {
	text, err := os.ReadFile("../../etc/clusters/pbs.toml")
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`(?m)^# ([a-z_]+ = )`).ReplaceAll(text, []byte("$1"))
	var file struct {
		Cluster []map[string]any `toml:"cluster"`
	}
	if err := toml.Unmarshal(text, &file); err != nil || len(file.Cluster) != 1 {
		t.Fatalf("%d clusters, error %v", len(file.Cluster), err)
	}
	section := file.Cluster[0]
	delete(section, "name")
	delete(section, "kind")
	if n := len(section); n != 17 {
		t.Errorf("%d settings are shown, the configuration has 17", n)
	}
	_, err = New("pbs", adapters.Env{}, func(config any) error {
		if problems := strict.DecodeMap(section, "cluster[0]", config); len(problems) > 0 {
			return problems.Err()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
