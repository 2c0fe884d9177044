// Package split cuts work into parts that cover it exactly once, in order,
// with no part empty. It is pure: the same work, parameters and carry give the
// same parts.
package split

import "jjm"

// Work is what there is to cut.
type Work struct {
	// Events is how many events there are, numbered First..First+Events-1.
	First, Events int64
	// Rows are the word lists of work that is a list; one part each.
	Rows [][]string
}

// Limits bound one cut.
type Limits struct {
	// MaxParts is the most parts to make now; the rest is left for the next
	// cut. 0 means no bound.
	MaxParts int
}

// Params are the settings of all the splitters; each documents what it reads.
type Params struct {
	// EventsPerJob is the size of a part, in events.
	EventsPerJob int64 `json:"events_per_job,omitempty"`
}

// Carry is a splitter's memory between cuts. The zero value starts.
type Carry struct {
	// Next is the number of units already cut.
	Next int64 `json:"next"`
	// Serial is the number of parts already made.
	Serial int64 `json:"serial"`
}

// A Splitter cuts work. Cut returns at most limits.MaxParts parts and the carry
// with which to go on; more is false when the work is exhausted.
type Splitter interface {
	Name() string
	// Count is the number of parts the whole work will make.
	Count(work Work, params Params) (int64, error)
	Cut(work Work, limits Limits, params Params, carry Carry) (parts []jjm.Part, next Carry, more bool, err error)
}
