package docs_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	adaptersall "jjm/adapters/all"
	"jjm/internal/app"
	"jjm/internal/engine"
	"jjm/internal/formats/nearest"
)

// The pages name only existing settings, both in sentences (engine.min_free_bytes) and in examples (below [engine]).
func TestSettings_ThePagesNameOnlyThoseThatExist(t *testing.T) {
	known := settingsOfSite(t)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := pages(t)
	all["README.md"] = string(readme)
	named := 0
	for name, text := range all {
		words := settingsNamed(text, known)
		named += len(words)
		for _, word := range words {
			if !known[word] {
				t.Errorf("%s names the setting %s, which does not exist: did you mean %s?", name, word,
					nearest.Of(word, slices.Sorted(maps.Keys(known))))
			}
		}
	}
	if named < 50 {
		t.Errorf("the pages name %d settings: are they found?", named)
	}
}

func TestSettingsNamed_InSentencesAndExamples(t *testing.T) {
	text := "See `engine.no_such` and engine.go, engine.fetch.x; retry.on_exit is a key of job files, clusters.b of none.\n" +
		"```toml\n[engine]\nalso_no = 1\n# [[cluster]]\n# not_there = \"x\"\nhold.kind = 1\n[other]\nx = 1\n```\n[engine]\ny = 1\n"
	want := []string{"engine.no_such", "engine.fetch.x", "clusters.b", "engine.also_no", "cluster.not_there"}
	if diff := cmp.Diff(want, settingsNamed(text, settingsOfSite(t))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

var (
	settingWord = regexp.MustCompile(`[A-Za-z_]+(?:\.[a-z_]+)+`)
	exampleHead = regexp.MustCompile(`^(?:# )?\[\[?([a-z_.]+)\]\]?`)
	exampleKey  = regexp.MustCompile(`^(?:# )?([a-z_]+) *= `)
)

// settingsNamed returns all settings that a page names, in order, including unknown settings. Their first words are
// sections of the configuration, or "clusters", which people write for cluster.
func settingsNamed(text string, known map[string]bool) (names []string) {
	roots := map[string]bool{"clusters": true}
	for name := range known {
		if root, _, section := strings.Cut(name, "."); section {
			roots[root] = true
		}
	}
	add := func(name string) {
		if root, _, more := strings.Cut(name, "."); more && roots[root] && !strings.HasSuffix(name, ".go") {
			names = append(names, name)
		}
	}
	example, section := false, ""
	for line := range strings.Lines(text) {
		head, key := exampleHead.FindStringSubmatch(line), exampleKey.FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "```"):
			example, section = !example, ""
		case !example:
			for _, at := range settingWord.FindAllStringIndex(line, -1) {
				if at[0] == 0 || !strings.ContainsAny(line[at[0]-1:at[0]], "/.-{") {
					add(line[at[0]:at[1]])
				}
			}
		case head != nil:
			section = head[1]
		case key != nil && section != "":
			add(section + "." + key[1])
		}
	}
	return names
}

// settingsOfSite returns the settings of the configuration, such as engine.min_free_bytes. Settings of a cluster begin
// with "cluster", whatever its kind is.
func settingsOfSite(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{"cluster.name": true, "cluster.kind": true} // these decide which other settings exist
	addSettings(known, reflect.TypeFor[app.Config](), "")
	addSettings(known, reflect.TypeOf(engine.Defaults().ClusterDefaults()), "cluster.")
	addSettings(known, reflect.TypeOf(adapters.DefaultCommon()), "cluster.")
	seen := errors.New("seen")
	for kind, build := range adaptersall.Registry() {
		_, err := build("x", adapters.Env{}, func(into any) error {
			addSettings(known, reflect.TypeOf(into).Elem(), "cluster.")
			return seen
		})
		if !errors.Is(err, seen) {
			t.Fatal(kind, err)
		}
	}
	return known
}

// addSettings adds the keys of a struct, of the structs in it, and of the structs in its lists and tables.
func addSettings(known map[string]bool, of reflect.Type, prefix string) {
	for i := range of.NumField() {
		f := of.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		inner := f.Type
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		within := prefix + key + "."
		switch {
		case !f.IsExported() || key == "-" || key == "" && !f.Anonymous:
			continue
		case key == "":
			within = prefix
		default:
			known[prefix+key] = true
		}
		if inner.Kind() == reflect.Struct {
			addSettings(known, inner, within)
		}
	}
}
