package programs

import (
	"os"
	"strings"
)

// LogEnd is the end of a daemon's log, up to 60 lines, for a test that failed:
// without what went well so often that nothing else would be left.
func LogEnd(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "gate: request") && !strings.Contains(line, "outcome=ok error=<nil>") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-60):], "")
}
