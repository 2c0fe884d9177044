package pbs

import (
	"strings"
)

// object is a server, a queue or a node in the plain text that the commands print.
type object struct {
	name  string
	attrs map[string]string
}

// parsePlain parses the output of "qstat -B -f", "qstat -Q -f" and "pbsnodes -a". A line that starts in the first
// column names an object ("Queue: workq" or "node7"), a line that starts with blanks is "name = value", and a line that
// starts with a tab continues the previous value.
func parsePlain(text []byte) []object {
	var out []object
	last := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "":
			last = ""
		case line[0] == '\t':
			if len(out) > 0 && last != "" {
				out[len(out)-1].attrs[last] += strings.TrimPrefix(line, "\t")
			}
		case line[0] == ' ':
			name, value, ok := strings.Cut(strings.TrimSpace(line), " = ")
			if ok && len(out) > 0 {
				last = name
				out[len(out)-1].attrs[name] = value
			}
		default:
			name := line
			if _, after, ok := strings.Cut(line, ": "); ok {
				name = after
			}
			out = append(out, object{name: strings.TrimSpace(name), attrs: map[string]string{}})
			last = ""
		}
	}
	return out
}
