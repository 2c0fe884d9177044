package house_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"jjm/adapters"
	adaptersall "jjm/adapters/all"
	"jjm/internal/api/server"
	"jjm/internal/app"
	"jjm/internal/engine"
	"jjm/internal/policy/analyse/rule"
	"jjm/internal/policy/plan"
	"jjm/internal/publish/advertise/collector"
	"jjm/internal/publish/notify"
)

// setting is a key of the configuration, with the struct and the field that it sets, and its default.
type setting struct {
	key, owner, field string
	value             any
}

// allSettings returns the settings of etc/jjm.toml and etc/clusters/*.toml. The keys of clusters are:
//
//	cluster.KEY  every cluster has it
//	command.KEY  clusters with commands have it
//	KIND.KEY     only one kind has it
//	hold.KEY     a rule about holds has it
//	rule.KEY     a rule about the ends of attempts has it
func allSettings(t *testing.T) (all []setting) {
	t.Helper()
	all = settingsOf(reflect.ValueOf(app.Config{Log: "info", Reserve: 64 << 20, Engine: engine.Defaults(),
		Gate: server.Config{}.WithDefaults(), Advertise: collector.Defaults(), Notify: notify.Defaults()}), "")
	all = append(all, settingsOf(reflect.ValueOf(engine.Defaults().ClusterDefaults()), "cluster.")...)
	all = append(all, settingsOf(reflect.ValueOf(plan.HoldRule{}), "hold.")...)
	all = append(all, settingsOf(reflect.ValueOf(rule.Rule{}), "rule.")...)
	all = append(all, settingsOf(reflect.ValueOf(collector.Gatekeeper{}), "advertise.gatekeeper.")...)
	all = append(all, settingsOf(reflect.ValueOf(adapters.DefaultCommon()), "command.")...)
	for kind, build := range adaptersall.Registry() {
		_, err := build("x", adapters.Env{}, func(into any) error {
			for _, s := range settingsOf(reflect.ValueOf(into).Elem(), kind+".") {
				if !strings.HasPrefix(s.owner, "jjm/adapters.") {
					all = append(all, s)
				}
			}
			return errSeen
		})
		if !errors.Is(err, errSeen) {
			t.Fatal(kind, err)
		}
	}
	return all
}

// errSeen stops the construction of an adapter after the adapter asked for its settings.
var errSeen = errors.New("seen")

// settingsOf returns the settings of a struct and of the structs in it.
func settingsOf(v reflect.Value, prefix string) (all []setting) {
	of := v.Type()
	for i := range of.NumField() {
		f := of.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		inner := f.Type.Kind() == reflect.Struct && f.Type.Name() != "Duration" && f.Type.NumField() > 0 &&
			f.Type.Field(0).Tag != ""
		switch {
		case !f.IsExported() || key == "-":
		case f.Anonymous && key == "":
			all = append(all, settingsOf(v.Field(i), prefix)...)
		case inner && key != "" && f.Type.Field(0).Tag.Get("toml") != "":
			all = append(all, settingsOf(v.Field(i), prefix+key+".")...)
		case key != "":
			all = append(all, setting{prefix + key, of.PkgPath() + "." + of.Name(), f.Name, v.Field(i).Interface()})
		}
	}
	return all
}

// settingNamed returns the setting with a key.
func settingNamed(t *testing.T, key string) (setting, bool) {
	t.Helper()
	for _, s := range allSettings(t) {
		if s.key == key {
			return s, true
		}
	}
	return setting{}, false
}

// TestSettings_EachIsObserved requires that the list of proofs has, for every setting, a test that shows the effect of
// the setting. TestSettings_AProofFailsWithoutItsSetting runs the listed tests.
func TestSettings_EachIsObserved(t *testing.T) {
	inTree(t)
	named := map[string]proof{}
	for _, p := range proofs() {
		if _, twice := named[p.key]; twice {
			t.Errorf("%s is there twice", p.key)
		}
		named[p.key] = p
	}
	all := allSettings(t)
	common := map[string]bool{}
	for _, s := range all {
		if key, ok := strings.CutPrefix(s.key, "command."); ok && s.owner != "jjm/adapters/command.Config" {
			common[key] = true
		}
	}
	for _, s := range all {
		if _, key, _ := strings.Cut(s.key, "."); common[key] && strings.HasPrefix(s.owner, "jjm/adapters/") {
			t.Errorf("%s: a key of one kind that all have, of which one is never set", s.key)
		}
		p, ok := named[s.key]
		if !ok {
			t.Errorf("nothing shows what %s does: name the test, or write one that sees two values of it do two things", s.key)
			continue
		}
		delete(named, s.key)
		for _, name := range strings.Split(p.tests, "|") {
			if !testThere(t, p.in, name) {
				t.Errorf("%s: there is no test %s in %s", s.key, name, p.in)
			}
		}
	}
	for key := range named {
		t.Errorf("%s is no setting", key)
	}
	if len(all) < 130 {
		t.Errorf("only %d settings found", len(all))
	}
}

// testThere reports whether a package has a test of this name that can fail.
func testThere(t *testing.T, in, name string) bool {
	t.Helper()
	files, err := filepath.Glob(in + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, body, ok := strings.Cut(string(text), "\nfunc "+name+"(")
		if !ok {
			continue
		}
		body, _, _ = strings.Cut(body, "\n}\n")
		return regexp.MustCompile(`t\.(Error|Fatal)|\bt\b, `).MatchString(body)
	}
	return false
}
