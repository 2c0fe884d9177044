package jjm

import (
	"fmt"
	"slices"
	"strings"
)

// LeftReason is the reason, in one word, why a file, unit or output was left out. Records, logs and tools distinguish
// the reasons by this word.
type LeftReason string

// The reasons for which work is left out. Outputs have reasons of their own.
const (
	LeftNoSections LeftReason = "no-sections" // the file lists no luminosity sections, and its splitter counts sections
	LeftNoLocation LeftReason = "no-location" // the file has no location, and its splitter needs one
	LeftMask       LeftReason = "mask"        // no section of "runs" and "lumis"
	LeftRuns       LeftReason = "runs"        // its run is not in "runWhitelist"
	LeftTotal      LeftReason = "total"       // the job file asks only for a number of files, sections or events
	LeftRecords    LeftReason = "records"     // JEDI's rules for records leave it out
	LeftPieces     LeftReason = "pieces"      // no piece names it
	LeftSibling    LeftReason = "sibling"     // it failed with another grid job that reads the dataset
	LeftProducer   LeftReason = "producer"    // a job that made it, or read what it was made from, failed
	LeftSplitter   LeftReason = "splitter"    // the splitter left it out for another reason
)

// LeftOut counts the units of a grid job's work, or the outputs, that were left out for one reason.
type LeftOut struct {
	// What names the counted things: "file", "section", "event", "output".
	What string `json:"what"`
	N    int64  `json:"n"`
	// Reason is the reason in one word, Why the reason for people, or "".
	Reason LeftReason `json:"reason"`
	Why    string     `json:"why,omitempty"`
	// Such names one of the counted things.
	Such string `json:"such,omitempty"`
	// Asked is true if the job file requests to leave the things out. If a grid job left out anything else, it is not
	// done.
	Asked bool `json:"asked,omitempty"`
}

// String returns the entry for people: "left out: 3 files (no-sections), such as /raw/N: it tells no luminosity
// sections".
func (l LeftOut) String() string {
	text := fmt.Sprintf("left out: %s (%s)", Count(l.N, l.What), l.Reason)
	if l.Such != "" {
		text += ", such as " + l.Such
	}
	if l.Why != "" {
		text += ": " + l.Why
	}
	return text
}

// LeftList lists the units, files or outputs that were left out: one entry for each kind (What), reason, and Asked.
type LeftList []LeftOut

// Add adds more.N to the entry with the same What, Reason and Asked. That entry keeps its Such and Why. If there is no
// such entry, Add appends more. Add ignores an entry whose N is not positive.
func (l *LeftList) Add(more LeftOut) {
	if more.N <= 0 {
		return
	}
	for i := range *l {
		have := &(*l)[i]
		if have.What == more.What && have.Reason == more.Reason && have.Asked == more.Asked {
			have.N += more.N
			return
		}
	}
	*l = append(*l, more)
}

// Unasked returns the entries for things that the job file did not request to leave out.
func (l LeftList) Unasked() LeftList {
	var out LeftList
	for _, e := range l {
		if !e.Asked {
			out = append(out, e)
		}
	}
	return out
}

// String returns the entries for people, "" if there are none.
func (l LeftList) String() string {
	texts := make([]string, len(l))
	for i := range l {
		texts[i] = l[i].String()
	}
	return strings.Join(texts, "; ")
}

// Reasons returns each reason of the list once, sorted: "mask, total".
func (l LeftList) Reasons() string {
	var all []string
	for _, e := range l {
		if !slices.Contains(all, string(e.Reason)) {
			all = append(all, string(e.Reason))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
