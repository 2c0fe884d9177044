package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestChains_ErrorsReturnEarly finds an if or for with a condition such as "err == nil && ..." whose body sets the same
// error. Such code should return early instead. The pattern that keeps the first of two errors ("if cerr := f.Close();
// err == nil") is allowed.
func TestChains_ErrorsReturnEarly(t *testing.T) {
	inTree(t)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range chains(file) {
			t.Errorf("%s: an error is carried on: return early", files.Position(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestChains_AreFound(t *testing.T) {
	inTree(t)
	for text, want := range map[string]int{
		"if err == nil && n == 0 { err = e }":                   1,
		"if n == 0 && err == nil { n, err = f() }":              1,
		"if err == nil { err = f() }":                           0,
		"for err == nil && more { err = f() }":                  1,
		"if cerr := c(); err == nil { err = cerr }":             0,
		"if e := c(); e != nil && err == nil { err = e }":       0,
		"if info, err := look(); err == nil && ok { n = info }": 0,
		"if m := most(); err == nil && n > m { err = e }":       1,
		"if n, err = f(); err == nil && n > m { err = e }":      1,
		"if err != nil { return }":                              0,
		"if err == nil && n == 0 { n = 1 }":                     0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", fmt.Sprintf("package x\nfunc x() {\n%s\n}", text), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(chains(file)); got != want {
			t.Errorf("%s: %d chains", text, got)
		}
	}
}

// chains returns the positions of the conditions in a file that TestChains_ErrorsReturnEarly forbids.
func chains(file *ast.File) (at []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			if carriesOn(n.Cond) && sets(n.Body, "err") && !keepsTheFirst(n) {
				at = append(at, n.Pos())
			}
		case *ast.ForStmt:
			if n.Cond != nil && carriesOn(n.Cond) && sets(n.Body, "err") {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}

// carriesOn reports whether "err == nil" is one of several terms of a condition.
func carriesOn(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	return ok && b.Op == token.LAND && (noError(b.X) || noError(b.Y) || carriesOn(b.X) || carriesOn(b.Y))
}

func noError(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.EQL {
		return false
	}
	x, isName := b.X.(*ast.Ident)
	y, isNil := b.Y.(*ast.Ident)
	return isName && isNil && x.Name == "err" && y.Name == "nil"
}

// keepsTheFirst reports whether an if statement declares its own error and assigns it to err only if err is nil. It
// also returns true if the statement declares "err" itself.
func keepsTheFirst(n *ast.IfStmt) bool {
	init, ok := n.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE {
		return false
	}
	var own []string
	for _, e := range init.Lhs {
		if id, ok := e.(*ast.Ident); ok {
			own = append(own, id.Name)
		}
	}
	if slices.Contains(own, "err") {
		return true
	}
	for _, s := range n.Body.List {
		a, ok := s.(*ast.AssignStmt)
		if !ok || len(a.Rhs) != 1 {
			continue
		}
		if mentions(a.Rhs[0], own) {
			return true
		}
	}
	return false
}

func mentions(e ast.Expr, names []string) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && slices.Contains(names, id.Name)
		return !found
	})
	return found
}

// sets reports whether a block assigns to a name that it does not declare.
func sets(block *ast.BlockStmt, name string) (found bool) {
	ast.Inspect(block, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || a.Tok != token.ASSIGN {
			return !found
		}
		for _, l := range a.Lhs {
			if id, ok := l.(*ast.Ident); ok && id.Name == name {
				found = true
			}
		}
		return !found
	})
	return found
}
