package house_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each decision that a comment names must be in docs/DECISIONS.md.
func TestDecisions_EveryOneNamedInTheCodeIsWrittenDown(t *testing.T) {
	inTree(t)
	page, err := os.ReadFile("docs/DECISIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`(?m)//.*$`)
	number := regexp.MustCompile(`\b[RJ][1-9][0-9]?\b`)
	found := 0
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, line := range comment.FindAllString(string(text), -1) {
			for _, n := range number.FindAllString(line, -1) {
				found++
				if !strings.Contains(string(page), "| "+n+" |") {
					t.Errorf("%s: %s: docs/DECISIONS.md has no row %s", path, strings.TrimSpace(line), n)
				}
			}
		}
		return err
	})
	if err != nil || found < 10 {
		t.Errorf("%d decisions named, %v", found, err)
	}
}
