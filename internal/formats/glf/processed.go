package glf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// Processed returns the count of the last record "INFO processed=N" or "INFO processed=N events", nil if there is no
// such record. Records that do not have exactly this form are ignored.
func (l Log) Processed() *jjm.Processed {
	for _, r := range slices.Backward(l.Infos) {
		if p := count(r.Data); p != nil {
			return p
		}
	}
	return nil
}

// Miscounted returns the mistake in the data of an INFO record that begins like a count but is not a correct count. It
// returns "" for a correct count and for any other text.
func Miscounted(data string) string {
	if !strings.HasPrefix(strings.TrimSpace(data), "processed") || count(data) != nil {
		return ""
	}
	return fmt.Sprintf("%.40q does not count: want processed=N, or processed=N with one of %s", data,
		strings.Join(units(), " "))
}

// count parses "processed=N" and "processed=N events". It returns nil for any other text.
func count(data string) *jjm.Processed {
	words := strings.Fields(data)
	if len(words) < 1 || len(words) > 2 {
		return nil
	}
	digits, ok := strings.CutPrefix(words[0], "processed=")
	n, err := strconv.ParseUint(digits, 10, 62)
	if !ok || err != nil || len(words) == 2 && !slices.Contains(units(), words[1]) {
		return nil
	}
	p := &jjm.Processed{Count: int64(n)}
	if len(words) == 2 {
		p.Unit = words[1]
	}
	return p
}

// units returns the units that an application may count.
func units() []string { return []string{"events", "files", "sections", "rows"} }
