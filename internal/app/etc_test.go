package app

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"jjm/adapters/idealize"
	"jjm/adapters/local"
	"jjm/internal/api/server"
	"jjm/internal/engine"
	"jjm/internal/policy/analyse/rule"
	"jjm/internal/policy/plan"
	"jjm/internal/publish/advertise/collector"
	"jjm/internal/publish/metrics"
	"jjm/internal/publish/notify"
	"jjm/internal/publish/web"
)

const etcFile = "../../etc/jjm.toml"

// TestEtc_ShippedFileIsValidAsItIsAndWithEveryDefaultSet loads etc/jjm.toml as shipped, and again with its
// commented-out defaults enabled. Both results must be equal, so the file names the program's defaults.
func TestEtc_ShippedFileIsValidAsItIsAndWithEveryDefaultSet(t *testing.T) {
	text, err := os.ReadFile(etcFile)
	if err != nil {
		t.Fatal(err)
	}
	set := regexp.MustCompile(`(?m)^# ([a-z_]+ = )`).ReplaceAllString(string(text), "$1")
	set = strings.Replace(set, "/usr/libexec/jjm/jjm-wrapper", "/bin/sh", 1) // any program that exists
	full := filepath.Join(t.TempDir(), "full.toml")
	if err := os.WriteFile(full, []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(key string) string { return map[string]string{"HOME": "/home/user"}[key] }
	plain, _, err := Load(etcFile, env)
	if err != nil {
		t.Fatalf("as shipped: %v", err)
	}
	c, _, err := Load(full, env)
	if err != nil {
		t.Fatalf("with every default set: %v", err)
	}
	common := c.clusterDefaults(c.Cluster[0])
	if ps := decodeCluster(0, c.Cluster[0], &common, &local.Config{}); len(ps) > 0 ||
		!reflect.DeepEqual(common, plain.clusterDefaults(plain.Cluster[0])) {
		t.Errorf("[[cluster]] of the file: %v\n%+v\nof the program:\n%+v", ps, common,
			plain.clusterDefaults(plain.Cluster[0]))
	}
	if c.Reserve != plain.Reserve || c.Reserve == 0 {
		t.Errorf("reserve_bytes of the file: %d, of the program: %d", c.Reserve, plain.Reserve)
	}
	if want := engine.Defaults(); !reflect.DeepEqual(c.Engine, want) || !reflect.DeepEqual(plain.Engine, want) {
		t.Errorf("[engine] of the file:\n%+v\nof the program:\n%+v", c.Engine, want)
	}
	defaults := collector.Defaults()
	defaults.Site = siteName()
	defaults.Env = map[string]string{}
	if !reflect.DeepEqual(c.Advertise, defaults) {
		t.Errorf("[advertise] of the file:\n%+v\nof the program:\n%+v", c.Advertise, defaults)
	}
	if c.Metrics != (metrics.Config{}) {
		t.Errorf("[metrics] of the file: %+v", c.Metrics)
	}
	if c.Web != (web.Config{}) {
		t.Errorf("[web] of the file: %+v", c.Web)
	}
	if !reflect.DeepEqual(c.Notify, notify.Defaults()) {
		t.Errorf("[notify] of the file: %+v", c.Notify)
	}
	got, want := c.Gate.WithDefaults(), server.Config{}.WithDefaults()
	got.UserName, want.UserName = nil, nil
	got.Admins = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("[gate] of the file:\n%+v\nof the program:\n%+v", got, want)
	}
}

// TestEtc_ShippedFileNamesEverySetting requires that etc/jjm.toml names every key of the configuration, as found in
// the toml tags of its structs.
func TestEtc_ShippedFileNamesEverySetting(t *testing.T) {
	text, err := os.ReadFile(etcFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []any{Config{}, engine.Config{}, engine.Defaults().Retry, engine.ClusterConfig{},
		idealize.Config{}, plan.HoldRule{}, rule.Rule{}, server.Config{}, local.Config{}, collector.Config{},
		collector.Gatekeeper{}, metrics.Config{}, web.Config{}, notify.Config{}} {
		typ := reflect.TypeOf(part)
		for i := range typ.NumField() {
			key, _, _ := strings.Cut(typ.Field(i).Tag.Get("toml"), ",")
			if key == "" {
				key, _, _ = strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			}
			if key == "" || key == "-" {
				continue
			}
			named := regexp.MustCompile(`(?m)^(# +)?` + key + ` = |^(# )?\[+((engine|advertise)\.)?` + key + `\]+$`)
			if !named.Match(text) {
				t.Errorf("%s: setting %q is not in %s", typ, key, etcFile)
			}
		}
	}
}
