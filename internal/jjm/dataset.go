package jjm

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Dataset names files that are processed together. Files can be added until the dataset is closed. jjm does not wait
// for that before it cuts files into parts.
type Dataset struct {
	Name string `json:"name"`
	// Container is the container that the dataset was expanded from (decision R30).
	Container string `json:"container,omitempty"`
	// Master is true if the files of this dataset are the work: each file is owned once. The other datasets of a step
	// are secondary: parts only read their files in addition.
	Master bool `json:"master,omitempty"`
	// Attributes are JEDI's attributes, separated by commas: "repeat", "nosplit", "ratio=2", "np=3", "ru", ...
	Attributes string `json:"attributes,omitempty"`
	// Closed is true if no more files will be added.
	Closed bool `json:"closed,omitempty"`
}

// SequenceDataset is JEDI's name of a dataset without files, from which each local job
// takes the next sequence number.
const SequenceDataset = "seq_number"

// datasetName is the form of names of datasets: the characters that the catalogues of experiments use, slashes
// included. The length is checked separately, because compiling {0,254} would take 1 ms at the start of every program.
var datasetName = regexp.MustCompile(`^[A-Za-z0-9_/][A-Za-z0-9._:/+=@#-]*$`)

// maxDatasetName is the greatest length of the name of a dataset, in bytes.
const maxDatasetName = 255

// CheckDatasetName returns "" if s is a valid name of a dataset, otherwise the mistake in words.
func CheckDatasetName(s string) string {
	if s == "" {
		return "is missing: name the dataset"
	}
	if len(s) > maxDatasetName || !datasetName.MatchString(s) {
		return fmt.Sprintf(
			"%.60q: want 1 to %d of the characters A-Z a-z 0-9 . _ : / + = @ # - and a letter, digit, _ or / in front",
			s, maxDatasetName)
	}
	return ""
}

// File is one file of a dataset.
type File struct {
	// LFN is the file's logical name, unique in its dataset.
	LFN string `json:"lfn"`
	// Size is the file's size in bytes.
	Size int64 `json:"size,omitempty"`
	// Events is the number of events in the file, numbered from FirstEvent on.
	Events     int64  `json:"events,omitempty"`
	FirstEvent int64  `json:"first_event,omitempty"`
	Checksum   string `json:"checksum,omitempty"`
	// Lumis are the file's luminosity sections, in the order in which they are stored.
	Lumis []LumiRange `json:"lumis,omitempty"`
	// Locations are the names of the storages that hold the file. A splitter that needs a single storage takes the
	// first.
	Locations []string `json:"locations,omitempty"`
	// Parents are the LFNs of the files from which this file was made (decision R27).
	Parents []string `json:"parents,omitempty"`
	// Group is the name of a group of files. JEDI's splitters never put files of two groups into one part.
	Group string `json:"group,omitempty"`
	// Added is when the file came into the dataset.
	Added Time `json:"added,omitempty"`
	// Path is the file's path below the work area of the dataset's owner; "" if no local job of this site made the file.
	// Path is never taken from outside jjm.
	Path string `json:"-"`
}

// LumiRange is the luminosity sections First..Last of a run, both included. A range whose
// First is above its Last is empty: the file holds events of the run that are in no
// section.
type LumiRange struct {
	Run   uint32 `json:"run"`
	First uint32 `json:"first"`
	Last  uint32 `json:"last"`
}

// Count is the number of sections.
func (r LumiRange) Count() int64 { return max(int64(r.Last)-int64(r.First)+1, 0) }

// EventRange is a range of the events of a file of a part. Events are counted from 0
// within their file, not from File.FirstEvent.
type EventRange struct {
	// File is the position of the file in Input.Files.
	File  int32 `json:"file,omitempty"`
	First int64 `json:"first"`
	Count int64 `json:"count"`
}

// FileLumis is a range of luminosity sections of a file of a part.
type FileLumis struct {
	// File is the position of the file in Input.Files.
	File int32 `json:"file,omitempty"`
	LumiRange
}

// Span is the numbers First..First+Count-1. With Count ToTheEnd it has no end; the zero
// Span is empty.
type Span struct {
	First int64 `json:"first"`
	Count int64 `json:"count"`
}

// ToTheEnd is the Count of a Span without an end.
const ToTheEnd = -1

// Last returns the last number. The result has no meaning if the Span is empty or has no end.
func (s Span) Last() int64 { return s.First + s.Count - 1 }

// Mask restricts the input that the application processes. A field that is not set restricts nothing.
type Mask struct {
	// Events are event numbers, as the application counts them.
	Events Span `json:"events,omitzero"`
	// Lumis are the numbers of the sections to generate, for parts that generate events
	// instead of reading files.
	Lumis Span `json:"lumis,omitzero"`
	// Run is the number of the run to generate, 0 = not set.
	Run uint32 `json:"run,omitempty"`
}

// PartInput lists the files that a part reads, and the pieces of them that the part owns.
//
// The part's unit determines which pieces the part owns. No other part ever owns these pieces:
//
//	file   its Files, whole
//	range  its Events
//	lumi   its Lumis, each within one file; Files may list files of which the part owns no section
type PartInput struct {
	// Files are the LFNs, in the order in which to read them.
	Files  []string     `json:"files"`
	Events []EventRange `json:"events,omitempty"`
	Lumis  []FileLumis  `json:"lumis,omitempty"`
	Mask   Mask         `json:"mask,omitzero"`
	// Place holds the storages that have the files, and the clusters that can read the files; nil if no location is known.
	Place *Place `json:"place,omitempty"`
	// Group is the number of the job group, from 1 within the step. The parts that one call of the splitter makes for
	// one place are a job group (decision R26). WMBSMergeBySize reads Group.
	Group int64 `json:"group,omitempty"`
	// Estimate is the time and space that the part will probably need.
	Estimate Estimate `json:"estimate,omitzero"`
	// More holds the fields that only few parts set, nil if none of them is set. Thus most parts stay small in memory.
	More *PartMore `json:"more,omitempty"`
}

// PartMore holds the fields of a PartInput that only few parts set.
type PartMore struct {
	// Failure is the reason why the part must not be submitted, nil if there is none. The part's local job ends as
	// failed/createfailed.
	Failure *CreateFailure `json:"failure,omitempty"`
	// ByFile is true if files of the part share luminosity sections. Then one list of sections for all files cannot
	// describe the work that the part owns: its Lumis apply file by file.
	ByFile bool `json:"by_file,omitempty"`
	// Parents are the LFNs of the ancestors that the application also reads.
	Parents []string `json:"parents,omitempty"`
	// Secondary are the files of secondary datasets.
	Secondary []StreamFiles `json:"secondary,omitempty"`
	// SkipPileup is the number of pile-up events to skip. It counts only if HasSkip is set, because 0 is a valid
	// number.
	SkipPileup int64 `json:"skip_pileup,omitempty"`
	HasSkip    bool  `json:"has_skip,omitempty"`
	// LHEInput is the setting lheInputFiles, which is true if the application reads LHE files. It is nil unless the
	// part generates events.
	LHEInput *bool `json:"lhe_input_files,omitempty"`
	// Seed is the random seed and Sequence the sequence number, 0 if the job file requests none. Both return to their
	// pools when the part's job fails permanently.
	Seed     int64 `json:"seed,omitempty"`
	Sequence int64 `json:"sequence,omitempty"`
	// FirstNumber is the number of the part's first event in the numbering of its file, set if that numbering does
	// not begin with 0 (JEDI's FIRSTEVENT).
	FirstNumber int64 `json:"first_number,omitempty"`
	// Settings override settings of the job file for this part; the keys are dotted
	// paths.
	Settings map[string]any `json:"settings,omitempty"`
}

// StreamFiles are files of a secondary dataset.
type StreamFiles struct {
	Dataset string   `json:"dataset"`
	Files   []string `json:"files"`
}

// Place is a set of storages, and the clusters that can read from them.
type Place struct {
	// Storages are the names of the storages, sorted. If the splitter chose one of several storages, the list holds only
	// that storage.
	Storages []string `json:"storages,omitempty"`
	// Clusters are the names of the clusters where parts of this place may run, sorted. Known is true if the clusters were
	// looked up. If Clusters is empty, no cluster may run the parts if Known is true; otherwise, all clusters may.
	Clusters []string `json:"clusters,omitempty"`
	Known    bool     `json:"known,omitempty"`
	// Request overrides fields of the grid job's request for local jobs of this place;
	// nil overrides nothing.
	Request *Request `json:"request,omitempty"`
	// Asked contains the resources that people requested for local jobs of this place (jjm set, jjm resubmit). They take
	// precedence over Request and the grid job's request. Asked is nil if nobody requested resources.
	Asked *Resources `json:"asked,omitempty"`
	// From is the number of the place for which the local jobs were made. It is set only with Asked.
	From int32 `json:"from,omitempty"`
	// Default is true if future local jobs of the place From are assigned to this place. It is set only with Asked.
	Default bool `json:"default,omitempty"`
	// Priority orders the waiting local jobs of an owner: greater numbers are submitted first.
	Priority int `json:"priority,omitempty"`
}

// Estimate is the time and space that a part will probably need; 0 = not known.
type Estimate struct {
	Seconds  float64 `json:"seconds,omitempty"`
	DiskKB   float64 `json:"disk_kb,omitempty"`
	MemoryMB float64 `json:"memory_mb,omitempty"`
}

// CreateFailure is the reason why a part must never be submitted.
type CreateFailure struct {
	// Code is WMCore's exit code: 71101 if no site may run the part, 99305 if it would
	// run for too long.
	Code   int    `json:"code"`
	Reason string `json:"reason"`
}

// Failure returns the reason why the part must not be submitted, or nil if it may be submitted.
func (p *Part) Failure() *CreateFailure {
	if p.Input == nil || p.Input.More == nil {
		return nil
	}
	return p.Input.More.Failure
}

// The limits of the description of a file. They are far above the values in catalogues. 2^53 is the largest number up
// to which JSON and scripts count exactly.
const (
	maxLFN       = 1000 // in bytes
	maxFileWord  = 255  // in bytes: a storage, a group, a checksum
	maxFileLumis = 100_000
	maxLocations = 1000
	maxParents   = 10_000
	maxFileCount = 1 << 53
)

// CheckLFN returns "" if s is a valid logical file name, else the mistake in words. Names are passed to commands and
// listed one per line. Therefore a name must not contain control characters or look like an option.
func CheckLFN(s string) string {
	switch {
	case s == "":
		return "is missing: name the file"
	case len(s) > maxLFN:
		return fmt.Sprintf("%d bytes are too long: at most %d", len(s), maxLFN)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Sprintf("%.60q: want UTF-8 without control characters", s)
	case s[0] == '-':
		return fmt.Sprintf("%.60q: a minus sign in front would pass for an option", s)
	}
	return ""
}

// Problems returns the mistakes in a description that came from outside. Fields are named as in JSON: "lumis[2]".
// Added is a problem if it is set, because only jjm sets it.
func (f *File) Problems() Problems {
	var ps Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if wrong := CheckLFN(f.LFN); wrong != "" {
		bad("lfn", "%s", wrong)
	}
	number := func(field string, n int64) {
		if n < 0 || n > maxFileCount {
			bad(field, "%d is out of range: want 0 to %d", n, int64(maxFileCount))
		}
	}
	number("size", f.Size)
	number("events", f.Events)
	number("first_event", f.FirstEvent)
	if f.Events > 0 && f.FirstEvent > maxFileCount-f.Events && f.FirstEvent <= maxFileCount {
		bad("first_event", "%d events from %d on: want numbers up to %d", f.Events, f.FirstEvent, int64(maxFileCount))
	}
	word := func(field, s string) {
		if len(s) > maxFileWord || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
			return r <= ' ' || unicode.IsControl(r)
		}) {
			bad(field, "%.60q: want at most %d bytes without blanks and control characters", s, maxFileWord)
		}
	}
	word("checksum", f.Checksum)
	word("group", f.Group)
	if f.Added != 0 {
		bad("added", "is set by jjm when the file comes into the dataset: leave it out")
	}
	f.checkLists(bad, word)
	return ps
}

func (f *File) checkLists(bad func(field, format string, args ...any), word func(field, s string)) {
	many := func(field string, n, most int) bool {
		if n > most {
			bad(field, "%d of them are too many: at most %d", n, most)
		}
		return n > most
	}
	if !many("lumis", len(f.Lumis), maxFileLumis) {
		if i, j := twiceIn(f.Lumis); i >= 0 {
			bad(fmt.Sprintf("lumis[%d]", j), "run %d, sections %d to %d: some of them are in lumis[%d] too",
				f.Lumis[j].Run, f.Lumis[j].First, f.Lumis[j].Last, i)
		}
	}
	if !many("locations", len(f.Locations), maxLocations) {
		for i, s := range f.Locations {
			field := fmt.Sprintf("locations[%d]", i)
			if word(field, s); s == "" {
				bad(field, "is empty: name a storage")
			}
		}
	}
	if !many("parents", len(f.Parents), maxParents) {
		for i, s := range f.Parents {
			if wrong := CheckLFN(s); wrong != "" {
				bad(fmt.Sprintf("parents[%d]", i), "%s", wrong)
			}
		}
	}
}

// twiceIn returns the positions of two ranges that share a section, the smaller first, or
// -1, -1 if no two do.
func twiceIn(lumis []LumiRange) (int, int) {
	if len(lumis) < 2 {
		return -1, -1
	}
	order := make([]int, 0, len(lumis))
	for i, r := range lumis {
		if r.Count() > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := lumis[a], lumis[b]
		if x.Run != y.Run {
			return cmp.Compare(x.Run, y.Run)
		}
		return cmp.Compare(x.First, y.First)
	})
	for k := 1; k < len(order); k++ {
		i, j := order[k-1], order[k]
		if lumis[i].Run == lumis[j].Run && lumis[j].First <= lumis[i].Last {
			return min(i, j), max(i, j)
		}
	}
	return -1, -1
}
