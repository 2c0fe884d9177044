package jjm

import (
	"fmt"
	"strings"
)

// EventSpan is what an application is told of events: those of the mask, or all
// of its files, from 0 without an end.
func (in *PartInput) EventSpan() Span {
	if in.Mask.Events == (Span{}) {
		return Span{Count: ToTheEnd}
	}
	return in.Mask.Events
}

// LumiText writes the sections that the part owns: "1:1-3,1:7-7,2:1-4", joining
// those that follow on one another, whatever file they are in; "" where it owns
// whole files or events.
func (in *PartInput) LumiText() string {
	var b strings.Builder
	lumis := in.Lumis
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
