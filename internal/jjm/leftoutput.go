package jjm

import (
	"slices"
	"strings"
	"unicode"
)

// The reasons for which outputs are left out.
const (
	LeftNotMade    LeftReason = "not-made"   // no file has the name or matches the pattern
	LeftTooMany    LeftReason = "too-many"   // more files than a result may list
	LeftName       LeftReason = "name"       // control characters in its name, no UTF-8, or too long
	LeftSize       LeftReason = "size"       // over max_output_bytes of the site
	LeftTarSize    LeftReason = "tar-size"   // over max_tar_bytes of the site
	LeftLink       LeftReason = "link"       // a link leads out of the job's directory
	LeftUnreadable LeftReason = "unreadable" // it cannot be read
	LeftTime       LeftReason = "time"       // the attempt had to end before the file was examined
)

// outputReasons returns the reasons that a result may contain.
func outputReasons() []LeftReason {
	return []LeftReason{LeftTooMany, LeftName, LeftSize, LeftLink, LeftUnreadable, LeftTime}
}

// LeftOut returns the outputs that the attempt left out. A pattern without a file counts as one output that was not
// made, if the local job may complete without it. The texts are made to fit on a line, because the job's account can
// write any text into a result.
func (r *Result) LeftOut() (all LeftList) {
	add := func(n int64, reason LeftReason, name, why string, asked bool) {
		all.Add(LeftOut{What: "output", N: max(n, 1), Reason: reason, Why: onLine(why), Asked: asked,
			Such: LocalID{Grid: r.Grid, N: r.Local}.String() + " " + onLine(name)})
	}
	for i := range r.Outputs {
		o := &r.Outputs[i]
		switch {
		case o.Left == "":
		case slices.Contains(outputReasons(), o.Left):
			add(o.Files, o.Left, o.Name, o.Absent, o.Optional)
		default:
			add(o.Files, LeftUnreadable, o.Name, o.Absent, o.Optional)
		}
	}
	for _, u := range r.Unmet {
		if u.Left == "" && !u.Required {
			add(u.Patterns, LeftNotMade, u.Pattern, u.Why, true)
		}
	}
	return all
}

// mostOnLine limits a name or a reason in texts for people, in bytes.
const mostOnLine = 200

// onLine cuts a text to mostOnLine bytes and replaces unprintable characters by question marks.
func onLine(s string) string {
	if len(s) > mostOnLine {
		s = s[:mostOnLine] + "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return '?'
	}, s)
}
