package main

import (
	"encoding/csv"
	"strings"
	"testing"

	"jjm/internal/api/wire"
)

func TestListColumns_HostileNamesStayOneCell(t *testing.T) {
	name, err := columnNamed("--columns", "name")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"=1+2": "'=1+2", "+1": "'+1", "-1": "'-1", "@x": "'@x", "a=b": "a=b", "": "", "a\nb": `a\nb`, "\t=1": `\t=1`,
		"\r\n=1": `\r\n=1`, "a,\"b\"": "a,\"b\"", "\x1b[31m": `\x1b[31m`, "größe": "größe",
	} {
		got := name.csvCell(&wire.Status{Name: text})
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		var line strings.Builder
		w := csv.NewWriter(&line)
		if err := w.Write([]string{got, "next"}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		row, err := csv.NewReader(strings.NewReader(line.String())).Read()
		if err != nil || len(row) != 2 || row[0] != got || strings.Count(line.String(), "\n") != 1 {
			t.Errorf("%q: %q is read as %q, error %v", text, line.String(), row, err)
		}
	}
	id, err := columnNamed("--columns", "id")
	if err != nil {
		t.Fatal(err)
	}
	if got := id.csvCell(&wire.Status{Lookup: wire.Lookup{ID: 17}}); got != "17" {
		t.Errorf("a number: %q", got)
	}
}

// Each column has a name of its own, and exactly one function that returns its value.
func TestListColumns_EachHasOneValue(t *testing.T) {
	seen := map[string]bool{}
	for _, col := range listColumns() {
		kinds := 0
		for _, set := range []bool{col.number != nil, col.text != nil, col.at != nil} {
			if set {
				kinds++
			}
		}
		if seen[col.name] || kinds != 1 {
			t.Errorf("column %q: known before %v, %d kinds of values", col.name, seen[col.name], kinds)
		}
		seen[col.name] = true
		var s wire.Status
		_, _ = col.cell(&s), col.csvCell(&s)
	}
}
