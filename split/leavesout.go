package split

import (
	"fmt"
	"strings"
)

// LeavesOut names the settings by which a splitter leaves out units of the files
// that it cuts, such as "total_lumis = 100"; "" if every unit of every file that it
// does not drop comes into a part.
func LeavesOut(name string, p Params) string {
	read := map[string]bool{}
	for _, key := range settings()[name] {
		read[key] = true
	}
	var out []string
	add := func(key string, set bool, value any) {
		if read[key] && set {
			out = append(out, fmt.Sprintf("%s = %v", key, value))
		}
	}
	add("total_files", p.TotalFiles > 0, p.TotalFiles)
	add("total_lumis", p.TotalLumis > 0, p.TotalLumis)
	add("total_events", p.TotalEvents > 0, p.TotalEvents)
	add("maxFiles", p.MaxFiles >= 0, p.MaxFiles)
	add("runs", len(p.Runs) > 0, len(p.Runs))
	add("runWhitelist", len(p.RunWhitelist) > 0, p.RunWhitelist)
	add("pieces", len(p.Pieces) > 0, len(p.Pieces))
	r := p.Records
	add("records", r.MaxFiles > 0 || r.MaxEvents > 0 || r.Offset > 0 || r.SkipShort, "...")
	return strings.Join(out, ", ")
}
