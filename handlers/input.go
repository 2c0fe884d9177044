package handlers

import (
	"fmt"
	"strings"

	"jjm"
)

// inputValues adds what a part reads of files: files, and file, the first of
// them; first_event, events and last_event as its mask has them, events -1 where
// there is no end; lumis as LumiText writes them; the seed, if one was drawn.
func inputValues(v Values, in *jjm.PartInput) {
	v["files"] = in.Files
	v["file"] = in.Files[:min(1, len(in.Files))]
	events := in.Mask.Events
	if events == (jjm.Span{}) {
		events.Count = jjm.ToTheEnd
	}
	last := int64(jjm.ToTheEnd)
	if events.Count > 0 {
		last = events.Last()
	}
	v["first_event"], v["events"], v["last_event"] = num(events.First), num(events.Count), num(last)
	v["lumis"] = []string{LumiText(in.Lumis)}
	if in.More != nil && in.More.Seed != 0 {
		v["seed"] = num(in.More.Seed)
	}
}

// LumiText writes the sections of a part: "1:1-3,1:7-7,2:1-4", joining those that
// follow on one another, whatever file they are in.
func LumiText(lumis []jjm.FileLumis) string {
	var b strings.Builder
	for i := 0; i < len(lumis); {
		r := lumis[i].LumiRange
		for i++; i < len(lumis) && lumis[i].Run == r.Run && int64(lumis[i].First) == int64(r.Last)+1; i++ {
			r.Last = lumis[i].Last
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d:%d-%d", r.Run, r.First, r.Last)
	}
	return b.String()
}
