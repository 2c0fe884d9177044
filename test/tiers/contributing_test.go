package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Each "go test" command that CONTRIBUTING.md prints with -run runs at least one test.
func TestContributing_EachCommandRunsATest(t *testing.T) {
	page, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`go test (\./\S+) -run (\S+)`).FindAllStringSubmatch(string(page), -1)
	if len(commands) < 5 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	for _, c := range commands {
		test := regexp.MustCompile(`(?m)^func ` + c[2] + `\w*\(`)
		files, err := filepath.Glob(filepath.Join("../..", c[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || test.Match(text)
		}
		if !found {
			t.Errorf("%s runs no test", c[0])
		}
	}
}
