package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// number is the value of an expression: nanoseconds if unit is set, or else a plain number. The zero value stands for
// an unknown value.
type number struct {
	n    float64
	unit bool
}

// short reports whether the number, as a duration, is positive and less than a minute.
func (v number) short() bool { return v.n > 0 && v.n < float64(time.Minute) }

// source is a parsed file. imports maps the last element of each import path to the path.
type source struct {
	*ast.File
	imports map[string]string
}

// newSource returns a file in which the names of imported packages are the last elements of their import paths, so that
// import t "time" hides nothing.
func newSource(file *ast.File) *source {
	s := &source{file, map[string]string{}}
	renamed := map[string]string{}
	for _, i := range file.Imports {
		from, _ := strconv.Unquote(i.Path.Value)
		s.imports[path.Base(from)] = from
		if i.Name != nil {
			renamed[i.Name.Name] = path.Base(from)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if x, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := x.X.(*ast.Ident); ok && id.Obj == nil && renamed[id.Name] != "" {
				id.Name = renamed[id.Name]
			}
		}
		return true
	})
	return s
}

// definition is the expression that defines a name of a package, and the file with the expression.
type definition struct {
	value  ast.Expr
	file   *source
	marked bool // whether the line has a mark
}

// module finds the names that the packages of the module define. Its keys are import paths.
type module map[string]map[string]definition

// named returns the definition of a name in a package of the module.
func (m module) named(from, name string) definition {
	dir, inside := strings.CutPrefix(from, "jjm/")
	if !inside || m == nil {
		return definition{}
	}
	if m[from] == nil {
		m[from] = map[string]definition{}
		files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			set := token.NewFileSet()
			if parsed, err := parser.ParseFile(set, path, text, 0); err == nil {
				lines := marks(string(text))
				define(newSource(parsed), m[from], func(at token.Pos) bool { return lines[set.Position(at).Line] })
			}
		}
	}
	return m[from][name]
}

// define adds the constants and variables of a file to names.
func define(file *source, names map[string]definition, marked func(token.Pos) bool) {
	for _, d := range file.Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range d.Specs {
			if v, ok := s.(*ast.ValueSpec); ok && len(v.Values) == len(v.Names) {
				for i, name := range v.Names {
					names[name.Name] = definition{v.Values[i], file, marked(name.Pos())}
				}
			}
		}
	}
}

var units = map[string]time.Duration{"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond,
	"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}

// evaluator evaluates the expressions of a file.
type evaluator struct {
	*clocks
	file  *source
	local map[string]number // the values of names inside a function
	deep  int               // how many names were followed
}

// value returns the value of an expression, through the names of constants and variables.
func (e evaluator) value(x ast.Expr) (v number) {
	switch x := x.(type) {
	case *ast.BasicLit:
		v.n, _ = strconv.ParseFloat(strings.ReplaceAll(x.Value, "_", ""), 64)
	case *ast.ParenExpr:
		return e.value(x.X)
	case *ast.Ident:
		if v, ok := e.local[x.Name]; ok {
			return v
		}
		return e.follow(e.names[x.Name])
	case *ast.SelectorExpr:
		return e.selected(x)
	case *ast.CallExpr:
		if len(x.Args) == 1 && strings.HasSuffix(called(x), "Duration") {
			return e.value(x.Args[0])
		}
	case *ast.BinaryExpr:
		a, b := e.value(x.X), e.value(x.Y)
		switch {
		case x.Op == token.MUL:
			return number{a.n * b.n, a.unit || b.unit}
		case x.Op == token.ADD && a.unit && b.unit:
			return number{a.n + b.n, true}
		case x.Op == token.QUO && a.unit && !b.unit && b.n > 0:
			return number{a.n / b.n, true}
		}
	}
	return v
}

// selected returns the value of a name of another package.
func (e evaluator) selected(x *ast.SelectorExpr) number {
	id, ok := x.X.(*ast.Ident)
	if !ok {
		return number{}
	}
	from := e.file.imports[id.Name]
	if unit := units[x.Sel.Name]; id.Name == "time" && unit > 0 {
		return number{float64(unit), true}
	}
	return e.follow(e.module.named(from, x.Sel.Name))
}

// follow returns the value of a definition. Marked names and names that are defined by themselves have no value.
func (e evaluator) follow(d definition) number {
	if d.value == nil || e.deep > 10 || d.marked {
		return number{}
	}
	return evaluator{clocks: e.clocks, file: d.file, deep: e.deep + 1}.value(d.value)
}

// lasts returns the time of an expression. It returns false for zero, which sets no limit.
func (e evaluator) lasts(x ast.Expr) (time.Duration, bool) {
	v := e.value(x)
	return time.Duration(v.n), v.unit && v.n > 0
}

// called returns the dotted name of the called function, without the arguments of the calls in it.
func called(call *ast.CallExpr) string { return dotted(call.Fun) }

// dotted returns the dotted name of an expression, without the arguments of the calls in it.
func dotted(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return dotted(x.X) + "." + x.Sel.Name
	case *ast.CallExpr:
		return dotted(x.Fun)
	}
	return ""
}
