package glf

import (
	"slices"
	"strconv"
	"strings"

	"jjm"
)

// Processed is what the last record "INFO processed=N", or "INFO processed=N
// events", says; nil if there is none. What does not have this form is a text
// like others.
func (l Log) Processed() *jjm.Processed {
	for _, r := range slices.Backward(l.Infos) {
		words := strings.Fields(r.Data)
		if len(words) < 1 || len(words) > 2 {
			continue
		}
		digits, ok := strings.CutPrefix(words[0], "processed=")
		n, err := strconv.ParseUint(digits, 10, 62)
		if !ok || err != nil || len(words) == 2 && !counted(words[1]) {
			continue
		}
		p := &jjm.Processed{Count: int64(n)}
		if len(words) == 2 {
			p.Unit = words[1]
		}
		return p
	}
	return nil
}

// counted says whether a word names what an application may count.
func counted(word string) bool {
	return slices.Contains([]string{"events", "files", "sections", "rows"}, word)
}
