package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Only internal/testkit/needs may skip tests. It prints a clear message, and fails the test in CI.
func TestSkips_OnlyNeedsLeavesTestsOut(t *testing.T) {
	inTree(t)
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files++
		if filepath.ToSlash(filepath.Dir(path)) == "internal/testkit/needs" {
			return nil
		}
		found, err := skips(path, nil)
		for _, f := range found {
			t.Errorf("%s: a test says what it needs through jjm/internal/testkit/needs, and has no short form", f)
		}
		return err
	})
	if err != nil || files < 100 {
		t.Errorf("%d files seen, %v: the test does not see the house", files, err)
	}
}

func TestSkips_EachWayIsFound(t *testing.T) {
	inTree(t)
	for _, c := range []struct {
		line string
		want int
	}{
		{`func F(t *testing.T) { t.Skip("x") }`, 1},
		{`func F(b *testing.B) { b.Skipf("x %d", 1); b.SkipNow() }`, 2},
		{`func F(s struct{ testing.TB }) { defer s.Skip() }`, 1},
		{`func F(t testing.TB) { if testing.Short() { return } }`, 1},
		{`func F(t testing.TB) { skip := t.Skipf; skip("x") }`, 1},
		{`func F(t testing.TB) { t.Log("Skip"); _ = t.Skipped() }`, 0},
	} {
		found, err := skips("x_test.go", "package x\nimport \"testing\"\n"+c.line+"\n")
		if err != nil || len(found) != c.want {
			t.Errorf("%s: found %q, error %v; want %d", c.line, found, err, c.want)
		}
	}
	// A method Skip of another type than testing.T, for example of a decoder, is not a skipped test.
	if found, err := skips("x.go", "package x\nfunc F(d interface{ Skip() }) { d.Skip() }\n"); err != nil ||
		len(found) > 0 {
		t.Errorf("found %q, error %v", found, err)
	}
}

// skips returns the positions at which a file that imports testing skips a test, or asks whether tests run in short
// mode.
func skips(path string, source any) (found []string, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, 0)
	if err != nil {
		return nil, err
	}
	tests := func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` }
	if !slices.ContainsFunc(file.Imports, tests) {
		return nil, nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, _ := s.X.(*ast.Ident)
		short := s.Sel.Name == "Short" && x != nil && x.Name == "testing"
		if short || slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name) {
			found = append(found, set.Position(s.Pos()).String())
		}
		return true
	})
	return found, nil
}
