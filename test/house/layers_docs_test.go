package house_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The two lists for people, in docs/ARCHITECTURE.md and in the package comment of the root, must equal the list that
// the test of imports enforces.

var (
	// | 3 | `adapters/adaptertest`, `handlers/handlertest` | ... |
	mapRow = regexp.MustCompile("(?m)^\\| ([0-9]+) \\| (`[^|]*`) \\|")
	// //	2  adapters, handlers      the two contracts
	docRow = regexp.MustCompile(`(?m)^//\t([0-9]+)  ([^\s,]+(?:, [^\s,]+)*)`)
)

func TestLayers_TheMapIsTheOneEnforced(t *testing.T) { checkList(t, "docs/ARCHITECTURE.md", mapRow) }

func TestLayers_ThePackageCommentIsTheOneEnforced(t *testing.T) { checkList(t, "doc.go", docRow) }

func checkList(t *testing.T, file string, row *regexp.Regexp) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	imports := importsOf(t, ".")
	listed := map[string]int{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		layer, _ := strconv.Atoi(m[1])
		for _, name := range strings.Split(strings.ReplaceAll(m[2], "`", ""), ", ") {
			pkg := "jjm/" + name
			if name == "jjm" {
				pkg = name
			}
			listed[pkg] = layer
			if !exists(imports, pkg) {
				t.Errorf("%s names %s, which is not there", file, name)
			}
		}
	}
	for pkg := range imports {
		want, _ := layerOf(pkg)
		switch layer, ok := listedAs(listed, pkg); {
		case !ok:
			t.Errorf("%s does not name %s (layer %d)", file, pkg, want)
		case layer != want:
			t.Errorf("%s has %s in layer %d, the test of the imports in %d", file, pkg, layer, want)
		}
	}
}

// exists reports whether there is a package of that name, or one below
// "name/...".
func exists(imports map[string][]string, pkg string) bool {
	below, all := strings.CutSuffix(pkg, "...")
	for p := range imports {
		if p == pkg || all && strings.HasPrefix(p, below) {
			return true
		}
	}
	return false
}

// listedAs finds the line for a package: its own, "folder/...", or that of the
// package whose internals it is.
func listedAs(listed map[string]int, pkg string) (layer int, ok bool) {
	if layer, ok = listed[pkg]; ok {
		return layer, true
	}
	if of, _, inside := strings.Cut(pkg, "/internal/"); inside && of != "jjm" {
		return listedAs(listed, of)
	}
	for dir := pkg; strings.Contains(dir, "/"); {
		dir = dir[:strings.LastIndex(dir, "/")]
		if layer, ok = listed[dir+"/..."]; ok {
			return layer, true
		}
	}
	return 0, false
}
