package jjm

// Part is the piece of work that a local job owns for good. The ranges of the
// parts of one step cover its work exactly once; the store refuses an overlap.
type Part struct {
	// Unit names what First and Count number.
	Unit string `json:"unit"`
	// First is the first unit owned, and Count how many: First..First+Count-1.
	// Events and rows have numbers of their own; files, and events and lumis of
	// files, are numbered from 0 in the order in which they were cut, and Input
	// says which they are.
	First int64 `json:"first"`
	Count int64 `json:"count"`
	// Serial is the part's number within its step, from 1: it numbers seeds
	// and output names, and never changes (decision R17).
	Serial int64 `json:"serial"`
	// Args are the words of this part, for units that are not plain numbers.
	Args []string `json:"args,omitempty"`
	// Input is what it reads of files; nil for plain events and rows.
	Input *PartInput `json:"input,omitempty"`
}

// Last is the last unit owned.
func (p Part) Last() int64 { return p.First + p.Count - 1 }

// The units of parts.
const (
	UnitEvent = "event" // events that are made
	UnitRow   = "row"   // rows of a list
	UnitFile  = "file"  // whole files
	UnitRange = "range" // events of files; a file without events counts as one
	UnitLumi  = "lumi"  // luminosity sections of files
)
