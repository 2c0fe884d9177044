package gateclient_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// scriptRow returns, from docs/GATEKEEPERS.md, the command line of a script, and the keys of its output lines in order.
func scriptRow(t *testing.T, name string) (usage string, keys []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/GATEKEEPERS.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(" + name + "[^`]*)` \\| (.*) \\|$").FindStringSubmatch(string(text))
	if row == nil {
		t.Fatalf("docs/GATEKEEPERS.md has no row of %s", name)
	}
	for _, m := range regexp.MustCompile("`([A-Z_]+)`").FindAllStringSubmatch(row[2], -1) {
		if !slices.Contains(keys, m[1]) {
			keys = append(keys, m[1])
		}
	}
	return row[1], keys
}

// keysOf returns the keys of an answer.
func keysOf(out string) []string {
	var keys []string
	for line := range strings.Lines(out) {
		key, _, _ := strings.Cut(line, "=")
		keys = append(keys, key)
	}
	return keys
}

// The scripts accept every documented option and print the documented keys in their order. Each documented key occurs.
func TestDocs_ScriptsPrintTheDocumentedKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t, local, "")
	s.start()
	file := filepath.Join(s.dir, "j.toml")
	s.must(os.WriteFile(file, []byte(s.job("k", "exit 3").Text), 0o644))
	usage, _ := scriptRow(t, "jjm-submit")
	args := []string{}
	for _, m := range regexp.MustCompile(`\[(--[a-z-]+)(?: ([A-Za-z0-9]+))?\]`).FindAllStringSubmatch(usage, -1) {
		if m[2] == "FILE" {
			continue // credentials must be genuine
		}
		args = append(args, m[1])
		if m[2] != "" {
			args = append(args, m[2])
		}
	}
	if len(args) < 10 {
		t.Errorf("the documented options are %q", args)
	}
	submitted, errs, _ := s.script("jjm-submit", append(args, file)...)
	if !strings.HasPrefix(submitted, "HANDLE=") {
		t.Fatalf("jjm-submit %q: %s%s", args, submitted, errs)
	}
	handle, _, _ := strings.Cut(strings.TrimPrefix(submitted, "HANDLE="), "\n")
	s.final(jjm.Handle(handle))
	known, _, _ := s.script("jjm-lookup", handle)
	gone, _, _ := s.script("jjm-lookup", "77")
	killed, _, _ := s.script("jjm-kill", handle)
	missing, _, _ := s.script("jjm-kill", "77")
	for script, printed := range map[string][]string{"jjm-submit": {submitted}, "jjm-lookup": {known, gone},
		"jjm-kill": {killed, missing}} {
		_, documented := scriptRow(t, script)
		seen := map[string]bool{}
		for _, out := range printed {
			last := -1
			for _, key := range keysOf(out) {
				seen[key] = true
				at := slices.Index(documented, key)
				if at < 0 || at <= last && key != "MESSAGE" {
					t.Errorf("%s prints %s, documented are %v in this order:\n%s", script, key, documented, out)
				}
				last = at
			}
		}
		for _, key := range documented {
			if !seen[key] {
				t.Errorf("%s never prints %s", script, key)
			}
		}
	}
}
