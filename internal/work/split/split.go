// Package split cuts work into parts that cover it exactly once, in order. No part is empty.
//
//	Work, Params, Carry --> Splitter --> parts, Left, Carry
//
// The package does no I/O: the same work, parameters and carry always make the same parts. A cut takes time linear in
// the work (more if a splitter sorts). The package returns an error instead of making more than MaxParts parts.
//
// There are four families of splitters, described in docs/SPLITTERS.md: jjm's own (events, rows), the eight of WMCore,
// those of Ganga, and those of JEDI, whose algorithm is in package jedi.
//
// Other packages decide on the source and state of files (the caller passes the available files), on the ownership of
// units (the store refuses an overlap), and on the time of a cut.
package split

import (
	"jjm/internal/jjm"
	"jjm/internal/work/split/jedi"
)

// Work is the work to be cut. A cut never changes it. Each splitter uses only some of the fields.
type Work struct {
	// Events is the number of events, numbered First..First+Events-1.
	First, Events int64
	// Rows are the rows of the work, each a list of words. Each row makes one part.
	Rows [][]string

	// Only, unless nil, restricts the events or rows to ranges of numbers. The ranges are ascending and disjoint.
	Only []jjm.Span

	// Files are the available files, which are the files not wholly owned by parts. If a limit stopped a cut at a file
	// (Carry.Checkpoint), this file is included until it is done.
	Files []jjm.File
	// Closed means that no more files will come. Pending means that the dataset is closed but merges must still wait
	// (WMCore's "not injected").
	Closed, Pending bool
	// Complete has an entry for each of Files: whether no more files come that may be merged with it. It is nil if that
	// is known of no file. JEDIMerge reads it.
	Complete []bool
	// Skip is, by LFN, the position in a file at which its available events begin. FirstEvent and Events of such a file
	// describe only the available events. Files without an entry are available as a whole.
	Skip map[string]int64
	// Now is the current time.
	Now jjm.Time
	// Sites are, by storage, the clusters that can read from the storage, and under "" the clusters that can read a file
	// without a location. If Sites is nil, parts get no places.
	Sites map[string][]string
	// Ancestors are, by LFN, the merged files from which a file was made. The ancestors of a file without an entry are its
	// parents.
	Ancestors map[string][]string
	// Parents are, by LFN, the files that jobs read to make files of this dataset.
	Parents map[string]Parent
	// Siblings has an entry for each of Files: the state of the file in the other grid jobs that read the dataset. It is
	// nil if there are no other grid jobs.
	Siblings []SiblingState
	// Secondary are the secondary datasets of the step, in order.
	Secondary []Stream
	// OneMask means that a command gets the sections of a part as one list for all its files ({lumis}). Files that share a
	// section then never come into the same part, because the list would claim sections that other parts own.
	OneMask bool
	// Queue is the queue for which the parts are made. Its limits bound JEDI's parts.
	Queue *jedi.Queue
}

// Parent is a file from which files of the dataset were made.
type Parent struct {
	// ID is the parent's number. Earlier files have lower numbers.
	ID int64
	// Producers are the jobs that read the parent.
	Producers []Producer
}

// Producer is a job that read a parent of a file.
type Producer struct {
	// Group is the producer's job group.
	Group int64
	// Success is set if the producer has completed.
	Success bool
}

// SiblingState is the state of a file in the other grid jobs that read the dataset.
type SiblingState uint8

// The states, from best to worst. If the siblings have different states, the worst state counts.
const (
	SiblingDone    SiblingState = iota // all siblings have processed the file
	SiblingPending                     // at least one sibling has not processed the file yet
	SiblingFailed                      // at least one sibling failed to process the file
)

// Stream is a secondary dataset with its files.
type Stream struct {
	Dataset jjm.Dataset
	Files   []jjm.File
}

// Limits bound one cut.
type Limits struct {
	// MaxParts is the maximum number of parts to make now, 0 = no limit. The next cut makes the following parts.
	MaxParts int
}

// Carry is the state of a splitter between cuts, committed together with the parts. The zero
// value is the state before the first cut.
type Carry struct {
	// Next is the number of units already cut.
	Next int64 `json:"next"`
	// Serial is the number of parts already made.
	Serial int64 `json:"serial"`
	// Group is the number of job groups so far. InGroup is the number of parts in the last job group.
	Group   int64 `json:"group,omitempty"`
	InGroup int64 `json:"in_group,omitempty"`
	// Used is the number of cut files, sections or events that count towards total_files, total_lumis or total_events.
	Used int64 `json:"used,omitempty"`
	// Checkpoint is the position at which a limit stopped the last cut, nil if the cut was not stopped.
	Checkpoint *Checkpoint `json:"begun,omitempty"`
	// Cursors are the positions in secondary datasets, by name.
	Cursors map[string]int64 `json:"cursors,omitempty"`
	// Seeds and Sequence are the pools of random seeds and sequence numbers.
	Seeds    jedi.Numbers `json:"seeds,omitzero"`
	Sequence jedi.Numbers `json:"sequence,omitzero"`
}

// From returns the carry of a cutting whose parts are numbered beginning with first (0 means 1). Seeds and sequence
// numbers begin at the same number, so that a recovery uses no number of its grid job again.
func From(first int64) Carry {
	before := max(first-1, 0)
	return Carry{Serial: before, Seeds: jedi.Numbers{Last: before}, Sequence: jedi.Numbers{Last: before}}
}

// Checkpoint is the position at which a limit stopped a cut, or at which it waits for input.
type Checkpoint struct {
	// Waits is set if the cut waits for input, and clear if a limit stopped the cut.
	Waits bool `json:"waits,omitempty"`
	// Places are the keys of the unfinished places, in order. Open is set if the first of these places already has its job
	// group.
	Places []string `json:"places,omitempty"`
	Open   bool     `json:"open,omitempty"`
	// File is the LFN of the next file. Done is the number of its events or sections that are already cut.
	File string `json:"file,omitempty"`
	Done int64  `json:"done,omitempty"`
	// Walk is the state of the splitters that walk over events and sections.
	Walk Walk `json:"walk,omitzero"`
}

// Walk is the state from which a splitter that walks over events and sections continues a cut.
type Walk struct {
	// Event and Lumi are the next event and section numbers to generate. In the splitter jedi, Event is the number of
	// events of the current chunk before File, and Lumi the last lumi block.
	Event int64 `json:"event,omitempty"`
	Lumi  int64 `json:"lumi,omitempty"`
	// Run is the run of the last section. It is valid only if HasRun is set.
	Run    uint32 `json:"run,omitempty"`
	HasRun bool   `json:"has_run,omitempty"`
	// InPart is the number of sections in the last part, Room the maximum number of sections that the part may have, and
	// Events the number of the part's events that belong to earlier files.
	InPart int64 `json:"in_part,omitempty"`
	Room   int64 `json:"room,omitempty"`
	Events int64 `json:"events,omitempty"`
	// Adapt means that Room must be computed for the current file when the next part begins.
	Adapt bool `json:"adapt,omitempty"`
	// PerLumi is the number of events of a section, for pile-up.
	PerLumi int64 `json:"per_lumi,omitempty"`
}

// Left describes the work that a cut did not put into parts.
type Left struct {
	// More is set if a limit ended the cut, so that another cut makes more parts immediately. Otherwise nothing can be cut
	// until the work changes.
	More bool
	// Done are the finished files, as positions in Work.Files. No later part will own any units of these files.
	Done []int32
	// Dropped are the files that get no part at all.
	Dropped []Dropped
	// Waiting is the number of files that could not be cut yet. Why is a text that names what the files wait for.
	Waiting int
	Why     string
	// Lacks is equal to Why if the files wait for a secondary dataset, and otherwise "".
	Lacks string
}

// Dropped is a file that gets no part.
type Dropped struct {
	// File is the file's position in Work.Files.
	File int32
	// Failed is set if the file counts as failed; otherwise it counts as completed.
	Failed bool
	// Why is the reason, for people.
	Why string
}

// Splitter cuts work into parts.
type Splitter interface {
	Name() string
	// Count returns the number of parts of the work if nothing is added to the work. The error is of kind Invalid if
	// parameters are invalid, or if there are more than MaxParts parts; the latter error names the number.
	Count(work Work, params Params) (int64, error)
	// Cut makes at most limits.MaxParts parts. It returns the parts, the work that is left, and the carry for the next
	// cut. It does the same as Start followed by one call of Next.
	Cut(work Work, limits Limits, params Params, carry Carry) (parts []jjm.Part, left Left, next Carry, err error)
	// Start prepares the work once, to cut it in pieces of any size. The error is of kind Invalid if parameters or work
	// are invalid, and Conflict if the carry belongs to other work.
	Start(work Work, params Params, carry Carry) (*Cutting, error)
}
