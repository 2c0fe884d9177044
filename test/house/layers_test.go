package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// layers has the layer of each package. A package may import only packages of lower layers; the package comment of the
// root shows the same list. A package without a line of its own is in the layer of the longest path above it.
var layers = map[string]int{
	"jjm":                             0,
	"jjm/internal":                    0, // helpers like those of the standard library
	"jjm/wire":                        1,
	"jjm/publish/advertise":           1,
	"jjm/split":                       1,
	"jjm/glf":                         1,
	"jjm/sandbox":                     1,
	"jjm/xmldb":                       1,
	"jjm/run":                         1,
	"jjm/jobfile":                     1,
	"jjm/analyse":                     1,
	"jjm/publish/accounting":          1,
	"jjm/catalogue":                   1,
	"jjm/cover":                       1,
	"jjm/selection":                   1,
	"jjm/stream":                      1,
	"jjm/adapters":                    2,
	"jjm/fetch":                       2,
	"jjm/handlers":                    2,
	"jjm/adapters/local":              3,
	"jjm/adapters/":                   3,
	"jjm/adapters/adaptertest":        3,
	"jjm/publish/advertise/collector": 3,
	"jjm/adapters/conformance":        3,
	"jjm/handlers/":                   3,
	"jjm/adapters/all":                4,
	"jjm/handlers/all":                4,
	"jjm/handlers/declared":           4,
	"jjm/handlers/handlertest":        4,
	"jjm/store":                       4,
	"jjm/plan":                        4,
	"jjm/engine/fair":                 5,
	"jjm/engine/areas":                5,
	"jjm/engine/outputs":              5,
	"jjm/engine/base":                 6,
	"jjm/engine/endings":              6,
	"jjm/engine/state":                7,
	"jjm/engine/lineage":              8,
	"jjm/engine/jobtype":              8,
	"jjm/engine/choice":               8,
	"jjm/engine/sweep":                8,
	"jjm/engine/remote":               8,
	"jjm/engine/dependency":           8,
	"jjm/engine/":                     9, // the rooms
	"jjm/engine":                      10,
	"jjm/gate":                        11,
	"jjm/gatekeeper":                  12,
	"jjm/app":                         12,
	"jjm/cmd":                         13,
	"jjm/test":                        14,
}

// sameLayer are the allowed imports within one layer.
var sameLayer = map[string]bool{
	"jjm/wire -> jjm/cover":                                true, // a report is an answer
	"jjm/wire -> jjm/selection":                            true, // patterns and filters are in requests
	"jjm/jobfile -> jjm/catalogue":                         true, // job files contain descriptions of files
	"jjm/jobfile -> jjm/stream":                            true, // job files contain templates of names
	"jjm/analyse -> jjm/glf":                               true, // the evidence is in its format
	"jjm/analyse -> jjm/analyse/rule":                      true, // it carries them out
	"jjm/adapters/adaptertest -> jjm/adapters/conformance": true, // the suite needs testing.T
	"jjm/gate/gatetest -> jjm/gate/verbs":                  true, // for the verbs of its jobs
	"jjm/gatekeeper/demand -> jjm/gatekeeper/plain":        true, // a job may be a plain one
	"jjm/gatekeeper/gram -> jjm/gatekeeper/plain":          true,
	"jjm/gatekeeper/blahp -> jjm/gatekeeper/plain":         true,
	"jjm/gatekeeper/globus2 -> jjm/gatekeeper/plain":       true,
	"jjm/gatekeeper/gram -> jjm/gatekeeper/demand":         true,
	"jjm/gatekeeper/blahp -> jjm/gatekeeper/demand":        true, // for the words of a language
	"jjm/gatekeeper/globus2 -> jjm/gatekeeper/demand":      true,
	"jjm/gatekeeper/arc -> jjm/gatekeeper/plain":           true,
	"jjm/gatekeeper/arc -> jjm/gatekeeper/demand":          true,
	"jjm/test/site -> jjm/test/programs":                   true, // a site runs the programs
}

func TestLayers_NoPackageImportsUpwards(t *testing.T) {
	imports := importsOf(t, ".")
	if len(imports) < 15 {
		t.Fatalf("only %d packages found: the test does not see the house", len(imports))
	}
	for _, broken := range violations(imports) {
		t.Error(broken)
	}
}

func TestLayers_AnUpwardImportIsFound(t *testing.T) {
	for _, c := range []struct {
		pkg, imp string
		ok       bool
	}{
		{"jjm/plan", "jjm/adapters", true},
		{"jjm/plan", "jjm/store", false}, // the same layer
		{"jjm", "jjm/wire", false},
		{"jjm/store", "jjm/engine", false},
		{"jjm/handlers", "jjm/handlers/script", false},
		{"jjm/xmldb", "jjm/xmldb/head", true},
		{"jjm/handlers/montecarlo", "jjm/handlers", true},
		{"jjm/handlers/montecarlo", "jjm/handlers/script", false},
		{"jjm/attic", "jjm", false}, // a room that is not in the list
		{"jjm/analyse", "jjm/glf", true},
		{"jjm/store", "os/exec", false}, // only package run starts children
		{"jjm/run", "os/exec", true},
	} {
		got := len(violations(map[string][]string{c.pkg: {c.imp}})) == 0
		if got != c.ok {
			t.Errorf("%s -> %s: allowed %v, want %v", c.pkg, c.imp, got, c.ok)
		}
	}
}

// violations returns the imports that break the rule.
func violations(imports map[string][]string) []string {
	var out []string
	for pkg, list := range imports {
		from, known := layerOf(pkg)
		if !known {
			out = append(out, pkg+": in no layer: give it a line in layers_test.go and in docs/ARCHITECTURE.md")
			continue
		}
		for _, imp := range list {
			if imp == "os/exec" && !mayExec(pkg) {
				out = append(out, pkg+" imports os/exec: children are started through jjm/run")
			}
			if imp != "jjm" && !strings.HasPrefix(imp, "jjm/") {
				continue
			}
			to, _ := layerOf(imp)
			inside := lineOf(pkg) == lineOf(imp) && (strings.HasPrefix(pkg, imp+"/") || strings.HasPrefix(imp, pkg+"/"))
			helper := to == 0 && (strings.HasPrefix(imp, "jjm/internal/") || imp == "jjm" && pkg != "jjm")
			if to >= from && !inside && !helper && !sameLayer[pkg+" -> "+imp] {
				out = append(out, fmt.Sprintf("%s (layer %d) imports %s (layer %d)", pkg, from, imp, to))
			}
		}
	}
	sort.Strings(out)
	return out
}

// mayExec returns true for run itself, for the wrapper, which has one child for all its life, and for the campaign,
// which plays the gatekeeper.
func mayExec(pkg string) bool {
	return pkg == "jjm/run" || pkg == "jjm/cmd/jjm-wrapper" || strings.HasPrefix(pkg, "jjm/test")
}

// layerOf returns the layer of a package.
func layerOf(pkg string) (int, bool) {
	n, ok := layers[lineOf(pkg)]
	return n, ok
}

// lineOf returns the most specific entry for a package.
func lineOf(pkg string) string {
	if _, ok := layers[pkg]; ok {
		return pkg
	}
	for dir := pkg; strings.Contains(dir, "/"); {
		dir = dir[:strings.LastIndex(dir, "/")]
		if _, ok := layers[dir+"/"]; ok {
			return dir + "/"
		}
		if _, ok := layers[dir]; ok && dir != "jjm" {
			return dir
		}
	}
	return ""
}

// importsOf returns the imports of all packages below dir, without those of tests.
func importsOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := "jjm"
		if d := filepath.ToSlash(filepath.Dir(path)); d != "." {
			pkg += "/" + d
		}
		imports[pkg] = append(imports[pkg], names(file.Imports)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}

func names(specs []*ast.ImportSpec) []string {
	out := make([]string, 0, len(specs))
	for _, s := range specs {
		if name, err := strconv.Unquote(s.Path.Value); err == nil {
			out = append(out, name)
		}
	}
	return out
}
