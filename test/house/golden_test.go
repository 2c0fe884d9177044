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
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// The issues that build what the rows of a file are about.
const (
	tasks    = "a grid job lives as a task: scouts, shares, brokerage, memory, goal, commands"
	failures = "failures, retries, holds; masters and subjobs"
)

// later names what no test reads yet, and the issue that builds it: a file, "FILE COLUMN=VALUE"
// for rows, "FILE COLUMN" for a column.
func later() map[string]string {
	return map[string]string{
		"jedi/command_rules":   tasks,
		"jedi/final_status":    tasks,
		"jedi/jumbo_watchdog":  tasks,
		"jedi/memory":          tasks,
		"jedi/scouts":          tasks,
		"jedi/throttle":        tasks,
		"jedi/workqueue_match": tasks, "jedi/workqueue_shares": tasks,
		"jedi/jobsplitter_dosplit expect.skipped": tasks, // queues that are passed over

		"jedi/formulas fn=hs06sec":                                                         tasks, // what scouts measure
		"jedi/formulas fn=percentile":                                                      tasks,
		"jedi/formulas fn=jobMaxWalltime":                                                  tasks, // what jobs ask for
		"jedi/formulas fn=jobBrokerWeight(reference)":                                      tasks,
		"jedi/formulas fn=networkThroughputWeight":                                         tasks,
		"jedi/formulas fn=networkWeight(reference)":                                        tasks,
		"jedi/formulas fn=priorityBoost":                                                   tasks,
		"jedi/formulas fn=throttledMinutes":                                                tasks,
		"jedi/formulas fn=throttleTask(public: average failedAttempt, one step at a time)": tasks,
		"jedi/formulas fn=throttleTask(seed: largest attemptNr, multiple of 5)":            tasks,

		"jedi/ganga_emulated_bulk":  failures,
		"jedi/ganga_transitions":    failures,
		"jedi/gbs_schema_evolution": failures,
		"jedi/retry_rules":          failures,
	}
}

// labels are columns that say what a row is, where it is from and how it was recorded: there
// is nothing of jjm to compare with them. Those without a file are of every file.
func labels() map[string]string {
	const (
		told     = "what the row is about"
		recorded = "which call of the original it was"
		plumbing = "how the original loaded its files; the column files says which it saw"
		base     = "a column of the original's data base; the column wmbs says the same"
		shown    = "a number or a mark of the original that its splitters do not look at"
	)
	return map[string]string{
		"name": told, "note": told, "source": recorded, "call_index": recorded, "sequence": recorded,
		"jedi/ganga_splitters reconstruction":    told,
		"jedi/ganga_master_status ganga_public":  "the defect of public Ganga beside the rule that holds",
		"jedi/inputchunk_subchunks master.type":  shown,
		"jedi/jobsplitter_dosplit master.type":   shown,
		"wmcore acdc":                            "whether acdc_docs are there",
		"wmcore limit":                           plumbing,
		"wmcore by_proxy":                        plumbing,
		"wmcore groups_seen[].lfns[]":            plumbing,
		"wmcore groups_seen[].locations[]":       plumbing,
		"wmcore files[].minrun":                  plumbing,
		"wmcore raises_msg":                      "the words of an error whose class is compared",
		"wmcore acdc_docs[].files.*.id":          shown,
		"wmcore acdc_docs[].files.*.last_event":  shown,
		"wmcore acdc_docs[].files.*.lfn":         "its key",
		"wmcore acdc_docs[].files.*.merged":      shown,
		"wmcore acdc_docs[].files.*.size":        shown,
		"wmcore dao_rows[].events":               base,
		"wmcore dao_rows[].file_events":          base,
		"wmcore dao_rows[].file_first_event":     base,
		"wmcore dao_rows[].file_id":              base,
		"wmcore dao_rows[].file_lumi":            base,
		"wmcore dao_rows[].file_parent":          base,
		"wmcore dao_rows[].file_run":             base,
		"wmcore dao_rows[].file_size":            base,
		"wmcore dao_rows[].id":                   base,
		"wmcore dao_rows[].injected":             base,
		"wmcore dao_rows[].insert_time":          base,
		"wmcore wmbs.fileset_files[].id":         shown,
		"wmcore wmbs.parent_jobs[].job":          shown,
		"wmcore wmbs.parent_jobs[].subscription": shown,
	}
}

const goldenDir = "testdata/golden"

// TestGolden_EveryRowAndColumnIsRead holds what tests decode of golden rows, by the types that
// they give the loader, against the rows: a column is read by a field that its package uses.
func TestGolden_EveryRowAndColumnIsRead(t *testing.T) {
	readers := goldenReaders(t, goldenPackages(t)...)
	names, err := filepath.Glob(goldenDir + "/*/*.jsonl.gz")
	if err != nil || len(names) == 0 {
		t.Fatalf("no golden rows in %s: %v", goldenDir, err)
	}
	found := map[string]bool{}
	for _, file := range names {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), goldenDir+"/"), ".jsonl.gz")
		rows, err := goldenRows(file)
		if err != nil {
			t.Fatal(err)
		}
		read := unread(name, rows, readers[name], found)
		t.Logf("%-42s %4d of %4d rows read", name, read, len(rows))
		delete(readers, name)
	}
	for name := range readers {
		t.Errorf("a test reads %s: no such rows in %s", name, goldenDir)
	}
	listed := later()
	maps.Copy(listed, labels())
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if _, ok := listed[key]; !ok {
			t.Errorf("no test reads %s: compare it, or name the issue that builds it", key)
		}
		delete(listed, key)
	}
	for key := range listed {
		t.Errorf("%s is listed as not read and is: take it off the list", key)
	}
}

// reader is one call of the loader: the rows it takes, where column is not "", and their type.
type reader struct {
	column, value string
	row           types.Type
	used          map[token.Position]bool
	fset          *token.FileSet
}

// takes says whether the reader reads a row.
func (r *reader) takes(row map[string]any) bool { return r.column == "" || row[r.column] == r.value }

// unread adds to found what no reader reads of the rows of a file, and returns how many rows
// are read.
func unread(name string, rows []map[string]any, readers []reader, found map[string]bool) (n int) {
	column := ""
	for i := range readers {
		column = readers[i].column
	}
	for _, row := range rows {
		left := leaves(row, "")
		taken := false
		for i := range readers {
			if r := &readers[i]; r.takes(row) {
				taken = true
				r.strike(left, r.row, row, "")
			}
		}
		switch {
		case taken:
			n++
			for path := range left {
				if path == column || path == "id" { // the loader reads these
					continue
				}
				found[columnKey(name, path)] = true
			}
		case column != "":
			found[fmt.Sprintf("%s %s=%v", name, column, row[column])] = true
		default:
			found[name] = true
		}
	}
	return n
}

// columnKey names a column: labels are those of every file, and the files of WMCore's splitters
// have the same columns.
func columnKey(name, path string) string {
	switch path {
	case "name", "note", "source", "call_index", "sequence":
		return path
	}
	if strings.HasPrefix(name, "wmcore/") {
		name = "wmcore"
	}
	return name + " " + path
}

// leaves are the paths of the values in a row: keys with dots between them, [] for any of a list.
func leaves(v any, path string) map[string]bool {
	out := map[string]bool{}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			maps.Copy(out, leaves(value, below(path, key)))
		}
	case []any:
		for _, value := range v {
			maps.Copy(out, leaves(value, path+"[]"))
		}
	default:
		out[path] = true
	}
	return out
}

// below is the path of what a key holds. Keys within a row that are data, such as names of
// files and numbers of runs, are all *.
func below(path, key string) string {
	if path == "" {
		return key
	}
	if strings.ContainsAny(key, "0123456789/") {
		key = "*"
	}
	return path + "." + key
}

// strike takes from left the leaves of v that decoding into a value of the type reads.
func (r *reader) strike(left map[string]bool, to types.Type, v any, path string) {
	if p, ok := to.Underlying().(*types.Pointer); ok {
		to = p.Elem()
	}
	if ownDecoder(to) {
		for leaf := range leaves(v, path) {
			delete(left, leaf)
		}
		return
	}
	switch u := to.Underlying().(type) {
	case *types.Struct:
		m, _ := v.(map[string]any)
		for key, value := range m {
			if f := r.field(u, key); f != nil {
				r.strike(left, f.Type(), value, below(path, key))
			}
		}
		if v == nil {
			delete(left, path)
		}
	case *types.Map:
		m, _ := v.(map[string]any)
		for key, value := range m {
			r.strike(left, u.Elem(), value, below(path, key))
		}
	case *types.Slice:
		list, _ := v.([]any)
		for _, value := range list {
			r.strike(left, u.Elem(), value, path+"[]")
		}
	case *types.Array:
		list, _ := v.([]any)
		for i := range min(len(list), int(u.Len())) {
			r.strike(left, u.Elem(), list[i], path+"[]")
		}
	default: // a value, or any
		for leaf := range leaves(v, path) {
			delete(left, leaf)
		}
	}
	if v == nil {
		delete(left, path)
	}
}

// ownDecoder says whether a type decodes itself, such as raw text.
func ownDecoder(t types.Type) bool {
	for _, name := range []string{"UnmarshalJSON", "UnmarshalText"} {
		if o, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, name); o != nil {
			return true
		}
	}
	return false
}

// field is the field of a struct that a key is decoded into, as package encoding/json has it,
// nil where there is none or where a test's own struct has one that nothing uses.
func (r *reader) field(s *types.Struct, key string) *types.Var {
	for i := range s.NumFields() {
		f := s.Field(i)
		name, _, _ := strings.Cut(reflect.StructTag(s.Tag(i)).Get("json"), ",")
		if name == "" {
			name = f.Name()
		}
		if !f.Exported() || !strings.EqualFold(name, key) {
			continue
		}
		at := r.fset.Position(f.Pos())
		if strings.HasSuffix(at.Filename, "_test.go") && !r.used[place(at)] {
			return nil
		}
		return f
	}
	return nil
}

// place is a position by file and line and column alone.
func place(at token.Position) token.Position { at.Offset = 0; return at }

// goldenPackages are the folders whose tests import the loader.
func goldenPackages(t *testing.T) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir := "./" + filepath.ToSlash(filepath.Dir(path))
		if strings.Contains(string(text), "\"jjm/internal/golden\"\n") && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// goldenReaders are the calls of the loader in tests of packages, by the file that they read.
func goldenReaders(t *testing.T, patterns ...string) map[string][]reader {
	t.Helper()
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
		packages.NeedTypesInfo | packages.NeedImports
	pkgs, err := packages.Load(&packages.Config{Mode: mode, Tests: true, Fset: token.NewFileSet()}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	if packages.PrintErrors(pkgs) > 0 {
		t.Fatal("the packages that read golden rows do not compile")
	}
	out := map[string][]reader{}
	for _, p := range pkgs {
		used := map[token.Position]bool{}
		use := func(f *types.Var) { used[place(p.Fset.Position(f.Pos()))] = true }
		for _, o := range p.TypesInfo.Uses {
			if v, ok := o.(*types.Var); ok && v.IsField() {
				use(v)
			}
		}
		for _, f := range p.Syntax {
			converted(p, f, use)
			for _, d := range f.Decls {
				callsOf(t, p, d, func(name string, r reader) {
					r.used, r.fset = used, p.Fset
					out[name] = append(out[name], r)
				})
			}
		}
	}
	return out
}

// converted tells use the fields of structs that are converted whole into others.
func converted(p *packages.Package, f *ast.File, use func(*types.Var)) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !p.TypesInfo.Types[call.Fun].IsType() {
			return true
		}
		if s, ok := p.TypesInfo.TypeOf(call.Args[0]).Underlying().(*types.Struct); ok {
			for i := range s.NumFields() {
				use(s.Field(i))
			}
		}
		return true
	})
}

// callsOf tells each the calls of the loader in a declaration.
func callsOf(t *testing.T, p *packages.Package, d ast.Decl, each func(name string, r reader)) {
	ast.Inspect(d, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		fn, ok := p.TypesInfo.Uses[sel.Sel].(*types.Func)
		if !ok || fn.Pkg() == nil || fn.Pkg().Path() != "jjm/internal/golden" {
			return true
		}
		r := reader{row: p.TypesInfo.Instances[sel.Sel].TypeArgs.At(0)}
		if fn.Name() == "Of" {
			r.column, r.value = text(p, call.Args[2]), text(p, call.Args[3])
		}
		names := namesOf(p, d, call.Args[1])
		if len(names) == 0 {
			t.Errorf("%s: which golden rows?", p.Fset.Position(call.Pos()))
		}
		for _, name := range names {
			each(name, r)
		}
		return true
	})
}

// text is the text of a constant, "" for others.
func text(p *packages.Package, e ast.Expr) string {
	if v := p.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

// namesOf are the files that a loader's call names: by a constant, or by a folder and a
// variable, which stands for the names of files among the texts of the function.
func namesOf(p *packages.Package, d ast.Decl, e ast.Expr) (names []string) {
	if name := text(p, e); name != "" {
		return []string{name}
	}
	sum, ok := e.(*ast.BinaryExpr)
	if !ok {
		return nil
	}
	folder := text(p, sum.X)
	ast.Inspect(d, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			name := folder + text(p, lit)
			if _, err := os.Stat(filepath.Join(goldenDir, name+".jsonl.gz")); err == nil {
				names = append(names, name)
			}
		}
		return true
	})
	return names
}

// goldenRows reads the rows of a file.
func goldenRows(file string) (rows []map[string]any, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var row map[string]any
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		rows = append(rows, row)
	}
	return rows, lines.Err()
}

// What the test stands on: a field that a test declares and does not use reads nothing, one
// that is used or converted does, and rows that no reader takes are told by their value.
func TestGolden_WhatIsNotReadIsFound(t *testing.T) {
	var row map[string]any
	if err := json.Unmarshal([]byte(`{"id": "x", "kind": "b", "n": 1, "in": {"7": {"a": 1, "b": [2]}}, "none": null}`),
		&row); err != nil {
		t.Fatal(err)
	}
	field := func(name string, of types.Type, line int) *types.Var {
		return types.NewField(token.Pos(line), nil, name, of, false)
	}
	whole := types.Typ[types.Int]
	inner := types.NewStruct([]*types.Var{field("B", types.NewSlice(whole), 11)}, nil)
	outer := types.NewStruct([]*types.Var{field("In", types.NewMap(types.Typ[types.String], inner), 12),
		field("N", whole, 13)}, nil)
	fset := token.NewFileSet()
	fset.AddFile("x_test.go", 1, 100)
	r := reader{row: outer, fset: fset, column: "kind", value: "b", used: map[token.Position]bool{}}
	for _, f := range []int{11, 12} {
		r.used[place(fset.Position(token.Pos(f)))] = true
	}
	found := map[string]bool{}
	other := map[string]any{"id": "y", "kind": "c"}
	if n := unread("f", []map[string]any{row, other}, []reader{r}, found); n != 1 {
		t.Errorf("%d rows are read, want 1", n)
	}
	want := []string{"f in.*.a", "f kind=c", "f n", "f none"}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("not read: %q, want %q", got, want)
	}
}
