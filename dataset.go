package jjm

import (
	"fmt"
	"regexp"
)

// Dataset names files that are processed together. Files of it may come, and
// be cut, as long as it is open.
type Dataset struct {
	Name string `json:"name"`
	// Container is the container that the dataset was expanded from (decision R30).
	Container string `json:"container,omitempty"`
	// Master says that this dataset decides what is done: its files are owned
	// once. The others of a step are secondary and come along.
	Master bool `json:"master,omitempty"`
	// Attributes are JEDI's: "repeat", "nosplit", "ratio=2", "np=3", "ru", ...,
	// separated by commas.
	Attributes string `json:"attributes,omitempty"`
	// Closed says that no more files will come.
	Closed bool `json:"closed,omitempty"`
}

// datasetName is the form of names of datasets: what catalogues of experiments
// use, slashes included. It does not count to maxDatasetName: that would take
// 1 ms to compile, at every start of every program.
var datasetName = regexp.MustCompile(`^[A-Za-z0-9_/][A-Za-z0-9._:/+=@#-]*$`)

// maxDatasetName is the length of the longest name of a dataset.
const maxDatasetName = 255

// CheckDatasetName says what is wrong with the name of a dataset, or nothing.
func CheckDatasetName(s string) string {
	if s == "" {
		return "is missing: name the dataset"
	}
	if len(s) > maxDatasetName || !datasetName.MatchString(s) {
		return fmt.Sprintf("%.60q: want 1 to 255 of the characters A-Z a-z 0-9 . _ : / + = @ # - and a letter, digit, _ or / in front", s)
	}
	return ""
}

// File is one file of a dataset.
type File struct {
	// LFN is its logical name, unique in its dataset.
	LFN string `json:"lfn"`
	// Size is in bytes.
	Size int64 `json:"size,omitempty"`
	// Events is how many events it holds, numbered from FirstEvent on.
	Events     int64  `json:"events,omitempty"`
	FirstEvent int64  `json:"first_event,omitempty"`
	Checksum   string `json:"checksum,omitempty"`
	// Lumis are its luminosity sections, in the order in which they are stored.
	Lumis []LumiRange `json:"lumis,omitempty"`
	// Locations are the names of the storages that hold it; the first is where
	// it is used when one must be chosen.
	Locations []string `json:"locations,omitempty"`
	// Parents are the LFNs of the files that it was made from (decision R27).
	Parents []string `json:"parents,omitempty"`
	// Group keeps files of one name together: JEDI's boundary.
	Group string `json:"group,omitempty"`
	// Added is when it came into the dataset.
	Added Time `json:"added,omitempty"`
}

// LumiRange is the luminosity sections First..Last of a run, both included. A
// range whose First is above its Last says that the run is in the file without
// a section.
type LumiRange struct {
	Run   uint32 `json:"run"`
	First uint32 `json:"first"`
	Last  uint32 `json:"last"`
}

// Count is the number of sections.
func (r LumiRange) Count() int64 { return max(int64(r.Last)-int64(r.First)+1, 0) }

// EventRange is a range of the events of a file of a part. Events are counted
// from 0 within their file, whatever numbers they have.
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

// Span is the numbers First..First+Count-1. Count ToTheEnd leaves the end open;
// the zero Span is none.
type Span struct {
	First int64 `json:"first"`
	Count int64 `json:"count"`
}

// ToTheEnd is the Count of a Span without an end.
const ToTheEnd = -1

// Last is the last number; it has no meaning for an open or empty Span.
func (s Span) Last() int64 { return s.First + s.Count - 1 }

// Mask tells the application which of its input it is to process. What is not
// set is not restricted.
type Mask struct {
	// Events are event numbers, as the application counts them.
	Events Span `json:"events,omitzero"`
	// Lumis are the sections to generate, of made-up files that hold none.
	Lumis Span `json:"lumis,omitzero"`
	// Run is the run to generate, 0 = not set.
	Run uint32 `json:"run,omitempty"`
}

// PartInput is what a part reads of files.
//
// What it owns, for good and alone, is, for the part's unit:
//
//	file   its Files, whole
//	range  its Events
//	lumi   its Lumis: they never cross files, and a file may be in Files
//	       without owning any of it
type PartInput struct {
	// Files are the LFNs, in the order in which to read them.
	Files  []string     `json:"files"`
	Events []EventRange `json:"events,omitempty"`
	Lumis  []FileLumis  `json:"lumis,omitempty"`
	Mask   Mask         `json:"mask,omitzero"`
	// Place is where the files are.
	Place *Place `json:"place,omitempty"`
	// Group is the job group: the number of the cut and place it belongs to,
	// from 1 within the step (decision R26).
	Group int64 `json:"group,omitempty"`
	// Estimate is what the part is expected to need.
	Estimate Estimate `json:"estimate,omitzero"`
	// More is what only some parts have.
	More *PartMore `json:"more,omitempty"`
}

// PartMore is what only some parts have.
type PartMore struct {
	// Failure is why the part must not be submitted: it is createfailed.
	Failure *CreateFailure `json:"failure,omitempty"`
	// Parents are the LFNs of ancestors to read along.
	Parents []string `json:"parents,omitempty"`
	// Secondary are the files of secondary datasets.
	Secondary []StreamFiles `json:"secondary,omitempty"`
	// SkipPileup is how many pile-up events to skip, where HasSkip.
	SkipPileup int64 `json:"skip_pileup,omitempty"`
	HasSkip    bool  `json:"has_skip,omitempty"`
	// Seed is the random seed and Sequence the sequence number, where one was
	// asked for. They go back to their pools when the part's job fails for good.
	Seed     int64 `json:"seed,omitempty"`
	Sequence int64 `json:"sequence,omitempty"`
	// Settings are the values of job fields that the part changes, by path.
	Settings map[string]any `json:"settings,omitempty"`
}

// StreamFiles are files of a secondary dataset.
type StreamFiles struct {
	Dataset string   `json:"dataset"`
	Files   []string `json:"files"`
}

// Place is a set of storages, and the clusters that can read from them.
type Place struct {
	// Storages are sorted unless one was chosen of several.
	Storages []string `json:"storages,omitempty"`
	// Clusters are where parts of this place may run, sorted; empty where Known
	// means nowhere.
	Clusters []string `json:"clusters,omitempty"`
	Known    bool     `json:"known,omitempty"`
}

// Estimate is what a part is expected to need; 0 = not known.
type Estimate struct {
	Seconds  float64 `json:"seconds,omitempty"`
	DiskKB   float64 `json:"disk_kb,omitempty"`
	MemoryMB float64 `json:"memory_mb,omitempty"`
}

// CreateFailure is why a part must not be submitted.
type CreateFailure struct {
	// Code is WMCore's exit code: 71101 no site may run it, 99305 it would run
	// for too long.
	Code   int    `json:"code"`
	Reason string `json:"reason"`
}

// Failure is why the part must not be submitted, or nil.
func (p *Part) Failure() *CreateFailure {
	if p.Input == nil || p.Input.More == nil {
		return nil
	}
	return p.Input.More.Failure
}
