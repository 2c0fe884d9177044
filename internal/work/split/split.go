// Package split cuts work into parts that cover it exactly once, in order, with no part empty.
//
//	Work, Params, Carry --> Splitter --> parts, Left, Carry
//
// It is pure: the same work, parameters and carry always make the same parts. It takes time
// linear in the work (more where a splitter sorts), and refuses to make more than MaxParts.
//
// There are four families, described in docs/SPLITTERS.md: jjm's own (events, rows), WMCore's
// eight, Ganga's, and JEDI's, whose algorithm is in package jedi below.
//
// The package leaves to others where files come from and what state they are in (the caller passes the available
// files), who may own which units (the store refuses an overlap), and when to cut.
package split

import (
	"jjm/internal/jjm"
	"jjm/internal/work/split/jedi"
)

// Work is the work to cut. A cut never changes it. Which fields matter depends on the splitter.
type Work struct {
	// Events is the number of events, numbered First..First+Events-1.
	First, Events int64
	// Rows are the lists of words of work by rows; each makes one part.
	Rows [][]string

	// Only, unless nil, restricts the events or rows to these, by number. The ranges are
	// ascending and disjoint.
	Only []jjm.Span

	// Files are the available files, those not wholly owned by parts. The file at which a limit
	// stopped (Carry.Checkpoint) is among them until it is done.
	Files []jjm.File
	// Closed says that no more files will come. Pending says that the dataset is closed but
	// merges must still wait (WMCore's "not injected").
	Closed, Pending bool
	// Skip is, by LFN, the position in a file at which its available events begin. FirstEvent
	// and Events of the file then describe the available events only. Other files are whole.
	Skip map[string]int64
	// Now is the current time.
	Now jjm.Time
	// Sites are, by storage, the clusters that can read from it, and under "" the clusters that can
	// read a file without a location; nil = places are not wanted.
	Sites map[string][]string
	// Ancestors are, by LFN, the merged files that a file comes from; a file that is not listed
	// has its parents.
	Ancestors map[string][]string
	// Parents are, by LFN, the files that jobs read to make files of this dataset.
	Parents map[string]Parent
	// Siblings has an entry for each of Files: its state with the other grid jobs that read the
	// dataset; nil = there are no others.
	Siblings []SiblingState
	// Secondary are the secondary datasets of the step, in order.
	Secondary []Stream
	// OneMask says that a command gets the sections of a part as one list for all its files ({lumis}). Files that
	// share a section then never come into one part, because the list would claim sections that other parts own.
	OneMask bool
	// Queue is the queue that the parts are for; its limits bound JEDI's parts.
	Queue *jedi.Queue
}

// Parent is a file from which files of the dataset were made.
type Parent struct {
	// ID is its number; earlier files have lower numbers.
	ID int64
	// Producers are the jobs that read it.
	Producers []Producer
}

// Producer is a job that read a parent of a file.
type Producer struct {
	// Group is its job group.
	Group int64
	// Success reports that it has completed.
	Success bool
}

// SiblingState is the state of a file with the other grid jobs.
type SiblingState uint8

// The states, the worst last: the worst of several siblings counts.
const (
	SiblingDone    SiblingState = iota // all have processed it
	SiblingPending                     // at least one has not processed it yet
	SiblingFailed                      // at least one failed to process it
)

// Stream is a secondary dataset with its files.
type Stream struct {
	Dataset jjm.Dataset
	Files   []jjm.File
}

// Limits bound one cut.
type Limits struct {
	// MaxParts is the most parts to make now; 0 = no limit. The next cut makes the following parts.
	MaxParts int
}

// Carry is the state of a splitter between cuts, committed together with the parts. The zero
// value is the state before the first cut.
type Carry struct {
	// Next is the number of units already cut.
	Next int64 `json:"next"`
	// Serial is the number of parts already made.
	Serial int64 `json:"serial"`
	// Group is the number of job groups so far, InGroup the number of parts in the last one.
	Group   int64 `json:"group,omitempty"`
	InGroup int64 `json:"in_group,omitempty"`
	// Used counts what was cut towards total_files, total_lumis or total_events.
	Used int64 `json:"used,omitempty"`
	// Checkpoint is where a limit stopped the last cut; nil if it came to its end.
	Checkpoint *Checkpoint `json:"begun,omitempty"`
	// Cursors are the positions in secondary datasets, by name.
	Cursors map[string]int64 `json:"cursors,omitempty"`
	// Seeds and Sequence are the pools of random seeds and sequence numbers.
	Seeds    jedi.Numbers `json:"seeds,omitzero"`
	Sequence jedi.Numbers `json:"sequence,omitzero"`
}

// From returns the carry of a cutting whose parts are numbered from first on (0 means 1). Seeds
// and sequence numbers begin at the same number, so that a recovery repeats none of its grid
// job's.
func From(first int64) Carry {
	before := max(first-1, 0)
	return Carry{Serial: before, Seeds: jedi.Numbers{Last: before}, Sequence: jedi.Numbers{Last: before}}
}

// Checkpoint is the position at which a limit stopped a cut, or at which it waits for input.
type Checkpoint struct {
	// Waits says that the cut waits for input, and was not stopped by a limit.
	Waits bool `json:"waits,omitempty"`
	// Places are the keys of the unfinished places, in order. Open says that the first has its
	// job group already.
	Places []string `json:"places,omitempty"`
	Open   bool     `json:"open,omitempty"`
	// File is the LFN of the next file, of which Done events or sections are cut.
	File string `json:"file,omitempty"`
	Done int64  `json:"done,omitempty"`
	// Walk is the state of the splitters that walk over events and sections.
	Walk Walk `json:"walk,omitzero"`
}

// Walk is the state from which a splitter that walks over events and sections continues a cut.
type Walk struct {
	// Event and Lumi are the next event and section numbers to generate. The splitter jedi uses them for something
	// else: the number of events of the current chunk before File, and the last lumi block.
	Event int64 `json:"event,omitempty"`
	Lumi  int64 `json:"lumi,omitempty"`
	// Run is the run of the last section; it is only set if HasRun is.
	Run    uint32 `json:"run,omitempty"`
	HasRun bool   `json:"has_run,omitempty"`
	// InPart is the number of sections in the last part, Room the most that it may have, and Events the number of
	// events that it has of earlier files.
	InPart int64 `json:"in_part,omitempty"`
	Room   int64 `json:"room,omitempty"`
	Events int64 `json:"events,omitempty"`
	// Adapt says that Room is to be computed for the current file at the next part.
	Adapt bool `json:"adapt,omitempty"`
	// PerLumi is the number of events of a section, for pile-up.
	PerLumi int64 `json:"per_lumi,omitempty"`
}

// Left describes the work that a cut did not put into parts.
type Left struct {
	// More says that the limit ended the cut, so that cutting again makes more parts immediately.
	// Otherwise nothing can be cut until the work changes.
	More bool
	// Done are the positions in Work.Files of the files of which no later part will own
	// anything.
	Done []int32
	// Dropped are the files that get no part at all.
	Dropped []Dropped
	// Waiting is how many files could not be cut yet, and Why the text that names what they wait for.
	Waiting int
	Why     string
	// Lacks is the same as Why if the files wait for a secondary dataset, else "".
	Lacks string
}

// Dropped is a file that gets no part.
type Dropped struct {
	// File is its position in Work.Files.
	File int32
	// Failed says that it counts as failed, otherwise as completed.
	Failed bool
	// Why is the reason, for people.
	Why string
}

// Splitter cuts work into parts.
type Splitter interface {
	Name() string
	// Count returns the number of parts of the work if nothing is added to it. The error is of
	// kind Invalid for invalid parameters and, naming the number, for more than MaxParts.
	Count(work Work, params Params) (int64, error)
	// Cut makes at most limits.MaxParts parts and returns what is left and the carry for the
	// next cut. It is Start and one Next.
	Cut(work Work, limits Limits, params Params, carry Carry) (parts []jjm.Part, left Left, next Carry, err error)
	// Start prepares the work once, to cut it in pieces of any size. Errors are Invalid for
	// parameters and work, Conflict for a carry of other work.
	Start(work Work, params Params, carry Carry) (*Cutting, error)
}
