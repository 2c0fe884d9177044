package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// layers maps each package to its layer. A package may import only packages of lower layers.
type layers map[string]int

// layerRow is a row of the table in docs/ARCHITECTURE.md: | 3 | `adapters`, `handlers` | ... |
var layerRow = regexp.MustCompile("(?m)^\\| ([0-9]+) \\| (`[^|]*`) \\|")

// readLayers reads the table of docs/ARCHITECTURE.md, which is the only definition of the layers. A row "name/..."
// applies to all packages below name that have no row.
func readLayers(t *testing.T) layers {
	t.Helper()
	text, err := os.ReadFile("docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	all := layers{}
	for _, m := range layerRow.FindAllStringSubmatch(string(text), -1) {
		layer, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		for name := range strings.SplitSeq(strings.ReplaceAll(m[2], "`", ""), ", ") {
			if _, twice := all["jjm/"+name]; twice {
				t.Errorf("docs/ARCHITECTURE.md has two rows for %s", name)
			}
			all["jjm/"+name] = layer
		}
	}
	if len(all) < 60 {
		t.Fatalf("docs/ARCHITECTURE.md has only %d packages: is its table read wrongly?", len(all))
	}
	return all
}

// of returns the layer of a package: the layer in the package's own row, in the row of the package whose internal
// folder contains it, or in the row "folder/...".
func (l layers) of(pkg string) (layer int, known bool) {
	if layer, known = l[pkg]; known {
		return layer, true
	}
	if of, _, inside := strings.Cut(pkg, "/internal/"); inside && of != "jjm" {
		return l.of(of)
	}
	for dir := pkg; strings.Contains(dir, "/"); {
		dir = dir[:strings.LastIndex(dir, "/")]
		if layer, known = l[dir+"/..."]; known {
			return layer, true
		}
	}
	return 0, false
}

// sameLayer are the allowed imports within one layer.
var sameLayer = map[string]bool{
	"jjm/internal/api/wire -> jjm/internal/work/cover":                  true, // the response has a report
	"jjm/internal/api/wire -> jjm/internal/api/selection":               true, // requests have patterns and filters
	"jjm/internal/formats/jobfile -> jjm/internal/work/catalogue":       true, // job files contain descriptions of files
	"jjm/internal/formats/jobfile -> jjm/internal/work/stream":          true, // job files contain templates of names
	"jjm/internal/sys/asuser -> jjm/internal/sys/run":                   true, // it runs commands as other accounts
	"jjm/internal/policy/analyse -> jjm/internal/formats/glf":           true, // the evidence is a log in this format
	"jjm/internal/policy/analyse -> jjm/internal/policy/analyse/rule":   true, // analyse applies the rules
	"jjm/internal/testkit/adaptertest -> jjm/adapters/conformance":      true, // the suite needs testing.T
	"jjm/internal/gatekeeper/demand -> jjm/internal/gatekeeper/plain":   true, // a job may be a plain job
	"jjm/internal/gatekeeper/gram -> jjm/internal/gatekeeper/plain":     true,
	"jjm/internal/gatekeeper/blahp -> jjm/internal/gatekeeper/plain":    true,
	"jjm/internal/gatekeeper/globus2 -> jjm/internal/gatekeeper/plain":  true,
	"jjm/internal/gatekeeper/gram -> jjm/internal/gatekeeper/demand":    true,
	"jjm/internal/gatekeeper/blahp -> jjm/internal/gatekeeper/demand":   true, // demand has the words of languages
	"jjm/internal/gatekeeper/globus2 -> jjm/internal/gatekeeper/demand": true,
	"jjm/internal/gatekeeper/arc -> jjm/internal/gatekeeper/plain":      true,
	"jjm/internal/gatekeeper/arc -> jjm/internal/gatekeeper/demand":     true,
	"jjm/internal/gatekeeper/trace -> jjm/internal/gatekeeper/arc":      true, // trace reads the output of scripts
	"jjm/internal/gatekeeper/trace -> jjm/internal/gatekeeper/blahp":    true,
	"jjm/internal/testkit/site -> jjm/internal/testkit/programs":        true, // a site of tests runs the programs
}

func TestLayers_NoPackageImportsUpwards(t *testing.T) {
	inTree(t)
	imports, all := importsOf(t, "."), readLayers(t)
	if len(imports) < 100 {
		t.Fatalf("only %d packages found: the test does not see the tree", len(imports))
	}
	for _, v := range all.violations(imports) {
		t.Error(v)
	}
	for name := range all {
		if !exists(imports, name) {
			t.Errorf("docs/ARCHITECTURE.md has a row for %s, which is not there", name)
		}
	}
}

func TestLayers_AnUpwardImportIsFound(t *testing.T) {
	inTree(t)
	all := readLayers(t)
	for _, c := range []struct {
		pkg, imp string
		ok       bool
	}{
		{"jjm/internal/policy/plan", "jjm/adapters", true},
		{"jjm/internal/policy/plan", "jjm/internal/storage/store", false}, // both are in the same layer
		{words, "jjm/internal/api/wire", false},
		{words, "jjm/internal/formats/strict", false}, // package jjm imports nothing of jjm
		{"jjm/internal/formats/strict", words, true},
		{"jjm/internal/storage/store", "jjm/internal/engine", false},
		{"jjm/handlers", "jjm/handlers/script", false},
		{"jjm/xmldb", "jjm/xmldb/head", true},
		{"jjm/handlers/montecarlo", "jjm/handlers", true},
		{"jjm/handlers/montecarlo", "jjm/handlers/script", false},
		{"jjm/internal/engine/attic", words, false}, // this package has no row
		{"jjm/internal/policy/analyse", "jjm/internal/formats/glf", true},
		{"jjm/internal/storage/store", "os/exec", false}, // only package run starts processes
		{"jjm/internal/sys/run", "os/exec", true},
	} {
		got := len(all.violations(map[string][]string{c.pkg: {c.imp}})) == 0
		if got != c.ok {
			t.Errorf("%s -> %s: allowed %v, want %v", c.pkg, c.imp, got, c.ok)
		}
	}
}

// words is the path of package jjm, which imports only the standard library.
const words = "jjm/internal/jjm"

// violations returns the imports that break the rule of layers.
func (l layers) violations(imports map[string][]string) []string {
	var out []string
	for pkg, list := range imports {
		from, known := l.of(pkg)
		if !known {
			out = append(out, pkg+": in no layer: give it a row in docs/ARCHITECTURE.md")
			continue
		}
		for _, imp := range list {
			if imp == "os/exec" && !mayExec(pkg) {
				out = append(out, pkg+" imports os/exec: children are started through jjm/internal/sys/run")
			}
			if !strings.HasPrefix(imp, "jjm/") {
				continue
			}
			to, _ := l.of(imp)
			inside := to == from && (strings.HasPrefix(pkg, imp+"/") || strings.HasPrefix(imp, pkg+"/"))
			helper := to == 0 && pkg != words
			if to >= from && !inside && !helper && !sameLayer[pkg+" -> "+imp] {
				out = append(out, fmt.Sprintf("%s (layer %d) imports %s (layer %d)", pkg, from, imp, to))
			}
		}
	}
	sort.Strings(out)
	return out
}

// mayExec reports whether a package may start processes: package run, the wrapper, which starts only one child, and
// packages that only tests use.
func mayExec(pkg string) bool {
	return pkg == "jjm/internal/sys/run" || pkg == "jjm/cmd/jjm-wrapper" || strings.HasPrefix(pkg, "jjm/test/") ||
		strings.HasPrefix(pkg, "jjm/internal/testkit/")
}

// exists reports whether a package with this name exists, or for "name/..." a package below name.
func exists(imports map[string][]string, name string) bool {
	below, all := strings.CutSuffix(name, "...")
	for pkg := range imports {
		if pkg == name || all && strings.HasPrefix(pkg, below) {
			return true
		}
	}
	return false
}

// importsOf returns the imports of all packages below dir, without the imports of tests.
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
