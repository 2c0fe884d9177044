package jjm

import "strconv"

// DatasetInput is a dataset that a grid job reads, as its job file names it.
//
// Where its files come from is told by at most one of Files, From, Watch and
// Program. None of them: the dataset is one that the owner made before, with
// "jjm dataset add".
type DatasetInput struct {
	// Name is the dataset's, unique among those of its owner.
	Name string `json:"name"`
	// Secondary says that its files come along with those of the one dataset
	// that is not secondary, the master, and are owned by nobody.
	Secondary bool `json:"secondary,omitempty"`
	// Attributes are JEDI's, see [Dataset.Attributes].
	Attributes string `json:"attributes,omitempty"`
	// Open says that more files may come after those that the source gives:
	// the grid job lives until somebody closes the dataset. A watched folder is
	// always open.
	Open bool `json:"open,omitempty"`

	// Files are the files themselves.
	Files []File `json:"files,omitempty"`
	// From is an input file of the job that lists them: JSON lines, or CSV with
	// a header where the name ends in ".csv".
	From string `json:"from,omitempty"`
	// Watch is a glob below one folder, looked at again and again as the owner.
	Watch string `json:"watch,omitempty"`
	// Program is a command of the owner that prints JSON lines, such as a client
	// of a catalogue; it is run again while the dataset is open.
	Program []string `json:"program,omitempty"`
	// Container is a container of the owner: the files of all of its datasets, looked
	// at again until these are closed (decision R30).
	Container string `json:"container,omitempty"`
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

// String gives the word that people read.
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
