package command

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// docs/SITE-ADAPTERS.md names every key of a description, and every word that a description may contain.
func TestDocument_NamesEveryWord(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "SITE-ADAPTERS.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, word := range slices.Concat(keys(reflect.TypeOf(file{})), words("list"), words("submit"), fieldNames(),
		optionKeys(), exitForms(), probeNames) {
		if !strings.Contains(page, "`"+word+"`") && !strings.Contains(page, `"`+word+`"`) &&
			!strings.Contains(page, "["+word+"]") && !strings.Contains(page, "**"+word+"**") &&
			!strings.Contains(page, "."+word+"]") && !strings.Contains(page, "`"+word+" = ") {
			t.Errorf("the page does not name %s", word)
		}
	}
	for _, name := range slices.Concat(submitNames, optionNames(), singular, plural, captured,
		[]string{nameIndex, "SINCE"}) {
		if !strings.Contains(page, "`"+name+"`") && !strings.Contains(page, "%__"+name+"__") {
			t.Errorf("the page does not name the template %s", name)
		}
	}
	for _, state := range batchStates() {
		if !strings.Contains(page, state+",") && !strings.Contains(page, state+" ") && !strings.Contains(page, state+".") {
			t.Errorf("the page does not name the state %s", state)
		}
	}
}

// keys returns the keys of a table of a description, and of all tables in it.
func keys(table reflect.Type) (all []string) {
	for _, f := range reflect.VisibleFields(table) {
		all = append(all, f.Tag.Get("toml"))
		in := f.Type
		for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice {
			in = in.Elem()
		}
		if in.Kind() == reflect.Struct && in.PkgPath() == table.PkgPath() {
			all = append(all, keys(in)...)
		}
	}
	return all
}
