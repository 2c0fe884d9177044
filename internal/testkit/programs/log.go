package programs

import (
	"os"
	"strings"
)

// LogEnd returns the end of a daemon's log, up to 60 lines, for a test that failed. It leaves out frequent lines about
// successes.
func LogEnd(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "request answered") && !strings.Contains(line, "outcome=ok error=<nil>") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-60):], "")
}
