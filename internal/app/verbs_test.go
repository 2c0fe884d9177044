package app

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
)

func TestServed_EveryVerbHasARankABoundAndAnExample(t *testing.T) {
	var names, known []string
	for _, v := range served("test", new(engine.Engine), brokers{}) {
		names = append(names, v.Name)
		if v.Who < serve.Anyone || v.Who > serve.Administrators {
			t.Errorf("%s: nobody may ask", v.Name)
		}
		if v.MaxBytes <= 0 || v.Help == "" {
			t.Errorf("%s: at most %d bytes, help %q", v.Name, v.MaxBytes, v.Help)
		}
		example, err := os.ReadFile(filepath.Join("../api/wire/testdata/v1", v.Name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(string(example), "\n")
		if err := v.Check([]byte(line)); err != nil {
			t.Errorf("%s: %s: %v", v.Name, line, err)
		}
		bad := strings.Replace(line, "{", `{"no_such_member":1,`, 1)
		if err := v.Check([]byte(bad)); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%s: %s: error %v", v.Name, bad, err)
		}
	}
	for _, v := range wire.Verbs() {
		known = append(known, v.Name)
	}
	if !slices.Equal(names, known) {
		t.Errorf("the daemon serves %v, package wire knows %v", names, known)
	}
}

func TestServed_StandsInTheManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/SOCKET.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, v := range served("test", new(engine.Engine), brokers{}) {
		answer, away := "line", "refused"
		if v.Streams {
			answer = "stream"
		}
		if v.Spooled {
			away = "spool"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %d KiB | %s | %s | %s |\n", v.Name, v.Who, v.MaxBytes>>10, answer, away, v.Help)
	}
	before, rest, _ := strings.Cut(string(page), "|---|---|---|---|---|---|\n")
	table, after, _ := strings.Cut(rest, "\n\n")
	want := before + "|---|---|---|---|---|---|\n" + rows.String() + "\n" + after
	if *update {
		if err := os.WriteFile("../../docs/SOCKET.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(page) != want {
		t.Errorf("docs/SOCKET.md shows\n%s\nwant\n%s\nto write it anew: "+
			"go test ./internal/app -run TestServed_StandsInTheManual -update", table, rows.String())
	}
}

// Verbs are carried out by plain functions and interfaces of at most five methods. With a large interface, each new
// verb would change all implementations of the interface.
func TestServed_NoInterfaceOfTheSocketIsLarge(t *testing.T) {
	const most = 5
	found := 0
	for _, dir := range []string{"api/wire", "storage/spool", "api/server", "api/client", "api/serve",
		"testkit/servertest"} {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no Go files, error %v", dir, err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				i, ok := n.(*ast.InterfaceType)
				if !ok {
					return true
				}
				found++
				if i.Methods.NumFields() > most {
					t.Errorf("%s: an interface of %d methods: at most %d", name, i.Methods.NumFields(), most)
				}
				return true
			})
		}
	}
	if found == 0 {
		t.Error("no interface was found: the test does not see the packages")
	}
}
