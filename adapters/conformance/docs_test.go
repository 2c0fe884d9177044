package conformance

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/ADAPTERS.md must have the same list of checks as the code. With JJM_UPDATE=1 the test rewrites the list.
func TestDocumentation_ListsTheChecks(t *testing.T) {
	const file, from, to = "../../docs/ADAPTERS.md", "-run Documentation -->\n", "<!-- end of checks -->"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(page), from)
	list, after, ok2 := strings.Cut(rest, to)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the list", file)
	}
	want := table()
	if list == want {
		return
	}
	if os.Getenv("JJM_UPDATE") == "" {
		t.Fatalf("the list in %s is not the code's: run this test with JJM_UPDATE=1", file)
	}
	if err := os.WriteFile(file, []byte(before+from+want+to+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// table returns the list of checks in Markdown.
func table() string {
	var text strings.Builder
	text.WriteString("\n| check | what it proves | where |\n|---|---|---|\n")
	for _, c := range Checks() {
		var where []string
		if c.Site {
			where = append(where, "site only")
		} else if c.Bearable {
			where = append(where, "site")
		}
		if c.Alone {
			where = append(where, "alone")
		}
		fmt.Fprintf(&text, "| %s | %s | %s |\n", c.Name, c.Proves, strings.Join(where, ", "))
	}
	text.WriteString("\n| check | if it fails on a site |\n|---|---|\n")
	for _, c := range Checks() {
		if c.Remedy != "" {
			fmt.Fprintf(&text, "| %s | %s |\n", c.Name, c.Remedy)
		}
	}
	return text.String() + "\n"
}

func TestChecks_NamesAreUniqueAndExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Checks() {
		if seen[c.Name] || c.Name == "" || c.Proves == "" || c.test == nil {
			t.Errorf("%+v", c)
		}
		seen[c.Name] = true
		if strings.ContainsAny(c.Name+c.Proves+c.Remedy, "|\n") {
			t.Errorf("%q cannot stand in a table", c.Name)
		}
		if c.Site && c.Remedy == "" {
			t.Errorf("%q fails without a remedy", c.Name)
		}
	}
	t.Logf("%d checks, %d for tests, %d for sites", len(seen), len(ForTests()), len(ForSite()))
}
