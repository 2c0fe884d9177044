package wire

import (
	"fmt"
	"slices"

	"jjm"
)

// VerbDataset adds files to datasets, closes, marks and shows them.
func VerbDataset() Verb[DatasetRequest, DatasetAnswer] {
	return Verb[DatasetRequest, DatasetAnswer]{About{Name: "dataset", MaxBytes: MaxRequest,
		Help: "Datasets: add files, close, mark files as lost, show."}}
}

// DatasetRequest is a wish about datasets.
type DatasetRequest struct {
	Head
	Dataset *Dataset `json:"dataset,omitempty"`
}

// Check implements Request.
func (r DatasetRequest) Check() error {
	if r.Dataset == nil {
		return jjm.Errorf(jjm.Invalid, "dataset: member dataset is missing: want {\"do\",\"name\"}")
	}
	return r.Dataset.check()
}

// DatasetAnswer answers dataset.
type DatasetAnswer struct {
	Reply
	Datasets *Datasets `json:"datasets,omitempty"`
}

// Check implements Answer.
func (a DatasetAnswer) Check() error { return present("datasets", a.Datasets != nil) }

// What a request does with datasets.
const (
	DatasetAdd   = "add"
	DatasetClose = "close"
	DatasetShow  = "show"
	DatasetMark  = "mark"
)

// Dataset is a wish about the datasets of an account.
type Dataset struct {
	Do string `json:"do"` // add, close, show, mark
	// Name is the dataset's; show without one means all.
	Name string `json:"name,omitempty"`
	// UID is whose it is, the caller's own unless an administrator says another.
	UID *int `json:"uid,omitempty"`
	// Container is that in which add makes a dataset that is not there.
	Container string `json:"container,omitempty"`
	// Files are those to add, at most MaxFiles in one request.
	Files []jjm.File `json:"files,omitempty"`
	// LFNs are the files to mark, at most MaxFiles in one request, State is missing,
	// lost or broken, or ready to take their marks back, and Reason why. DryRun only
	// says what it would do.
	LFNs   []string `json:"lfns,omitempty"`
	State  string   `json:"state,omitempty"`
	Reason string   `json:"reason,omitempty"`
	DryRun bool     `json:"dry_run,omitempty"`
}

// MaxFiles is the most files of one request to add some.
const MaxFiles = 5000

// Datasets answers dataset.
type Datasets struct {
	// Added is how many of the files were new, Changed whether a close was news.
	Added   int  `json:"added"`
	Changed bool `json:"changed,omitempty"`
	// Marked are the files of a mark, in the order asked for.
	Marked []MarkedFile `json:"marked,omitempty"`
	// Shown are those asked for; after add and close the one it was about.
	Shown []DatasetState `json:"shown"`
}

// MarkedFile is what marking a file came to.
type MarkedFile struct {
	LFN string `json:"lfn"`
	// State is what it is marked as; Before says that it was already. Ready is one
	// without a mark.
	State  string `json:"state"`
	Before bool   `json:"before,omitempty"`
	// Locals are local jobs, not over yet, that own some of it: they go on. Those of
	// Back were not submitted yet, and give it back.
	Locals []string `json:"locals,omitempty"`
	Back   []string `json:"back,omitempty"`
	// Again are the grid jobs that can cut it once more, now that its mark is taken
	// back; Without are those that do without it, or without some of it.
	Again   []jjm.GridID `json:"again,omitempty"`
	Without []jjm.GridID `json:"without,omitempty"`
}

// DatasetState is a dataset, and who reads it.
type DatasetState struct {
	Name string `json:"name"`
	// Container is the one that it is in, "" for none; its own name if it has no
	// files and stands for a container that a grid job fills.
	Container string          `json:"container,omitempty"`
	UID       int             `json:"uid"`
	Created   jjm.Time        `json:"created"`
	Closed    jjm.Time        `json:"closed,omitempty"` // since when; 0 = open
	Files     int64           `json:"files"`
	Events    int64           `json:"events"`
	Bytes     int64           `json:"bytes"`
	Readers   []DatasetReader `json:"readers,omitempty"`
	// Origins are the datasets of a container of which it has the files.
	Origins []DatasetOrigin `json:"origins,omitempty"`
}

// DatasetOrigin is a dataset of which another has so many files.
type DatasetOrigin struct {
	Name  string `json:"name"`
	Files int64  `json:"files"`
}

// DatasetReader is a grid job that reads a dataset.
type DatasetReader struct {
	Grid   jjm.GridID `json:"grid"`
	Status string     `json:"status"`
	Input
}

// Input is a dataset that a grid job reads, and how far it has come with it.
type Input struct {
	Dataset string          `json:"dataset,omitempty"`
	Master  bool            `json:"master"`
	Open    bool            `json:"open,omitempty"`
	Counts  jjm.InputCounts `json:"counts"`
}

// check finds what is wrong with a wish whatever the store holds.
func (d *Dataset) check() error {
	switch {
	case !slices.Contains([]string{DatasetAdd, DatasetClose, DatasetShow, DatasetMark}, d.Do):
		return jjm.Errorf(jjm.Invalid, "dataset.do %.40q: want add, close, show or mark", d.Do)
	case d.Do != DatasetAdd && len(d.Files) > 0:
		return jjm.Errorf(jjm.Invalid, "dataset.files: only add takes files")
	case d.Do != DatasetAdd && d.Container != "":
		return jjm.Errorf(jjm.Invalid, "dataset.container: only add takes it")
	case d.Container != "" && jjm.CheckDatasetName(d.Container) != "":
		return jjm.Errorf(jjm.Invalid, "dataset.container: %s", jjm.CheckDatasetName(d.Container))
	case len(d.Files) > MaxFiles:
		return jjm.Errorf(jjm.Invalid, "dataset.files: %d of them: at most %d in one request", len(d.Files), MaxFiles)
	}
	if d.Do != DatasetShow || d.Name != "" {
		if wrong := jjm.CheckDatasetName(d.Name); wrong != "" {
			return jjm.Errorf(jjm.Invalid, "dataset.name: %s", wrong)
		}
	}
	if err := d.checkMark(); err != nil {
		return err
	}
	for i := range d.Files {
		if ps := d.Files[i].Problems(); len(ps) > 0 {
			return fmt.Errorf("dataset.files[%d]: %w", i, ps.Err())
		}
	}
	return nil
}

// checkMark finds what is wrong with what only mark takes.
func (d *Dataset) checkMark() error {
	if d.Do != DatasetMark {
		if len(d.LFNs) > 0 || d.State != "" || d.Reason != "" || d.DryRun {
			return jjm.Errorf(jjm.Invalid, "dataset: lfns, state, reason and dry_run go with mark only")
		}
		return nil
	}
	switch {
	case !slices.Contains([]string{"missing", "lost", "broken", "ready"}, d.State):
		return jjm.Errorf(jjm.Invalid, "dataset.state %.40q: want missing, lost or broken, or ready to take a mark back",
			d.State)
	case len(d.LFNs) == 0 || len(d.LFNs) > MaxFiles:
		return jjm.Errorf(jjm.Invalid, "dataset.lfns: %d of them: want 1 to %d in one request", len(d.LFNs), MaxFiles)
	case d.Reason == "" && !d.DryRun:
		return jjm.Errorf(jjm.Invalid, "dataset.reason is missing: say why, for those who read it later")
	case len(d.Reason) > maxReason || !oneLine(d.Reason):
		return jjm.Errorf(jjm.Invalid, "dataset.reason: want one line of at most %d bytes", maxReason)
	}
	return nil
}
