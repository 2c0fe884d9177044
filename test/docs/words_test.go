package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters/idealize"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/policy/why"
	"jjm/internal/work/cover"
)

// The tables of docs/WORDS.md have every word of the code, and no other words.
func TestWords_AreThoseOfTheCode(t *testing.T) {
	page := pages(t)["docs/WORDS.md"]
	for _, list := range []struct {
		where string // the heading or the line above the table
		code  []string
	}{
		{"## Statuses of a grid job", words(jjm.GridStatus(0), jjm.GridStatus.String)},
		{"## What gatekeepers are told", gramWords()},
		{"## The word of the master", masterWords()},
		{"## Who holds", []string{jjm.HeldApplication, jjm.HeldBatchSystem, jjm.HeldOperator}},
		{"## Counts of local jobs", members(wire.Counts{})},
		{"## Fields of lookup", lookupFields(t)},
		{"## Kinds of errors", words(jjm.Invalid, jjm.Kind.String)},
		{"\n`jjm list`:", columns(t, "list.go", "listTable")},
		{"\n`jjm clusters`, of all", columns(t, "clusters.go", "clusterTable")},
		{"\n`jjm status '17.*'`:", columns(t, "statuslocal.go", "localTable")},
		{"\n`jjm dataset show`:", columns(t, "dataset.go", "datasetTable")},
		{"\n`jjm dataset show raw --files`:", columns(t, "datasetfiles.go", "filesTable")},
		{"\n`jjm history 17`:", columns(t, "history.go", "historyTable")},
		{"\nThe attempts below it,", columns(t, "history.go", "attemptTable")},
		{"\n`jjm explain 17.3`:", columns(t, "explain.go", "ruleTable")},
		{"## Causes", codes(why.Codes())},
		{"\nWhat it tells of a grid job as a whole,", codes(slices.DeleteFunc(why.GridCodes(), func(c why.Code) bool {
			return slices.Contains(why.Codes(), c)
		}))},
		{"\nWords that it tells only while", codes(why.RecordCodes())},
		{"## States of a cluster", clusterWords(t)},
		{"## States of a file", words(jjm.FileReady, jjm.FileState.String)},
		{"## Verify\n", constants(t, "internal/work/cover/facts.go", "Verdict")},
		{"\nThe numbers. They count", members(cover.Report{})},
		{"\nThe kinds of findings,", constants(t, "internal/work/cover/facts.go", "Kind")},
		{"## Warnings", constants(t, "internal/jjm/warning.go", "NoticeKind")},
	} {
		onPage := slices.Sorted(slices.Values(listed(t, page, list.where)))
		if diff := cmp.Diff(slices.Sorted(slices.Values(list.code)), onPage); diff != "" {
			t.Errorf("%s (-code +page):\n%s", strings.TrimSpace(list.where), diff)
		}
	}
}

// codes returns the words for the codes of causes, for the table of causes.
func codes(all []why.Code) (words []string) {
	for _, code := range all {
		words = append(words, string(code))
	}
	return words
}

// One table lists states and phases in the form "state/phase".
func TestWords_StatesAndPhasesAreThoseOfTheCode(t *testing.T) {
	states, phases := map[string]bool{}, map[string]bool{}
	for _, word := range listed(t, pages(t)["docs/WORDS.md"], "## States of a local job") {
		state, phase, has := strings.Cut(word, "/")
		states[state] = true
		if has {
			phases[phase] = true
		}
	}
	for _, list := range []struct {
		code []string
		page map[string]bool
	}{{words(jjm.New, jjm.State.String), states}, {constants(t, "internal/jjm/state.go", "Phase"), phases}} {
		if diff := cmp.Diff(slices.Sorted(slices.Values(list.code)), slices.Sorted(maps.Keys(list.page))); diff != "" {
			t.Errorf("(-code +page):\n%s", diff)
		}
	}
}

// Each row of a table on the page has a word, its meaning and an example.
func TestWords_RowsAreWhole(t *testing.T) {
	for line := range strings.Lines(pages(t)["docs/WORDS.md"]) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) != 3 || len(cells[1]) < 3 ||
			len(strings.Trim(cells[2], " |")) == 0 {
			t.Errorf("want word, meaning, example: %s", line)
		}
	}
}

// For each number of "jjm verify", the page quotes the printed text, and the source of the command contains this text.
func TestWords_VerifyPrintsThem(t *testing.T) {
	code, err := os.ReadFile(filepath.Join(root, "cmd/jjm/verify.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, numbers, _ := strings.Cut(pages(t)["docs/WORDS.md"], "\nThe numbers. They count")
	quoted := regexp.MustCompile("(?m)^\\| `[a-z_]+` \\| \"([a-z0-9 ]+)\":").FindAllStringSubmatch(numbers, -1)
	if len(quoted) < 12 {
		t.Fatalf("the page quotes only %d words", len(quoted))
	}
	for _, q := range quoted {
		if word := strings.TrimPrefix(q[1], "told "); !strings.Contains(string(code), word) {
			t.Errorf("verify prints no %q", q[1])
		}
	}
}

// listed returns the words in the first column of the first table after a text, in their order.
func listed(t *testing.T, page, after string) (all []string) {
	t.Helper()
	_, rest, found := strings.Cut(page, after)
	table := regexp.MustCompile(`(?m)^\|(?:.*\n\|)*.*\n`).FindString(rest)
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		all = append(all, m[1])
	}
	if !found || len(all) == 0 {
		t.Fatalf("docs/WORDS.md has no table behind %q", after)
	}
	return all
}

// words returns the words for the values of a numbered type, from first on. It stops at the first value without a word.
func words[T ~uint8](first T, word func(T) string) (all []string) {
	for v := first; ; v++ {
		w := word(v)
		if w == "?" || strings.HasPrefix(w, "file state ") {
			return all
		}
		all = append(all, w)
	}
}

// gramWords returns the words of all GRAM states, including the word for no state.
func gramWords() []string {
	all := map[string]bool{}
	for g := range jjm.GRAM(256) {
		all[g.String()] = true
	}
	return slices.Collect(maps.Keys(all))
}

// masterWords returns all statuses that a master job can have, for any combination of states of its local jobs.
func masterWords() []string {
	all := map[string]bool{}
	for set := range 1 << jjm.NumStates {
		var counts [jjm.NumStates]int
		for s := range counts {
			counts[s] = set >> s & 1
		}
		for _, more := range []bool{false, true} {
			all[plan.Master(counts, more, false)] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}

// members returns the names of the fields of a struct in JSON.
func members(v any) (all []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() {
			all = append(all, name)
		}
	}
	return all
}

// source parses a file of the project.
func source(t *testing.T, name string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// constants returns the values of the constants that a file declares for a string type, in the order of their
// declarations.
func constants(t *testing.T, file, typ string) (all []string) {
	t.Helper()
	ast.Inspect(source(t, file), func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if of, ok := spec.Type.(*ast.Ident); ok && of.Name == typ {
				for _, v := range spec.Values {
					all = append(all, text(v))
				}
			}
		}
		return true
	})
	return all
}

// text returns the value of e if e is a string literal, otherwise "".
func text(e ast.Node) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}

// texts returns the string literals in a function of cmd/jjm that match a pattern, each once.
func texts(t *testing.T, file, function, pattern string) []string {
	t.Helper()
	all, is := map[string]bool{}, regexp.MustCompile(pattern)
	for _, d := range source(t, "cmd/jjm/"+file).Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == function {
			ast.Inspect(f, func(n ast.Node) bool {
				if n == nil {
					return true
				}
				if s := text(n); is.MatchString(s) {
					all[s] = true
				}
				return true
			})
		}
	}
	return slices.Collect(maps.Keys(all))
}

// columns returns the column titles of the table that a function prints.
func columns(t *testing.T, file, function string) []string {
	t.Helper()
	return texts(t, file, function, `^[A-Z]+( [A-Z]+)*$`)
}

// lookupFields returns the names of the fields in a line of jjm lookup.
func lookupFields(t *testing.T) (all []string) {
	t.Helper()
	code, err := os.ReadFile(filepath.Join(root, "cmd/jjm/lookup.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`([a-z]+)=%`).FindAllStringSubmatch(string(code), -1) {
		all = append(all, m[1])
	}
	return all
}

// clusterWords returns the possible values of the column STATE of jjm clusters.
func clusterWords(t *testing.T) (all []string) {
	t.Helper()
	for _, s := range texts(t, "clusters.go", "clusterState", `^[a-z ]+$`) {
		if s != "breaker " {
			all = append(all, s)
		}
	}
	for _, s := range []idealize.State{idealize.Open, idealize.HalfOpen} {
		all = append(all, "breaker "+s.String())
	}
	for _, verb := range []string{jjm.OrderDrain, jjm.OrderPause, jjm.OrderMaintenance} {
		all = append(all, jjm.Order{Verb: verb}.Doing())
	}
	return all
}
