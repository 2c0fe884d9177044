// Package split cuts work into parts that cover it exactly once, in order, with
// no part empty. It is pure: the same work, parameters and carry give the same
// parts. It takes time linear in the work (and sorts where an order is asked
// for), and refuses to make more than MaxParts.
//
// There are four families, each told by docs/SPLITTERS.md: jjm's own (events,
// rows), WMCore's eight, Ganga's, and JEDI's, whose algorithm is in the package
// jedi below.
//
// It leaves to others: where files come from and what state they are in (the
// caller passes those that are available), who may own what (the store refuses
// an overlap), and when to cut.
package split

import (
	"jjm"
	"jjm/split/jedi"
)

// Work is what there is to cut. A cut reads it and never changes it.
type Work struct {
	// Events is how many events there are, numbered First..First+Events-1.
	First, Events int64
	// Rows are the word lists of work that is a list; one part each.
	Rows [][]string

	// Only, where not nil, are the events or rows to cut, by number; the others
	// are left alone. They are in order and apart from one another.
	Only []jjm.Span

	// Args are the arguments that all parts have, for ArgSplitter.
	Args []string

	// Files are the available ones: no part owns all of them yet. One that was
	// begun (Carry.Checkpoint) is among them until it is done.
	Files []jjm.File
	// Closed says that no more files will come. Pending says that, although
	// closed, their dataset may not be forced to an end yet ("not injected").
	Closed, Pending bool
	// Skip is, by LFN, where in a file its available events begin; FirstEvent and
	// Events are those of the available ones. Files not named are whole.
	Skip map[string]int64
	// Now is the clock.
	Now jjm.Time
	// Sites says which clusters can read from a storage, and under "" which can read
	// a file that tells no location; nil = not asked.
	Sites map[string][]string
	// Recovery, where not nil, are the pieces to process again: nothing else is
	// cut. See Lost.
	Recovery *Recovery
	// Ancestors are, by LFN, the merged files that a file comes from; those of a
	// file that is not here are its parents.
	Ancestors map[string][]string
	// Parents are, by LFN, the files that jobs read to make files of this dataset.
	Parents map[string]Parent
	// Siblings are the states of Files with the other grid jobs that read the
	// dataset, one each; nil = there are no others.
	Siblings []SiblingState
	// Secondary are the other datasets of the step, in order.
	Secondary []Stream
	// Queue is the queue that the parts are for, which their size depends on.
	Queue *jedi.Queue
}

// Parent is a file that files of the dataset were made of.
type Parent struct {
	// ID is its number: those that came earlier have lower ones.
	ID int64
	// Producers are the jobs that read it.
	Producers []Producer
}

// Producer is a job that read a parent of a file.
type Producer struct {
	// Group is its job group.
	Group int64
	// Success is true once it ended well.
	Success bool
}

// SiblingState is what has become of a file with the other grid jobs.
type SiblingState uint8

// The states, worst last: of several siblings the worst counts.
const (
	SiblingDone    SiblingState = iota // processed by all
	SiblingPending                     // one has not processed it yet
	SiblingFailed                      // one failed to
)

// Stream is a secondary dataset with its files.
type Stream struct {
	Dataset jjm.Dataset
	Files   []jjm.File
}

// Limits bound one cut.
type Limits struct {
	// MaxParts is the most parts to make now; the rest is left for the next
	// cut. 0 means no bound.
	MaxParts int
}

// Carry is a splitter's memory between cuts, committed with the parts it led
// to. The zero value starts.
type Carry struct {
	// Next is the number of units already cut.
	Next int64 `json:"next"`
	// Serial is the number of parts already made.
	Serial int64 `json:"serial"`
	// Group is the number of job groups already opened, and InGroup how many
	// parts the last one has.
	Group   int64 `json:"group,omitempty"`
	InGroup int64 `json:"in_group,omitempty"`
	// Used counts what was cut against total_files, total_lumis, total_events.
	Used int64 `json:"used,omitempty"`
	// Checkpoint is where a limit stopped the last cut; nil if it came to its end.
	Checkpoint *Checkpoint `json:"begun,omitempty"`
	// Cursors are the positions in secondary datasets, by name.
	Cursors map[string]int64 `json:"cursors,omitempty"`
	// Seeds and Sequence are the pools of random seeds and sequence numbers.
	Seeds    jedi.Numbers `json:"seeds,omitzero"`
	Sequence jedi.Numbers `json:"sequence,omitzero"`
}

// From returns the carry of a cutting whose parts are numbered from first on, 0 = 1.
// Seeds and sequence numbers begin there too, so that none is one of a grid job that
// goes on in this one.
func From(first int64) Carry {
	before := max(first-1, 0)
	return Carry{Serial: before, Seeds: jedi.Numbers{Last: before}, Sequence: jedi.Numbers{Last: before}}
}

// Checkpoint is the point at which a limit stopped a cut, or at which it waits.
type Checkpoint struct {
	// Waits says that it waits for more input.
	Waits bool `json:"waits,omitempty"`
	// Places are the places whose turn is not over, in order; Open says that
	// the first has its job group already.
	Places []string `json:"places,omitempty"`
	Open   bool     `json:"open,omitempty"`
	// File is the next file; of it, Done events or lumis are cut.
	File string `json:"file,omitempty"`
	Done int64  `json:"done,omitempty"`
	// Walk is the memory of the splitters that walk over events and lumis.
	Walk Walk `json:"walk,omitzero"`
}

// Walk is what a walk over events and lumis remembers of what lies behind it.
type Walk struct {
	// Event and Lumi are the next numbers to generate.
	Event int64 `json:"event,omitempty"`
	Lumi  int64 `json:"lumi,omitempty"`
	// Run is the run of the last lumi, where HasRun.
	Run    uint32 `json:"run,omitempty"`
	HasRun bool   `json:"has_run,omitempty"`
	// InPart and Room are the lumis that the last part got and could hold, and
	// Events those of earlier files in it.
	InPart int64 `json:"in_part,omitempty"`
	Room   int64 `json:"room,omitempty"`
	Events int64 `json:"events,omitempty"`
	// Adapt says that the room is still to be fitted to the file.
	Adapt bool `json:"adapt,omitempty"`
	// PerLumi is how many events a section of the dataset has.
	PerLumi int64 `json:"per_lumi,omitempty"`
}

// Left is what a cut left.
type Left struct {
	// More says that the limit ended the cut: cutting again makes more parts at
	// once. Otherwise nothing can be cut until something new is known.
	More bool
	// Done are the positions in Work.Files of the files that no later part will
	// own anything of.
	Done []int32
	// Dropped are files that get no part at all.
	Dropped []Dropped
	// Waiting is how many files could not be cut yet, and Why says what for.
	Waiting int
	Why     string
	// Lacks is Why where it is a secondary dataset that is waited for, else "".
	Lacks string
}

// Dropped is a file that gets no part.
type Dropped struct {
	// File is its position in Work.Files.
	File int32
	// Failed says that it counts as failed; otherwise as completed.
	Failed bool
	// Why says it for people.
	Why string
}

// A Splitter cuts work.
type Splitter interface {
	Name() string
	// Count is the number of parts that the whole work would make if nothing
	// more came. An error of kind Invalid names the number if there would be
	// more than MaxParts.
	Count(work Work, params Params) (int64, error)
	// Cut makes at most limits.MaxParts parts and gives what it left and the
	// carry with which to go on. It is Start and one Next.
	Cut(work Work, limits Limits, params Params, carry Carry) (parts []jjm.Part, left Left, next Carry, err error)
	// Start sorts the work once, to cut it in pieces of any size. Errors are
	// Invalid for parameters and work, Conflict for a carry of other work.
	Start(work Work, params Params, carry Carry) (*Cutting, error)
}
