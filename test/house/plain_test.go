package house_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"jjm/internal/testkit/needs"
)

// forAuthors are the packages whose messages may show values in Go syntax, because only authors of adapters and job
// types, or readers of a test's log, see them.
var forAuthors = []string{"jjm/adapters/conformance", "jjm/internal/testkit/testbed", "jjm/handlers/conformance",
	"jjm/internal/testkit/await", "jjm/test/"}

// No program shows a value in Go syntax: a list in brackets, a struct in braces, or a time such as "2h0m0s".
func TestPlain_NoTextShowsAValueAsGoDoes(t *testing.T) {
	inTree(t)
	needs.Campaign(t, needs.Lint)
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, p := range load(t, "./...") {
		if forAuthor(p.PkgPath) {
			continue
		}
		for _, file := range p.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				if f, ok := n.(*ast.FuncDecl); ok && f.Name.Name == "MarshalText" {
					return false // these texts are for programs
				}
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				calls++
				for _, what := range shown(p.TypesInfo, call) {
					at := p.Fset.Position(call.Pos())
					path, _ := filepath.Rel(root, at.Filename)
					t.Errorf("%s:%d: %s", path, at.Line, what)
				}
				return true
			})
		}
	}
	if calls < 10_000 {
		t.Fatalf("only %d calls found: the test does not see the sources", calls)
	}
}

// The check of TestPlain_NoTextShowsAValueAsGoDoes finds each value in Go syntax, and no other value.
func TestPlain_AValueAsGoHasItIsSeen(t *testing.T) {
	inTree(t)
	const head = "package time\ntype Duration int64\nfunc (Duration) String() string { return \"\" }\n" +
		"type says struct{}\nfunc (says) String() string { return \"\" }\n" +
		"func sayf(format string, args ...any) {}\nvar list []string; var table map[string]int; var b []byte\n" +
		"var d Duration; var s says; var pair struct{ a, b int }; var n int\n"
	for code, want := range map[string]int{
		`sayf("%v", list)`: 1, `sayf("%s of %s", list, table)`: 2, `sayf("%v", d)`: 1, `sayf("", d.String())`: 1,
		`sayf("%+v", n)`: 1, `sayf("%T", n)`: 1, `sayf("%v", pair)`: 1, `sayf("%*d %v", n, n, list)`: 1,
		`sayf("%v", s)`: 0, `sayf("%s", b)`: 0, `sayf("%d %.40q", list, "x")`: 0, `sayf("100%%", list)`: 0,
	} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "", head+"func f() { "+code+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
		if _, err := new(types.Config).Check("time", set, []*ast.File{file}, info); err != nil {
			t.Fatal(err)
		}
		found := 0
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				found += len(shown(info, call))
			}
			return true
		})
		if found != want {
			t.Errorf("%s: %d found, want %d", code, found, want)
		}
	}
}

func forAuthor(path string) bool {
	for _, p := range forAuthors {
		if path == strings.TrimSuffix(p, "/") || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// load loads and type-checks packages.
func load(t *testing.T, pattern string) []*packages.Package {
	t.Helper()
	const what = packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedImports |
		packages.NeedTypes | packages.NeedTypesInfo
	loaded, err := packages.Load(&packages.Config{Mode: what}, pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range loaded {
		for _, err := range p.Errors {
			t.Fatal(err)
		}
	}
	return loaded
}

// shown returns a reason for each value that a call writes in Go syntax.
func shown(info *types.Info, call *ast.CallExpr) (all []string) {
	sig, ok := info.TypeOf(call.Fun).(*types.Signature)
	if !ok || call.Ellipsis.IsValid() {
		return nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if ok && sel.Sel.Name == "String" && goTime(info.TypeOf(sel.X)) {
		return []string{"it shows a time as Go does: write jjm.HowLong, or a layout"}
	}
	last := sig.Params().Len() - 1
	if !sig.Variadic() || len(call.Args) < last ||
		sig.Params().At(last).Type().String() != "[]any" {
		return nil
	}
	show := func(arg ast.Expr, verb string) {
		if why := asGo(info.TypeOf(arg), verb); why != "" {
			all = append(all, fmt.Sprintf("%s %s: %s", verb, info.TypeOf(arg), why))
		}
	}
	format, isFormat := formatOf(info, call, last)
	switch {
	case isFormat:
		for i, verb := range verbs(format) {
			if at := last + i; at < len(call.Args) {
				show(call.Args[at], verb)
			}
		}
	case isPrint(call):
		for _, arg := range call.Args[last:] {
			show(arg, "%v")
		}
	}
	return all
}

// isPrint reports whether a call calls a function of fmt that prints its arguments.
func isPrint(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "fmt" && strings.Contains(strings.ToLower(sel.Sel.Name), "print")
}

// formatOf returns the constant text before the variadic arguments, if it contains verbs.
func formatOf(info *types.Info, call *ast.CallExpr, last int) (string, bool) {
	if last < 1 {
		return "", false
	}
	v := info.Types[call.Args[last-1]].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), strings.Contains(constant.StringVal(v), "%")
}

// verbs returns the verbs of a format, one for each argument.
func verbs(format string) (all []string) {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		from := i
		for i++; i < len(format) && strings.IndexByte("+-# 0123456789.*", format[i]) >= 0; i++ {
			if format[i] == '*' {
				all = append(all, "%*")
			}
		}
		if i < len(format) && format[i] != '%' {
			all = append(all, format[from:i+1])
		}
	}
	return all
}

// asGo returns the reason why a verb shows a value of a type in Go syntax, or "" if the verb does not.
func asGo(t types.Type, verb string) string {
	plain := strings.HasSuffix(verb, "v") || strings.HasSuffix(verb, "s")
	switch {
	case strings.HasSuffix(verb, "T"), strings.HasSuffix(verb, "p"), strings.HasSuffix(verb, "v") &&
		strings.ContainsAny(verb, "+#"):
		return "say it in words"
	case plain && goTime(t):
		return "write jjm.HowLong, jjm.Duration or a layout"
	case !plain || says(t):
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		if b, ok := u.Elem().(*types.Basic); ok && b.Kind() == types.Byte {
			return ""
		}
		return "join its elements"
	case *types.Map, *types.Array, *types.Struct, *types.Pointer:
		return "name its parts"
	}
	return ""
}

// goTime reports whether a type is time.Duration or time.Time, whose texts are in Go syntax.
func goTime(t types.Type) bool {
	return t != nil && (t.String() == "time.Duration" || t.String() == "time.Time")
}

// says reports whether a type has a method that returns its text.
func says(t types.Type) bool {
	methods := types.NewMethodSet(t)
	return methods.Lookup(nil, "Error") != nil || methods.Lookup(nil, "String") != nil
}
