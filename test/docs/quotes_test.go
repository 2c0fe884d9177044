package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The path of the work area may contain blanks, so every example call of a helper quotes the helper's path.
func TestPages_QuoteThePathsOfHelpers(t *testing.T) {
	call := regexp.MustCompile("(^|[^\"\\\\{])\\$\\{?(GBS_LOG|JJM_PROGRESS|JJM_RECORD)\\}? +([A-Z]{4,}|\"|FILE)")
	texts := pages(t)
	for _, folder := range []string{"etc", "handlers", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			texts[path] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range texts {
		for _, line := range strings.Split(text, "\n") {
			if call.MatchString(line) {
				t.Errorf("%s: a shell would split the path: %s", name, strings.TrimSpace(line))
			}
		}
	}
}
