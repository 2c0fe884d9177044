package analyse

import (
	"strings"

	"jjm"
	"jjm/glf"
)

// AsSaid returns a result as it would be had the application ended with exit code 0 and
// said a keyword of its log, such as RETRY, with its data, and no other one.
func AsSaid(r *jjm.Result, keyword, data string) *jjm.Result {
	said := *r
	said.Exit, said.Signal = 0, 0
	var b strings.Builder
	for line := range strings.Lines(r.GLF) {
		if one := glf.Parse([]byte(line)); len(one.Terminals) == 0 && !one.End {
			b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	b.WriteString(glf.FormatLine(r.Ended.Time(), keyword, data))
	b.WriteString(glf.FormatLine(r.Ended.Time(), glf.Info, glf.EndData(0)))
	said.GLF = b.String()
	return &said
}
