package house

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jjm/app"
	"jjm/engine"
)

// untried are the settings that no test sets to another value, and why.
func untried() map[string]string {
	const floor = "at most a sixteenth of a file system is kept free: the hostile tests fill a small one with the default"
	return map[string]string{
		"engine.min_free_bytes": floor,
		"engine.min_free_files": floor,
	}
}

// TestSettings_EachIsTriedByATest finds the settings of the configuration that no test
// gives a value: whether they do anything, nobody would know.
func TestSettings_EachIsTriedByATest(t *testing.T) {
	keys := settingsOf(reflect.TypeFor[app.Config](), "")
	keys = append(keys, settingsOf(reflect.TypeFor[engine.ClusterConfig](), "cluster.")...)
	tried := triedWords(textOfTests(t))
	left := untried()
	for _, k := range keys {
		leaf := k.key[strings.LastIndex(k.key, ".")+1:]
		_, listed := left[k.key]
		delete(left, k.key)
		switch set := tried[leaf] || tried[k.field]; {
		case !set && !listed:
			t.Errorf("no test sets %s: try it with two values, or list it here with the reason", k.key)
		case set && listed:
			t.Errorf("%s is tried: take it from the list", k.key)
		}
	}
	for key := range left {
		t.Errorf("%s is no setting", key)
	}
	if len(keys) < 70 {
		t.Errorf("only %d settings found", len(keys))
	}
}

// triedWords are the keys and fields that a text gives values: "key = ", "c.Field = ",
// "c.Field, c.Other = " and "Field: ".
func triedWords(text string) map[string]bool {
	words := map[string]bool{}
	text = strings.ReplaceAll(text, `\n`, "\n") // of literals
	for _, form := range []string{`([A-Za-z_]+)(?: *= |: )`, `\.([A-Z][A-Za-z]+), [a-z]+\.[A-Z][A-Za-z]+ = `} {
		for _, m := range regexp.MustCompile(form).FindAllStringSubmatch(text, -1) {
			words[m[1]] = true
		}
	}
	return words
}

// setting is a key of the configuration, and the field that it sets.
type setting struct{ key, field string }

// settingsOf lists those of a struct, with those of the structs in it.
func settingsOf(of reflect.Type, prefix string) (all []setting) {
	for i := range of.NumField() {
		f := of.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		inner := f.Type.Kind() == reflect.Struct && f.Type.Name() != "Duration" && f.Type.NumField() > 0 &&
			f.Type.Field(0).Tag != ""
		switch {
		case !f.IsExported() || key == "-":
		case f.Anonymous && key == "":
			all = append(all, settingsOf(f.Type, prefix)...)
		case inner && key != "":
			all = append(all, settingsOf(f.Type, prefix+key+".")...)
		case key != "":
			all = append(all, setting{prefix + key, f.Name})
		}
	}
	return all
}

// textOfTests is that of all tests and their scripts, but those of the house.
func textOfTests(t *testing.T) string {
	var b strings.Builder
	err := filepath.WalkDir(".", func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains([]string{".git", "house"}, d.Name()) {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if d.IsDir() || !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, ".txtar") {
			return nil
		}
		text, err := os.ReadFile(file)
		b.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
