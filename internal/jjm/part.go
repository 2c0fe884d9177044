package jjm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Part is the piece of work that a local job owns permanently. The parts of one step cover its work exactly once; the
// store refuses two parts that overlap.
type Part struct {
	// Unit is the unit of First and Count, such as UnitEvent.
	Unit string `json:"unit"`
	// First is the first unit owned, and Count the number of units: First..First+Count-1. Events and rows are
	// numbered by the job. Files, and events and lumis of files, are numbered from 0 in the order in which they were
	// cut; Input identifies them.
	First int64 `json:"first"`
	Count int64 `json:"count"`
	// Serial is the part's number within its step, from 1. Seeds and output names are derived from Serial, so it never
	// changes (decision R17).
	Serial int64 `json:"serial"`
	// Args are further arguments of the application for this part, such as the words of a
	// row.
	Args []string `json:"args,omitempty"`
	// Serials are the numbers in the part's output names, in the order of the output templates of its step. They
	// never change.
	Serials []int64 `json:"serials,omitempty"`
	// Streams are the values of the placeholders of the job file's streams, by name. They are computed from the other
	// fields when the part is sent to a worker, and are not stored.
	Streams map[string][]string `json:"streams,omitempty"`
	// Input lists the files that the part reads; nil for plain events and rows.
	Input *PartInput `json:"input,omitempty"`
}

// Last returns the number of the last unit owned.
func (p Part) Last() int64 { return p.First + p.Count - 1 }

// Units describes, for people, the work that the part owns: "row 4", "events 1-250".
func (p Part) Units() string { return UnitsText(p.Unit, p.First, p.Last()) }

// mostNamed is the greatest number of files that Work names.
const mostNamed = 3

// Work describes, for people, the work that the part owns, with the names of its files. It does not use file numbers,
// which would mislead, because a part that repeats work has a new number.
func (p Part) Work() string {
	if p.Input == nil || len(p.Input.Files) == 0 {
		return p.Units()
	}
	files := p.Input.Files
	named := strings.Join(files[:min(mostNamed, len(files))], " ")
	if more := len(files) - mostNamed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case p.Unit != UnitFile:
		return p.Units() + " of " + named
	case len(files) == 1:
		return "file " + named
	}
	return fmt.Sprintf("%d files: %s", len(files), named)
}

// UnitsText describes, for people, the units from first to last.
func UnitsText(unit string, first, last int64) string {
	if first == last {
		return fmt.Sprintf("%s %d", unit, first)
	}
	return fmt.Sprintf("%ss %d-%d", unit, first, last)
}

// The units of parts.
const (
	UnitEvent = "event" // events that the job type generates
	UnitRow   = "row"   // rows of a list
	UnitFile  = "file"  // whole files
	UnitRange = "range" // events of files; a file without events counts as one
	UnitLumi  = "lumi"  // luminosity sections of files
)

// CountedAs returns the word that applications use when they count units of a kind.
func CountedAs(unit string) string {
	return map[string]string{UnitEvent: "events", UnitRange: "events", UnitFile: "files", UnitLumi: "sections",
		UnitRow: "rows"}[unit]
}

// EventSpan returns the events that the application must process: the events of the mask. If the mask has no events,
// the span begins with 0 and has no end: the application processes all events of its files.
func (in *PartInput) EventSpan() Span {
	if in.Mask.Events == (Span{}) {
		return Span{Count: ToTheEnd}
	}
	return in.Mask.Events
}

// LumiText returns the luminosity sections of the part as text, "RUN:FIRST-LAST" separated by
// commas:
//
//	sections owned     "1:1-3,1:7-7,2:1-4"; ranges that follow one another are joined, also across files
//	a file without sections, whole  ""
//	events generated   the sections to put them in, "1:5-7"; run 0 is written as 1
//	otherwise          ""
//
// The text is also "" if the sections apply file by file (PartMore.ByFile), because one list would name sections that
// the part does not own.
func (in *PartInput) LumiText() string {
	if in.More != nil && in.More.ByFile {
		return ""
	}
	if made := in.Mask.Lumis; made.Count > 0 && len(in.Lumis) == 0 {
		return fmt.Sprintf("%d:%d-%d", max(in.Mask.Run, 1), made.First, made.Last())
	}
	if len(in.Lumis) == 1 && in.Lumis[0].LumiRange == WholeFile() {
		return ""
	}
	return lumiText(in.Lumis)
}

// LumisOf returns the sections that the part owns of one of its files, in the form of LumiText.
func (in *PartInput) LumisOf(file int) string {
	var own []FileLumis
	for _, r := range in.Lumis {
		if int(r.File) == file {
			own = append(own, r)
		}
	}
	return lumiText(own)
}

func lumiText(lumis []FileLumis) string {
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

// OwnFiles and AncestorFiles are the two kinds of a part's files that belong to no secondary dataset: the files that
// the part processes, and the ancestors of these files. [PartInput.Renamed] passes the kind of each file to its
// function. No dataset can have one of these names.
const (
	OwnFiles      = ""
	AncestorFiles = "(ancestors)"
)

// Renamed returns a copy of the part's input in which each file has the name that the function name returns. The
// argument of is the kind of the file: OwnFiles, AncestorFiles, or the name of a secondary dataset. lfn is its old
// name.
func (in *PartInput) Renamed(name func(of, lfn string) string) *PartInput {
	out := *in
	all := func(of string, lfns []string) []string {
		renamed := make([]string, len(lfns))
		for i, lfn := range lfns {
			renamed[i] = name(of, lfn)
		}
		return renamed
	}
	out.Files = all(OwnFiles, in.Files)
	if in.More == nil {
		return &out
	}
	more := *in.More
	if len(more.Parents) > 0 {
		more.Parents = all(AncestorFiles, more.Parents)
	}
	more.Secondary = slices.Clone(more.Secondary)
	for i := range more.Secondary {
		more.Secondary[i].Files = all(more.Secondary[i].Dataset, more.Secondary[i].Files)
	}
	out.More = &more
	return &out
}

// Master returns the dataset whose files the job processes, or nil if its type generates the work itself. Secondary
// datasets are ignored.
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
// At most one of Files, From, Watch, Program and Container says where its files come from. If none is set, the owner
// has already made the dataset with "jjm dataset add".
type DatasetInput struct {
	// Name is the dataset's name, unique among the owner's datasets.
	Name string `json:"name"`
	// Secondary is true if parts only read the dataset's files in addition to their own work. The work comes from the
	// master dataset (the dataset that is not secondary) or from a type that generates it. No part owns the files of a
	// secondary dataset.
	Secondary bool `json:"secondary,omitempty"`
	// Attributes are JEDI's attributes, see [Dataset.Attributes].
	Attributes string `json:"attributes,omitempty"`
	// Stream is the placeholder that stands for the dataset's files in commands.
	Stream string `json:"stream,omitempty"`
	// Open is true if more files may follow after the files of the source: the grid job does not end until the dataset
	// is closed. A watched folder is always open.
	Open bool `json:"open,omitempty"`

	// Files lists the files, each by its name or by a wildcard.
	Files []Listed `json:"files,omitempty"`
	// From is an input file of the job that lists the files: JSON lines, or CSV with a header if the name ends in
	// ".csv".
	From string `json:"from,omitempty"`
	// Watch is a glob pattern below one folder. The daemon lists the matching files repeatedly, with the owner's rights.
	Watch string `json:"watch,omitempty"`
	// Program is a command of the owner that prints JSON lines, such as a client of a catalogue. The daemon runs it
	// repeatedly while the dataset is open.
	Program []string `json:"program,omitempty"`
	// Incremental is true if the program lists only new files. If it is false, a file that the program no longer lists
	// is lost.
	Incremental bool `json:"incremental,omitempty"`
	// Container names a container of the owner. The files of the dataset are the files of all datasets in the
	// container. jjm reads these datasets repeatedly until all of them are closed (decision R30).
	Container string `json:"container,omitempty"`
}

// Listed is an entry of the files that a job file lists: a file, or a wildcard. When the
// grid job is prepared, the files that match a wildcard replace it, sorted by name.
type Listed struct {
	File
	// Wildcard is an absolute path whose last element has wildcards, such as "/data/raw/*.root". If Wildcard is set, no
	// other field is set.
	Wildcard string `json:"wildcard,omitempty"`
}

// Named returns the files that the job file names one by one, in order. all is false if the job file also has
// wildcards, or has no list of files.
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

// Splitting names a splitter and its settings, for types that leave the choice to the job
// file.
type Splitting struct {
	// By is the name of the splitter.
	By string `json:"by"`
	// Params are the splitter's settings by the names of docs/SPLITTERS.md.
	Params map[string]any `json:"params,omitempty"`
}

// FileState is the state of a file of a dataset for one step that reads it (JEDI's
// words).
type FileState uint8

// The states. A file that is partly owned by local jobs is Picked.
const (
	FileReady    FileState = iota // no local job owns a part of the file
	FilePicked                    // unfinished local jobs own the file, wholly or in part
	FileFinished                  // completed local jobs processed the whole file
	FileFailed                    // given up: every allowed attempt failed
	FileMissing                   // never found, so never cut
	FileLost                      // no longer found
	FileBroken                    // corrupt
	FileDropped                   // left out by the splitter, which says why
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
	// Events is the number of events in all files, EventsUsed the number in the finished files.
	Events     int64 `json:"events"`
	EventsUsed int64 `json:"events_used"`
}

// JoinLumis returns the given sections, each section only once, in sorted ranges that neither overlap nor touch. It
// leaves out empty ranges.
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
