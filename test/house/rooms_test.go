package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// The limits of a room: a package below the engine. layers_test.go checks that rooms do not import one another.
const (
	mostMethods   = 40 // methods of one type
	mostFields    = 15 // fields of one struct, except settings
	mostInterface = 5  // methods of an interface, and fields of a struct of functions of other rooms
)

func TestRooms_AreSmallAndSayWhatTheyNeed(t *testing.T) {
	inTree(t)
	var sizes sizes
	err := filepath.WalkDir("internal/engine", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		sizes.add(filepath.ToSlash(filepath.Dir(path)), file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(sizes.methods) < 40 {
		t.Fatalf("only %d types found: the test does not see the rooms", len(sizes.methods))
	}
	for _, broken := range sizes.broken() {
		t.Error(broken)
	}
}

func TestRooms_WhatIsTooLargeIsFound(t *testing.T) {
	inTree(t)
	list := func(n int, line string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(line, i))
		}
		return strings.Join(out, "\n")
	}
	for name, c := range map[string]struct {
		text  string
		wrong bool
	}{
		"a struct that is full":        {"type t struct {\n" + list(15, "f%d int") + "\n}", false},
		"one field too many":           {"type t struct {\n" + list(16, "f%d int") + "\n}", true},
		"names in one line are fields": {"type t struct {\n" + list(8, "f%d, g%[1]d int") + "\n}", true},
		"settings may be many":         {"type t struct {\n" + list(30, "f%d int `toml:\"f%[1]d\"`") + "\n}", false},
		"an interface of five":         {"type i interface {\n" + list(5, "M%d()") + "\n}", false},
		"an interface of six":          {"type i interface {\n" + list(6, "M%d()") + "\n}", true},
		"an interface within another":  {"type i interface { j }", true},
		"an interface without a name":  {"type t struct { f interface {\n" + list(6, "M%d()") + "\n} }", true},
		"rooms as functions":           {"type Rooms struct {\n" + list(6, "F%d func()") + "\n}", true},
		"forty methods":                {"type t int\n" + list(40, "func (t) M%d() {}"), false},
		"forty-one methods, some on pointer": {"type t int\n" + list(20, "func (t) M%d() {}") + "\n" +
			list(21, "func (*t) P%d() {}"), true},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+c.text, 0)
		if err != nil {
			t.Fatal(name, err)
		}
		var sizes sizes
		sizes.add("engine/p", file)
		if broken := sizes.broken(); (len(broken) > 0) != c.wrong {
			t.Errorf("%s: found %v", name, broken)
		}
	}
}

// sizes holds the sizes of the types of packages.
type sizes struct {
	methods map[string]int
	wrong   []string
}

func (s *sizes) add(pkg string, file *ast.File) {
	if s.methods == nil {
		s.methods = map[string]int{}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			s.methods[pkg+"."+n.Name.Name] += 0
			if st, ok := n.Type.(*ast.StructType); ok {
				s.structure(pkg+"."+n.Name.Name, st)
			}
		case *ast.InterfaceType:
			s.iface(pkg, n)
		case *ast.FuncDecl:
			if n.Recv != nil {
				s.methods[pkg+"."+receiver(n.Recv.List[0].Type)]++
			}
		}
		return true
	})
}

// structure checks the size of a struct.
func (s *sizes) structure(name string, st *ast.StructType) {
	fields, settings := 0, false
	for _, f := range st.Fields.List {
		fields += max(len(f.Names), 1)
		settings = settings || f.Tag != nil && strings.Contains(f.Tag.Value, "toml:")
	}
	most := mostFields
	if strings.HasSuffix(name, ".Rooms") {
		most = mostInterface
	}
	if fields > most && !settings {
		s.wrong = append(s.wrong, fmt.Sprintf("%s has %d fields: want at most %d, it is two types", name, fields, most))
	}
}

// iface checks the size of an interface.
func (s *sizes) iface(pkg string, it *ast.InterfaceType) {
	methods := 0
	for _, f := range it.Methods.List {
		if _, union := f.Type.(*ast.BinaryExpr); union {
			return // a type constraint
		}
		if len(f.Names) == 0 {
			s.wrong = append(s.wrong, fmt.Sprintf("%s: an interface embeds another: name its methods", pkg))
		}
		methods += len(f.Names)
	}
	if methods > mostInterface {
		s.wrong = append(s.wrong, fmt.Sprintf("%s: an interface has %d methods: want at most %d", pkg, methods,
			mostInterface))
	}
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// broken returns an error text for each type that is too large.
func (s *sizes) broken() []string {
	out := s.wrong
	for name, n := range s.methods {
		if n > mostMethods {
			out = append(out, fmt.Sprintf("%s has %d methods: want at most %d, it is two types", name, n, mostMethods))
		}
	}
	sort.Strings(out)
	return out
}
