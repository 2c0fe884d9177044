package jjm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
	// Serials are the numbers of its output names, in the order of the templates of
	// its step; they belong to the local job for good.
	Serials []int64 `json:"serials,omitempty"`
	// Streams are what stands for the streams of the job file, by their names. They
	// follow from the rest, and are filled in for who runs the part.
	Streams map[string][]string `json:"streams,omitempty"`
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

// EventSpan is what an application is told of events: those of the mask, or all
// of its files, from 0 without an end.
func (in *PartInput) EventSpan() Span {
	if in.Mask.Events == (Span{}) {
		return Span{Count: ToTheEnd}
	}
	return in.Mask.Events
}

// LumiText writes the sections that the part owns, "1:1-3,1:7-7,2:1-4", joining those
// that follow on one another, whatever file they are in; of events that are made, the
// sections that they are to be in, "1:5-7"; "" where it owns whole files or events.
func (in *PartInput) LumiText() string {
	if made := in.Mask.Lumis; made.Count > 0 && len(in.Lumis) == 0 {
		return fmt.Sprintf("%d:%d-%d", max(in.Mask.Run, 1), made.First, made.Last())
	}
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

// Master returns the dataset whose files the job processes; nil if it makes its work
// itself, with or without files of secondary datasets.
func (s *Spec) Master() *DatasetInput {
	for i := range s.Datasets {
		if d := &s.Datasets[i]; !d.Secondary {
			return d
		}
	}
	return nil
}

// DatasetInput is a dataset that a grid job reads, as its job file names it.
//
// Where its files come from is told by at most one of Files, From, Watch and
// Program. None of them: the dataset is one that the owner made before, with
// "jjm dataset add".
type DatasetInput struct {
	// Name is the dataset's, unique among those of its owner.
	Name string `json:"name"`
	// Secondary says that its files come along with those of the one dataset
	// that is not secondary, the master, or with the events of a type that makes
	// them, and are owned by nobody.
	Secondary bool `json:"secondary,omitempty"`
	// Attributes are JEDI's, see [Dataset.Attributes].
	Attributes string `json:"attributes,omitempty"`
	// Stream is the placeholder that stands for its files in commands.
	Stream string `json:"stream,omitempty"`
	// Open says that more files may come after those that the source gives:
	// the grid job lives until somebody closes the dataset. A watched folder is
	// always open.
	Open bool `json:"open,omitempty"`

	// Files are the files themselves, and wildcards for some.
	Files []Listed `json:"files,omitempty"`
	// From is an input file of the job that lists them: JSON lines, or CSV with
	// a header where the name ends in ".csv".
	From string `json:"from,omitempty"`
	// Watch is a glob below one folder, looked at again and again as the owner.
	Watch string `json:"watch,omitempty"`
	// Program is a command of the owner that prints JSON lines, such as a client
	// of a catalogue; it is run again while the dataset is open.
	Program []string `json:"program,omitempty"`
	// Incremental says that the program lists what is new only: a file that it lists
	// no more is not lost.
	Incremental bool `json:"incremental,omitempty"`
	// Container is a container of the owner: the files of all of its datasets, looked
	// at again until these are closed (decision R30).
	Container string `json:"container,omitempty"`
}

// Listed is an entry of the files that a job file lists: a file, or a wildcard in whose
// place come the files that match it when the grid job is prepared, by name.
type Listed struct {
	File
	// Wildcard is an absolute path whose last element has wildcards, such as
	// "/data/raw/*.root". Nothing else is said of such an entry.
	Wildcard string `json:"wildcard,omitempty"`
}

// Named returns the files that the job file itself names, in order; all is false if some
// are to be found by wildcards, or if it lists none at all.
func (d *DatasetInput) Named() (files []File, all bool) {
	all = d.Files != nil
	for i := range d.Files {
		if d.Files[i].Wildcard != "" {
			all = false
			continue
		}
		files = append(files, d.Files[i].File)
	}
	return files, all
}

// Splitting names a splitter and its settings, where a job file and not its
// type chooses.
type Splitting struct {
	By string `json:"by"`
	// Params are the splitter's settings by the names of docs/SPLITTERS.md.
	Params map[string]any `json:"params,omitempty"`
}

// FileState is what has become of a file with one step that reads it
// (JEDI's words).
type FileState uint8

// The states. A file that is partly owned by local jobs is Picked.
const (
	FileReady    FileState = iota // no local job owns any of it
	FilePicked                    // owned, wholly or in part, by local jobs that are not over
	FileFinished                  // all of it was processed by completed local jobs
	FileFailed                    // given up: its attempts are used up
	FileMissing                   // never there, so never cut
	FileLost                      // was there before
	FileBroken                    // corrupt
	FileDropped                   // the splitter passed it over and says why
)

var fileStates = [...]string{"ready", "picked", "finished", "failed", "missing", "lost", "broken", "dropped"}

// String returns the word that people read.
func (s FileState) String() string {
	if int(s) < len(fileStates) {
		return fileStates[s]
	}
	return "file state " + strconv.Itoa(int(s))
}

// InputCounts are the counters of a dataset that a step reads (JEDI). Always
// 0 <= Finished+Failed <= Used <= ToBeUsed <= Files.
type InputCounts struct {
	Files    int64 `json:"files"`
	ToBeUsed int64 `json:"to_be_used"`
	Used     int64 `json:"used"`
	Finished int64 `json:"finished"`
	Failed   int64 `json:"failed"`
	// Events are those of Files, EventsUsed those of the finished ones.
	Events     int64 `json:"events"`
	EventsUsed int64 `json:"events_used"`
}

// JoinLumis returns the same sections in order, each once, in as few ranges as can be.
// Ranges without a section are left out.
func JoinLumis(all []LumiRange) []LumiRange {
	order := slices.DeleteFunc(slices.Clone(all), func(r LumiRange) bool { return r.Count() == 0 })
	slices.SortFunc(order, func(a, b LumiRange) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.First, b.First))
	})
	var out []LumiRange
	for _, r := range order {
		n := len(out)
		if n > 0 && out[n-1].Run == r.Run && int64(r.First) <= int64(out[n-1].Last)+1 {
			out[n-1].Last = max(out[n-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}
