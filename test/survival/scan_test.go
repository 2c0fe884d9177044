package survival_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// failpoints returns the names of all failpoints in the source: the arguments of x.Crash("name"), of x.point("name") in
// the embedded batch system, and of x.Change(ctx, "name", ...), which has one failpoint for each x.Crash(name +
// ".suffix") in it.
func failpoints(t *testing.T) []string {
	t.Helper()
	f := &finder{suffixes: map[string]bool{}, changes: map[string]bool{}, names: map[string]bool{}}
	root := repository(t)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "test" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		return f.file(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for name := range f.names {
		all = append(all, name)
	}
	for change := range f.changes {
		for suffix := range f.suffixes {
			all = append(all, change+suffix)
		}
	}
	slices.Sort(all)
	if len(f.suffixes) != 2 || len(all) < 40 {
		t.Fatalf("found %d failpoints and the suffixes %v: the scan does not see the source", len(all), f.suffixes)
	}
	return all
}

// finder collects names.
type finder struct {
	names, changes, suffixes map[string]bool
}

func (f *finder) file(path string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		return err
	}
	engine := strings.Contains(filepath.ToSlash(path), "/engine/")
	local := strings.HasSuffix(filepath.ToSlash(filepath.Dir(path)), "adapters/local")
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		bad := func() {
			err = fmt.Errorf("%s: the name of this failpoint is no string, and no constant of this file",
				set.Position(call.Pos()))
		}
		switch {
		case sel.Sel.Name == "Crash" && engine && len(call.Args) == 1, sel.Sel.Name == "crashPoint" && local &&
			len(call.Args) == 1:
			if sum, ok := call.Args[0].(*ast.BinaryExpr); ok {
				if !text(sum.Y, f.suffixes) {
					bad()
				}
			} else if !text(call.Args[0], f.names) {
				bad()
			}
		case sel.Sel.Name == "Change" && engine && len(call.Args) == 3:
			if !text(call.Args[1], f.changes) {
				bad()
			}
		}
		return true
	})
	return err
}

// text adds a string literal to a set, or the value of a constant of the same file that is a string literal.
func text(e ast.Expr, into map[string]bool) bool {
	if name, ok := e.(*ast.Ident); ok && name.Obj != nil {
		spec, ok := name.Obj.Decl.(*ast.ValueSpec)
		if !ok || name.Obj.Kind != ast.Con || len(spec.Names) != len(spec.Values) {
			return false
		}
		e = spec.Values[slices.IndexFunc(spec.Names, func(n *ast.Ident) bool { return n.Name == name.Name })]
	}
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return false
	}
	s, err := strconv.Unquote(lit.Value)
	into[s] = true
	return err == nil
}
