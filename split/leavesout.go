package split

import (
	"fmt"
	"strings"

	"jjm"
)

// WhyLeft returns why a splitter made no part of a file that is left at the end of a cut.
func WhyLeft(name string, f *jjm.File) string {
	if m, err := find(name); err == nil && m.unit == jjm.UnitLumi && lumiCount(f.Lumis) == 0 {
		return jjm.NoSections
	}
	return name + " leaves it out"
}

// LeavesOut returns the settings that make a splitter leave out units of the files, such as
// "total_lumis = 100"; "" if every unit of every file that it does not drop is in a part.
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
