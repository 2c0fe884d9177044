package house_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// The subjects for which jjm will use some golden files later.
const (
	laterTasks   = "A grid job lives as a task: scouts, shares, brokerage, memory, goal, commands"
	laterSubjobs = "Failures, retries, holds; masters and subjobs"
)

// The kinds of columns that are not expected results of jjm.
const (
	origin   = "where the row comes from"
	errText  = "an error's text in the original"
	loading  = "how the original loads its files; the column files has those that it saw, in order"
	derived  = "follows from other columns"
	original = "what the original does where jjm follows its specification"
	made     = "what the original notes of lost events besides which they are; the jobs made of it are compared"
)

// unread returns the golden files, and the columns of golden files, that no test reads. Each has a reason: the subject
// that will need it, or the kind of its content. The name of a file may be a pattern. A column stands for all columns
// below it.
func unread() map[string]string {
	list := map[string]string{
		"jedi/command_rules":    laterTasks,
		"jedi/final_status":     laterTasks,
		"jedi/jumbo_watchdog":   laterTasks,
		"jedi/memory":           laterTasks,
		"jedi/scouts":           laterTasks,
		"jedi/throttle":         laterTasks,
		"jedi/workqueue_match":  laterTasks,
		"jedi/workqueue_shares": laterTasks,
		"jedi/ganga_emulated_bulk ganga_public_master_submit": original,
		"jedi/ganga_transitions allowed":                      laterSubjobs,
		"jedi/ganga_transitions force_to":                     laterSubjobs,
		"jedi/ganga_transitions hook":                         original,
		"jedi/gbs_schema_evolution":                           laterSubjobs,
		"jedi/ganga_master_status ganga_public":               original,
		"jedi/ganga_master_status note":                       origin,
		"jedi/ganga_splitters reconstruction":                 origin,
		"jedi/jobsplitter_dosplit expect.skipped":             derived,
		"jedi/* master.type":                                  derived,
		"jedi/* name":                                         origin,
		"wmcore/* source":                                     origin,
		"wmcore/* sequence":                                   origin,
		"wmcore/* call_index":                                 origin,
		"wmcore/* note":                                       origin,
		"wmcore/* raises_msg":                                 errText,
		"wmcore/* limit":                                      loading,
		"wmcore/* by_proxy":                                   loading,
		"wmcore/* groups_seen":                                loading,
		"wmcore/* dao_rows":                                   loading,
		"wmcore/* files.minrun":                               derived,
		"wmcore/* acdc":                                       derived,
		"wmcore/* wmbs.parent_jobs":                           derived,
		"wmcore/* wmbs.fileset_files.id":                      origin,
		"wmcore/* acdc_production_info":                       made,
		"wmcore/* acdc_docs.acdc_version":                     made,
		"jedi/formulas expect.boost":                          laterTasks,
		"jedi/formulas expect.minutes":                        laterTasks,
		"jedi/formulas expect.newNumThrottled":                laterTasks,
		"jedi/formulas expect.remainingJobs":                  laterTasks,
		"jedi/formulas expect.throttle":                       laterTasks,
	}
	for _, column := range []string{"checksums", "id", "last_event", "lfn", "locations", "merged", "parents", "runs",
		"size"} {
		list["wmcore/* acdc_docs.files.*."+column] = made
	}
	for _, column := range []string{"MBps", "activated", "assigned", "averageFailedAttempt", "closeness", "defined",
		"failed", "filesToMove", "finished", "list", "localSize", "maxAttemptNr", "nFiles", "nJobs", "numThrottled",
		"percent", "queueImportance", "queueThreshold", "queuedFiles", "running", "sameAsNucleus", "starting", "t1Weight",
		"totalSize", "wall"} {
		list["jedi/formulas "+column] = laterTasks
	}
	return list
}

// TestGolden_EveryColumnIsReadByATest compares the columns of the golden rows with the columns that tests read: the
// types into which tests read rows, and the used fields of these types. The list must contain exactly the files and
// columns that no test reads.
func TestGolden_EveryColumnIsReadByATest(t *testing.T) {
	inTree(t)
	readers := goldenReaders(t)
	left := unread()
	for _, name := range goldenFiles(t) {
		columns := columnsOf(t, name)
		missing := map[string]bool{}
		if types := readers.of(name); len(types) == 0 {
			missing[name] = true
		} else {
			for column := range columns {
				if !slices.ContainsFunc(types, func(r rowType) bool { return r.reads(strings.Split(column, ".")) }) {
					missing[name+" "+column] = true
				}
			}
		}
		for key := range missing {
			why, listed := listedAs(key, unread())
			if !listed {
				t.Errorf("%s: no test reads it: compare it, or list it here with the subject that builds it", key)
			}
			delete(left, why)
		}
	}
	for key := range left {
		t.Errorf("%s is listed as unread, and is read or not there", key)
	}
}

// listedAs returns the entry of a list that matches a file, or a column of a file.
func listedAs(key string, list map[string]string) (entry string, ok bool) {
	file, column, _ := strings.Cut(key, " ")
	for one := range list {
		of, name, _ := strings.Cut(one, " ")
		fits, _ := path.Match(of, file)
		if fits && (column == name || strings.HasPrefix(column, name+".")) {
			return one, true
		}
	}
	return "", false
}

// goldenFiles returns the names of all files of golden rows.
func goldenFiles(t *testing.T) (names []string) {
	paths, err := filepath.Glob("internal/testkit/golden/testdata/golden/*/*.jsonl.gz")
	if err != nil || len(paths) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range paths {
		name, _ := filepath.Rel("internal/testkit/golden/testdata/golden", file)
		names = append(names, filepath.ToSlash(strings.TrimSuffix(name, ".jsonl.gz")))
	}
	return names
}

// columnsOf returns the keys of the rows of a file. The keys of nested tables are joined by dots, and lists add no key.
func columnsOf(t *testing.T, name string) map[string]bool {
	f, err := os.Open("internal/testkit/golden/testdata/golden/" + name + ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string]bool{}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var row map[string]any
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		addColumns(columns, "", row)
	}
	delete(columns, "id") // golden.Rows reads the id of the row
	return columns
}

// isWord matches names of columns, and not names of files, which some tables have as keys.
var isWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func addColumns(into map[string]bool, prefix string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if !isWord.MatchString(key) { // a table whose keys are names of files
				key = "*"
			}
			into[prefix+key] = true
			addColumns(into, prefix+key+".", value)
		}
	case []any:
		for _, one := range v {
			addColumns(into, prefix, one)
		}
	}
}

// rowType is a type into which rows are read, with the package that uses some of its fields.
type rowType struct {
	types.Type
	in *usage
}

// reads reports whether encoding/json decodes the value at a path of keys, and each field on the path is used. A field
// that is never used has no effect on a test.
func (r rowType) reads(keys []string) bool {
	if len(keys) == 0 || reader(r.Type) {
		return true
	}
	switch under := r.Underlying().(type) {
	case *types.Pointer:
		return rowType{under.Elem(), r.in}.reads(keys)
	case *types.Slice:
		if isRaw(r.Type) {
			return true // counts as read; behind checks how raw JSON is decoded later
		}
		return rowType{under.Elem(), r.in}.reads(keys)
	case *types.Array:
		return rowType{under.Elem(), r.in}.reads(keys)
	case *types.Map:
		return rowType{under.Elem(), r.in}.reads(keys[1:])
	case *types.Interface:
		return true
	case *types.Struct:
		field, ok := fieldOf(under, keys[0])
		return ok && r.in.uses(field) && r.behind(field, keys[1:])
	}
	return false
}

// behind reports whether the value of a field is read. If the field has raw JSON, this depends on the types into which
// the test decodes the raw JSON later, as far as a single call shows these types.
func (r rowType) behind(field *types.Var, keys []string) bool {
	later := r.in.later[r.in.place(field)]
	if !isRaw(field.Type()) || len(later) == 0 {
		return rowType{field.Type(), r.in}.reads(keys)
	}
	return slices.ContainsFunc(later, func(t types.Type) bool { return rowType{t, r.in}.reads(keys) })
}

// isRaw reports whether a type is json.RawMessage.
func isRaw(t types.Type) bool {
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == "RawMessage"
}

// reader reports whether a type decodes its JSON itself.
func reader(t types.Type) bool {
	if isRaw(t) {
		return false
	}
	m, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, "UnmarshalJSON")
	return m != nil
}

// fieldOf returns the field into which a key is decoded.
func fieldOf(s *types.Struct, key string) (*types.Var, bool) {
	for i := range s.NumFields() {
		f := s.Field(i)
		name, _, _ := strings.Cut(reflect.StructTag(s.Tag(i)).Get("json"), ",")
		if f.Embedded() && name == "" {
			if inner, ok := f.Type().Underlying().(*types.Struct); ok {
				if found, ok := fieldOf(inner, key); ok {
					return found, true
				}
			}
		}
		if name == "" {
			name = f.Name()
		}
		if f.Exported() && strings.EqualFold(name, key) {
			return f, true
		}
	}
	return nil, false
}

// usage holds the fields that a package uses outside of their declarations, by the position of the declaration, and the
// types into which the package decodes raw JSON.
type usage struct {
	fset  *token.FileSet
	named map[string]bool
	later map[string][]types.Type
}

func (u *usage) place(v *types.Var) string { return u.fset.Position(v.Pos()).String() }

// uses reports whether a field is used. The fields of the product's types always count as used.
func (u *usage) uses(v *types.Var) bool {
	return u.named[u.place(v)] || !strings.HasSuffix(u.fset.Position(v.Pos()).Filename, "_test.go")
}

// usageOf returns the usage of a package.
func usageOf(p *packages.Package) *usage {
	u := &usage{fset: p.Fset, named: map[string]bool{}, later: map[string][]types.Type{}}
	for _, object := range p.TypesInfo.Uses {
		if v, ok := object.(*types.Var); ok && v.IsField() {
			u.named[u.place(v)] = true
		}
	}
	for _, file := range p.Syntax {
		ast.Inspect(file, func(n ast.Node) bool {
			u.converted(p.TypesInfo, n)
			if field, into := rawRead(p.TypesInfo, n); field != nil {
				u.later[u.place(field)] = append(u.later[u.place(field)], into)
			}
			return true
		})
	}
	return u
}

// converted marks all fields of a struct as used if the struct is converted to another struct type.
func (u *usage) converted(info *types.Info, n ast.Node) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || !info.Types[call.Fun].IsType() {
		return
	}
	for _, t := range []types.Type{info.Types[call.Args[0]].Type, info.Types[call.Fun].Type} {
		if s, ok := t.Underlying().(*types.Struct); ok {
			for i := range s.NumFields() {
				u.named[u.place(s.Field(i))] = true
			}
		}
	}
}

// rawRead parses a call json.Unmarshal(x.Field, &v) into the field and the type of v.
func rawRead(info *types.Info, n ast.Node) (field *types.Var, into types.Type) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 {
		return nil, nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Unmarshal" {
		return nil, nil
	}
	from, ok := call.Args[0].(*ast.SelectorExpr)
	if !ok {
		return nil, nil
	}
	field, _ = info.Uses[from.Sel].(*types.Var)
	pointer, ok := info.Types[call.Args[1]].Type.(*types.Pointer)
	if field == nil || !ok {
		return nil, nil
	}
	return field, pointer.Elem()
}

// readers are the types of rows, by the name of the golden file or the beginning of the name.
type readers map[string][]rowType

func (rs readers) of(name string) (all []rowType) {
	for key, some := range rs {
		if key == name || strings.HasSuffix(key, "/") && strings.HasPrefix(name, key) {
			all = append(all, some...)
		}
	}
	return all
}

// goldenReaders returns the row types of all calls of golden.Rows in tests.
func goldenReaders(t *testing.T) readers {
	config := &packages.Config{Tests: true, Mode: packages.NeedName | packages.NeedImports | packages.NeedTypes |
		packages.NeedSyntax | packages.NeedTypesInfo}
	loaded, err := packages.Load(config, goldenPackages(t)...)
	if err != nil {
		t.Fatal(err)
	}
	out := readers{}
	for _, p := range loaded {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
		used := usageOf(p)
		for _, file := range p.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) != 3 {
					return true
				}
				if name, row, ok := rowsCall(p.TypesInfo, call); ok {
					out[name] = append(out[name], rowType{row, used})
				}
				return true
			})
		}
	}
	return out
}

// rowsCall parses a call of golden.Rows: the file's name or its beginning, and the type of the rows.
func rowsCall(info *types.Info, call *ast.CallExpr) (name string, row types.Type, ok bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Rows" {
		return "", nil, false
	}
	instance, ok := info.Instances[sel.Sel]
	if !ok || instance.TypeArgs.Len() != 1 {
		return "", nil, false
	}
	arg := call.Args[1]
	if sum, ok := arg.(*ast.BinaryExpr); ok { // such as "wmcore/"+name
		arg = sum.X
	}
	value := info.Types[arg].Value
	if value == nil || value.Kind() != constant.String {
		return "", nil, false
	}
	return constant.StringVal(value), instance.TypeArgs.At(0), true
}

// goldenPackages returns the packages whose tests import package golden.
func goldenPackages(t *testing.T) []string {
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if strings.Contains(string(text), "\"jjm/internal/testkit/golden\"") {
			found["./"+filepath.ToSlash(filepath.Dir(file))] = true
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatal(fmt.Errorf("no reader of golden rows: %w", err))
	}
	return slices.Sorted(maps.Keys(found))
}
