package all_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"jjm/handlers/all"
)

func TestRegistry_HoldsEveryTypeUnderItsOwnName(t *testing.T) {
	r := all.Registry()
	for name, h := range r {
		if h.Type() != name {
			t.Errorf("%q is registered as %q", h.Type(), name)
		}
	}
	// If two types had the same name, the registry would have fewer entries than there are folders.
	folders := 0
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !slices.Contains([]string{"all", "conformance", "declared", "external", "handlertest"}, e.Name()) {
			if found, _ := filepath.Glob(filepath.Join("..", e.Name(), "*.go")); len(found) > 0 {
				folders++
			}
		}
	}
	if len(r) != folders {
		t.Errorf("%d types are registered, but there are %d folders", len(r), folders)
	}
}

func TestExamples_OfTheDescriptionsAreAccepted(t *testing.T) {
	for name, h := range all.Registry() {
		if _, _, problems := check(name+".toml", h.Describe().Example, siteOf(t.TempDir())); problems != nil {
			t.Errorf("%s: %v", name, problems)
		}
	}
}
