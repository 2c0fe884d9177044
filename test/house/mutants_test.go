package house_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"jjm/internal/testkit/needs"
)

// mutants is the environment variable that names the settings whose tests are tried. "all" tries every setting, and
// takes some hours. Without the variable the test tries only the setting hold.code, because only one package reads it.
const mutants = "JJM_MUTANTS"

// TestSettings_AProofFailsWithoutItsSetting checks the list of [proofs]. For each setting it builds jjm in such a way
// that the setting always has its default, except where its value is checked. The tests that proofs lists for the
// setting must then fail.
func TestSettings_AProofFailsWithoutItsSetting(t *testing.T) {
	inTree(t)
	needs.Campaign(t, needs.Lint)
	wanted, where := os.Getenv(mutants), "./..."
	if wanted == "" {
		wanted, where = "hold.code", "./internal/policy/plan"
	}
	reads := readsOfFields(t, where)
	for _, p := range proofs() {
		if wanted != "all" && !slices.Contains(strings.Split(wanted, ","), p.key) {
			continue
		}
		s, ok := settingNamed(t, p.key)
		if !ok {
			t.Errorf("%s is no setting", p.key)
			continue
		}
		t.Run(p.key, func(t *testing.T) {
			sites := reads[s.owner+"."+s.field]
			if len(sites) == 0 {
				t.Fatalf("nothing reads %s.%s", s.owner, s.field)
			}
			overlay := neutral(t, sites, s.value)
			cmd := exec.Command("go", "test", "-count=1", "-run", "^("+p.tests+")$", "./"+p.in)
			cmd.Env = append(os.Environ(), "JJM_TIER="+needs.Whole,
				"GOFLAGS=-overlay="+overlay) // also applies to programs that the tests build
			out, err := cmd.CombinedOutput()
			switch {
			case strings.Contains(string(out), "no tests to run"):
				t.Errorf("%s has no %s", p.in, p.tests)
			case err == nil:
				t.Errorf("%s of %s holds without it", p.tests, p.in)
			case !strings.Contains(string(out), "--- FAIL") && !strings.Contains(string(out), "panic: "):
				t.Errorf("cannot be tried: %v\n%.2000s", err, out)
			}
		})
	}
}

// fieldRead is an expression in a file that reads a field.
type fieldRead struct {
	file       string
	start, end int
	typ        types.Type
	qualify    types.Qualifier
}

// readsOfFields returns all reads of fields, by PACKAGE.STRUCT.FIELD. It leaves out reads that only check values or
// compare configurations at a reload.
func readsOfFields(t *testing.T, where string) map[string][]fieldRead {
	t.Helper()
	config := &packages.Config{Mode: packages.NeedName | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax |
		packages.NeedTypesInfo | packages.NeedFiles}
	loaded, err := packages.Load(config, where)
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string]string{} // the fields, by the position of their declaration
	for _, p := range loaded {
		for _, name := range p.Types.Scope().Names() {
			of, ok := p.Types.Scope().Lookup(name).(*types.TypeName)
			if !ok || of.IsAlias() {
				continue
			}
			s, ok := of.Type().Underlying().(*types.Struct)
			if !ok {
				continue
			}
			for i := range s.NumFields() {
				place := p.Fset.Position(s.Field(i).Pos()).String()
				owners[place] = p.PkgPath + "." + name + "." + s.Field(i).Name()
			}
		}
	}
	out := map[string][]fieldRead{}
	for _, p := range loaded {
		for _, file := range p.Syntax {
			name := p.Fset.Position(file.Pos()).Filename
			if strings.HasSuffix(name, "internal/app/reload.go") {
				continue
			}
			collectReads(p, file, func(sel *ast.SelectorExpr, v *types.Var) {
				owner := owners[p.Fset.Position(v.Pos()).String()]
				out[owner] = append(out[owner], fieldRead{file: name, start: p.Fset.Position(sel.Pos()).Offset,
					end: p.Fset.Position(sel.End()).Offset, typ: v.Type(), qualify: qualifier(p, file)})
			})
		}
	}
	return out
}

// collectReads calls add for each selector that reads a field.
func collectReads(p *packages.Package, file *ast.File, add func(*ast.SelectorExpr, *types.Var)) {
	written := map[ast.Expr]bool{}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(strings.ToLower(f.Name.Name), "check") {
			continue // such functions only check values
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					written[left] = true
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					written[n.X] = true
				}
			case *ast.IncDecStmt:
				written[n.X] = true
			case *ast.SelectorExpr:
				v, ok := p.TypesInfo.Uses[n.Sel].(*types.Var)
				if ok && v.IsField() && !written[n] {
					add(n, v)
				}
			}
			return true
		})
	}
}

// qualifier returns a function that returns the name by which a file refers to a package.
func qualifier(p *packages.Package, file *ast.File) types.Qualifier {
	names := map[string]string{}
	for _, in := range file.Imports {
		path, _ := strconv.Unquote(in.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if in.Name != nil {
			name = in.Name.Name
		}
		names[path] = name
	}
	return func(of *types.Package) string {
		if of.Path() == p.PkgPath {
			return ""
		}
		return names[of.Path()]
	}
}

// neutral writes copies of the files in which each read is replaced by a fixed value, and returns the path of the
// overlay for go build.
func neutral(t *testing.T, sites []fieldRead, value any) string {
	t.Helper()
	dir, byFile := t.TempDir(), map[string][]fieldRead{}
	for _, s := range sites {
		byFile[s.file] = append(byFile[s.file], s)
	}
	replace := map[string]string{}
	for file, some := range byFile {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(some, func(a, b fieldRead) int { return b.start - a.start })
		for _, s := range some {
			old := string(text[s.start:s.end])
			text = []byte(string(text[:s.start]) + always(old, s, value) + string(text[s.end:]))
		}
		replace[file] = filepath.Join(dir, fmt.Sprint(len(replace), ".go"))
		if err := os.WriteFile(replace[file], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// always returns an expression of the field's type that always has a fixed value.
func always(old string, s fieldRead, value any) string {
	v := reflect.ValueOf(value)
	switch b, _ := s.typ.Underlying().(*types.Basic); {
	case b != nil && b.Info()&types.IsBoolean != 0:
		return map[bool]string{true: "(" + old + " || true)", false: "(" + old + " && false)"}[v.Bool()]
	case b != nil && b.Info()&types.IsString != 0:
		return "(" + old + "[:0] + " + strconv.Quote(v.String()) + ")"
	case b != nil && b.Info()&types.IsFloat != 0:
		return fmt.Sprintf("(%s*0 + %v)", old, v.Float())
	case b != nil:
		return fmt.Sprintf("(%s*0 + %d)", old, v.Int())
	}
	return "(*new(" + types.TypeString(s.typ, s.qualify) + "))"
}
