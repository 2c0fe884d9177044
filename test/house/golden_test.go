package house

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
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

// The subjects of what is built later.
const (
	laterTasks   = "A grid job lives as a task: scouts, shares, brokerage, memory, goal, commands"
	laterSubjobs = "Failures, retries, holds; masters and subjobs"
)

// What a column is that expects nothing of jjm.
const (
	origin   = "where the row comes from"
	words    = "an error's text in the original"
	loading  = "how the original loads its files; the column files has those that it saw, in order"
	derived  = "follows from other columns"
	original = "what the original does where jjm follows its specification"
)

// unread are the golden files, and columns of files, that no test reads, and why: the
// subject that builds what they are about, or what they are instead. A file may be a
// pattern, and a column names all below it.
func unread() map[string]string {
	list := map[string]string{
		"jedi/command_rules":                      laterTasks,
		"jedi/final_status":                       laterTasks,
		"jedi/jumbo_watchdog":                     laterTasks,
		"jedi/memory":                             laterTasks,
		"jedi/retry_rules":                        laterTasks,
		"jedi/scouts":                             laterTasks,
		"jedi/throttle":                           laterTasks,
		"jedi/workqueue_match":                    laterTasks,
		"jedi/workqueue_shares":                   laterTasks,
		"jedi/ganga_emulated_bulk":                laterSubjobs,
		"jedi/ganga_transitions":                  laterSubjobs,
		"jedi/gbs_schema_evolution":               laterSubjobs,
		"jedi/ganga_master_status ganga_public":   original,
		"jedi/ganga_master_status note":           origin,
		"jedi/ganga_splitters reconstruction":     origin,
		"jedi/jobsplitter_dosplit expect.skipped": derived,
		"jedi/* master.type":                      derived,
		"jedi/* name":                             origin,
		"wmcore/* source":                         origin,
		"wmcore/* sequence":                       origin,
		"wmcore/* call_index":                     origin,
		"wmcore/* note":                           origin,
		"wmcore/* raises_msg":                     words,
		"wmcore/* limit":                          loading,
		"wmcore/* by_proxy":                       loading,
		"wmcore/* groups_seen":                    loading,
		"wmcore/* dao_rows":                       loading,
		"wmcore/* files.minrun":                   derived,
		"wmcore/* acdc":                           derived,
		"wmcore/* acdc_docs.files":                derived,
		"wmcore/* wmbs.parent_jobs":               derived,
	}
	for _, column := range []string{"MBps", "activated", "assigned", "averageFailedAttempt", "baseWalltime", "closeness",
		"corePower", "cores", "cpuEfficiency", "cpuTime", "defined", "events", "failed", "filesToMove", "finished", "list",
		"localSize", "maxAttemptNr", "nFiles", "nJobs", "numThrottled", "percent", "queueImportance", "queueMaxtime",
		"queueThreshold", "queuedFiles", "running", "sameAsNucleus", "starting", "t1Weight", "totalSize", "unit", "wall"} {
		list["jedi/formulas "+column] = laterTasks
	}
	return list
}

// TestGolden_EveryColumnIsReadByATest holds what is in the golden rows against what tests
// read of them, by the types that they read rows into: a file or a column that none reads
// stands in the list, with the subject that builds it, and nothing else does.
func TestGolden_EveryColumnIsReadByATest(t *testing.T) {
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

// listedAs returns the entry of the list that covers a key.
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

// goldenFiles are the names of all files of golden rows.
func goldenFiles(t *testing.T) (names []string) {
	paths, err := filepath.Glob("testdata/golden/*/*.jsonl.gz")
	if err != nil || len(paths) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range paths {
		name, _ := filepath.Rel("testdata/golden", file)
		names = append(names, filepath.ToSlash(strings.TrimSuffix(name, ".jsonl.gz")))
	}
	return names
}

// columnsOf are the keys of the rows of a file, those of tables in them joined by dots;
// lists are passed through.
func columnsOf(t *testing.T, name string) map[string]bool {
	f, err := os.Open("testdata/golden/" + name + ".jsonl.gz")
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
	delete(columns, "id") // of the row: Rows reads it
	return columns
}

// isWord tells columns from names of files.
var isWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func addColumns(into map[string]bool, prefix string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if !isWord.MatchString(key) { // of a table by file
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

// rowType is a type that rows are read into.
type rowType struct{ types.Type }

// reads reports whether what stands behind keys is read, as encoding/json reads it.
func (r rowType) reads(keys []string) bool {
	if len(keys) == 0 {
		return true
	}
	if reader(r.Type) {
		return true
	}
	switch under := r.Underlying().(type) {
	case *types.Pointer:
		return rowType{under.Elem()}.reads(keys)
	case *types.Slice:
		if named, ok := r.Type.(*types.Named); ok && named.Obj().Name() == "RawMessage" {
			return true
		}
		return rowType{under.Elem()}.reads(keys)
	case *types.Array:
		return rowType{under.Elem()}.reads(keys)
	case *types.Map:
		return rowType{under.Elem()}.reads(keys[1:])
	case *types.Interface:
		return true
	case *types.Struct:
		field, ok := fieldOf(under, keys[0])
		return ok && rowType{field}.reads(keys[1:])
	}
	return false
}

// reader reports whether a type reads its JSON itself.
func reader(t types.Type) bool {
	m, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, "UnmarshalJSON")
	return m != nil
}

// fieldOf returns the field that a key is read into.
func fieldOf(s *types.Struct, key string) (types.Type, bool) {
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
			return f.Type(), true
		}
	}
	return nil, false
}

// readers are the types of rows, by the name of the file, or its beginning.
type readers map[string][]rowType

func (rs readers) of(name string) (all []rowType) {
	for key, some := range rs {
		if key == name || strings.HasSuffix(key, "/") && strings.HasPrefix(name, key) {
			all = append(all, some...)
		}
	}
	return all
}

// goldenReaders finds the calls of golden.Rows in all tests.
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
		for _, file := range p.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) != 3 {
					return true
				}
				if name, row, ok := rowsCall(p.TypesInfo, call); ok {
					out[name] = append(out[name], rowType{row})
				}
				return true
			})
		}
	}
	return out
}

// rowsCall reads a call of golden.Rows: the file's name, or what it begins with, and the
// type of the rows.
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
	if sum, ok := arg.(*ast.BinaryExpr); ok { // "wmcore/"+name
		arg = sum.X
	}
	value := info.Types[arg].Value
	if value == nil || value.Kind() != constant.String {
		return "", nil, false
	}
	return constant.StringVal(value), instance.TypeArgs.At(0), true
}

// goldenPackages are those whose tests import package golden.
func goldenPackages(t *testing.T) []string {
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if strings.Contains(string(text), "\"jjm/internal/golden\"") {
			found["./"+filepath.ToSlash(filepath.Dir(file))] = true
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatal(fmt.Errorf("no reader of golden rows: %w", err))
	}
	return slices.Sorted(maps.Keys(found))
}
