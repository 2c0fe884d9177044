package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// givesTo lists the exported functions whose comment may say "gives", because they hand something to somebody instead
// of returning it.
var givesTo = map[string]bool{}

// The comment of an exported function describes its result with "returns", not with "gives".
func TestWords_AnExportedFunctionReturns(t *testing.T) {
	inTree(t)
	for _, path := range sources(t) {
		found, err := giving(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			if !givesTo[path+" "+name] {
				t.Errorf("%s: %s \"gives\": write \"returns\", or what it does", path, name)
			}
		}
	}
}

func TestWords_AGivingFunctionIsFound(t *testing.T) {
	inTree(t)
	for _, c := range []struct {
		text string
		want string
	}{
		{"// Size gives bytes.\nfunc Size() {}", "Size"},
		{"// Size gives bytes.\nfunc (t T) Size() {}", "Size"},
		{"// Size returns bytes.\nfunc Size() {}", ""},
		{"// Size returns what Sum gives.\nfunc Size() {}", ""},
		{"// size gives bytes to a file.\nfunc size() {}", ""},
	} {
		found, err := giving("x.go", "package x\n"+c.text+"\n")
		if got := strings.Join(found, " "); err != nil || got != c.want {
			t.Errorf("%q: found %q, error %v; want %q", c.text, got, err, c.want)
		}
	}
}

var gives = regexp.MustCompile(`^\w+ gives\b`)

// giving returns the exported functions of a file whose comment starts with "Name gives".
func giving(path string, source any) (names []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() && gives.MatchString(f.Doc.Text()) {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}
