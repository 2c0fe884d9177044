package wire

import (
	"fmt"
	"slices"

	"jjm/internal/jjm"
)

// VerbDataset is the verb "dataset": it adds files to datasets, closes datasets, lists their files, marks files as
// missing, lost or broken, removes datasets, and shows datasets.
func VerbDataset() Verb[DatasetRequest, DatasetAnswer] {
	return Verb[DatasetRequest, DatasetAnswer]{About{Name: "dataset", MaxBytes: MaxRequest,
		Help: "Datasets: add files, close, list files, mark files as lost, remove, show."}}
}

// DatasetRequest requests one operation on datasets.
type DatasetRequest struct {
	Head
	Dataset *Dataset `json:"dataset,omitempty"`
}

// Check checks the form of Dataset.
func (r DatasetRequest) Check() error {
	if r.Dataset == nil {
		return jjm.Errorf(jjm.Invalid, "dataset: member dataset is missing: want {\"do\",\"name\"}")
	}
	return r.Dataset.check()
}

// DatasetAnswer is the answer of "dataset".
type DatasetAnswer struct {
	Reply
	Datasets *Datasets `json:"datasets,omitempty"`
}

// Check requires the member datasets.
func (a DatasetAnswer) Check() error { return present("datasets", a.Datasets != nil) }

// The values of Dataset.Do.
const (
	DatasetAdd    = "add"
	DatasetClose  = "close"
	DatasetShow   = "show"
	DatasetFiles  = "files"
	DatasetMark   = "mark"
	DatasetRemove = "remove"
)

// Dataset is one operation on the datasets of an account. Do is the operation; the other members are its arguments.
type Dataset struct {
	Do string `json:"do"` // add, close, show, files, mark or remove
	// Name is the name of the dataset. "show" without a name shows all datasets.
	Name string `json:"name,omitempty"`
	// Names are the datasets and containers that "remove" removes, at most MaxRemoved in one request.
	Names []string `json:"names,omitempty"`
	// UID is the account that owns the dataset: the caller's by default. Only an administrator may name another
	// account.
	UID *int `json:"uid,omitempty"`
	// Container is the container in which "add" creates the dataset if it does not exist.
	Container string `json:"container,omitempty"`
	// Files are the files that "add" adds, at most MaxFiles in one request.
	Files []jjm.File `json:"files,omitempty"`
	// LFNs are the files that "mark" marks, at most MaxFiles in one request. State is the mark: missing, lost or
	// broken; "ready" removes the marks. Reason is the reason for the mark. With DryRun, "mark" and "remove" change
	// nothing, and the answer contains their effects.
	LFNs   []string `json:"lfns,omitempty"`
	State  string   `json:"state,omitempty"`
	Reason string   `json:"reason,omitempty"`
	DryRun bool     `json:"dry_run,omitempty"`
	// From is the number of the first file that "files" lists, from 0: the Next of the previous answer.
	From int64 `json:"from,omitempty"`
	// All makes "files" also list files with marks, and say for each file its mark and who reads it.
	All bool `json:"all,omitempty"`
}

// MaxFiles is the greatest number of files, or of outputs, in one request.
const MaxFiles = 5000

// MaxRemoved is the greatest number of datasets to remove in one request.
const MaxRemoved = 1000

// Datasets is the result of an operation.
type Datasets struct {
	// Added is the number of files that were new. Changed is set if "close" closed an open dataset.
	Added   int  `json:"added"`
	Changed bool `json:"changed,omitempty"`
	// Marked has the effect on each file of "mark", in the order of the request.
	Marked []MarkedFile `json:"marked,omitempty"`
	// Removed has the outcome for each name of "remove", in the order of the request.
	Removed []RemovedDataset `json:"removed,omitempty"`
	// Shown are the datasets requested by "show". After "add" and "close", it is the dataset of the request.
	Shown []DatasetState `json:"shown"`
	// Files are the files that "files" lists: files of the dataset without marks, or all files with All, at most
	// MaxFiles, in the order in which they were added. Next is the value of From for the next request, 0 after the last
	// file.
	Files []DatasetFile `json:"files,omitempty"`
	Next  int64         `json:"next,omitempty"`
}

// DatasetFile is a file of a dataset, with its place if that is known.
type DatasetFile struct {
	jjm.File
	// Lies is the absolute path of the file if a local job of this site made it, otherwise "".
	Lies string `json:"lies,omitempty"`
	// State is the mark of the file: ready if it has none, else missing, lost or broken for the Reason. Readers are the
	// grid jobs that cut the dataset and have noticed the file. They are set if the request has All.
	State   string       `json:"state,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Readers []FileReader `json:"readers,omitempty"`
}

// FileReader is the state that a file has for a grid job: ready, picked, finished, failed, a mark, or dropped.
type FileReader struct {
	Grid  jjm.GridID `json:"grid"`
	State string     `json:"state"`
}

// MarkedFile is the effect of a mark on one file.
type MarkedFile struct {
	LFN string `json:"lfn"`
	// State is the new state of the file: its mark, or ready. Before is set if the file already had this state.
	State  string `json:"state"`
	Before bool   `json:"before,omitempty"`
	// Locals are the unfinished local jobs that own a part of the file and were already submitted. These local jobs
	// continue. Back are the local jobs that were not submitted yet. They return their part of the file to the dataset.
	Locals []string `json:"locals,omitempty"`
	Back   []string `json:"back,omitempty"`
	// Again are the grid jobs that can cut the file again after the removal of its mark. Without are the grid jobs that
	// continue without the file, or without a part of the file.
	Again   []jjm.GridID `json:"again,omitempty"`
	Without []jjm.GridID `json:"without,omitempty"`
}

// RemovedDataset is the outcome of a removal for one name.
type RemovedDataset struct {
	Name string `json:"name"`
	// Files is the number of files that the dataset had.
	Files int64 `json:"files"`
	// Container is set if the name is the name of a container. Datasets is the number of datasets in the container;
	// these datasets are not removed.
	Container bool `json:"container,omitempty"`
	Datasets  int  `json:"datasets,omitempty"`
	// Error is the reason why the dataset is not removed; nil if it is removed.
	Error *Error `json:"error,omitempty"`
}

// DatasetState is a dataset, and the grid jobs that read it.
type DatasetState struct {
	Name string `json:"name"`
	// Container is the container of the dataset, "" if the dataset is in no container. A container that a grid job fills
	// is itself shown as a dataset without files; Container is then its own name.
	Container string          `json:"container,omitempty"`
	UID       int             `json:"uid"`
	Created   jjm.Time        `json:"created"`
	Closed    jjm.Time        `json:"closed,omitempty"` // time of the close; 0 means open
	Files     int64           `json:"files"`
	Events    int64           `json:"events"`
	Bytes     int64           `json:"bytes"`
	Readers   []DatasetReader `json:"readers,omitempty"`
	// Origins are the datasets whose files a container holds.
	Origins []DatasetOrigin `json:"origins,omitempty"`
}

// DatasetOrigin is a dataset, with the number of its files that another dataset contains.
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

// Input is a dataset that a grid job reads, with counts that show how much of the dataset is processed.
type Input struct {
	Dataset string          `json:"dataset,omitempty"`
	Master  bool            `json:"master"`
	Open    bool            `json:"open,omitempty"`
	Counts  jjm.InputCounts `json:"counts"`
}

// check returns the first mistake that can be found without the store.
func (d *Dataset) check() error {
	switch {
	case !slices.Contains([]string{DatasetAdd, DatasetClose, DatasetShow, DatasetFiles, DatasetMark, DatasetRemove},
		d.Do):
		return jjm.Errorf(jjm.Invalid, "dataset.do %.40q: want add, close, files, mark, remove or show", d.Do)
	case d.From != 0 && d.Do != DatasetFiles || d.From < 0:
		return jjm.Errorf(jjm.Invalid, "dataset.from: want a number from 0, with files only")
	case d.All && d.Do != DatasetFiles:
		return jjm.Errorf(jjm.Invalid, "dataset.all: only files takes it")
	case d.Do != DatasetAdd && len(d.Files) > 0:
		return jjm.Errorf(jjm.Invalid, "dataset.files: only add takes files")
	case d.Do != DatasetAdd && d.Container != "":
		return jjm.Errorf(jjm.Invalid, "dataset.container: only add takes it")
	case d.Container != "" && jjm.CheckDatasetName(d.Container) != "":
		return jjm.Errorf(jjm.Invalid, "dataset.container: %s", jjm.CheckDatasetName(d.Container))
	case len(d.Files) > MaxFiles:
		return jjm.Errorf(jjm.Invalid, "dataset.files: %d of them: at most %d in one request", len(d.Files), MaxFiles)
	}
	if err := d.checkNames(); err != nil {
		return err
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

// checkNames checks the names of the datasets.
func (d *Dataset) checkNames() error {
	switch {
	case d.Do == DatasetRemove && d.Name != "":
		return jjm.Errorf(jjm.Invalid, "dataset.name: remove takes names instead, a list")
	case d.Do == DatasetRemove && (len(d.Names) == 0 || len(d.Names) > MaxRemoved):
		return jjm.Errorf(jjm.Invalid, "dataset.names: %d of them: want 1 to %d in one request", len(d.Names), MaxRemoved)
	case d.Do != DatasetRemove && len(d.Names) > 0:
		return jjm.Errorf(jjm.Invalid, "dataset.names: only remove takes them")
	case d.Do == DatasetShow && d.Name == "":
		return nil
	}
	for i, name := range d.Names {
		if wrong := jjm.CheckDatasetName(name); wrong != "" {
			return jjm.Errorf(jjm.Invalid, "dataset.names[%d]: %s", i, wrong)
		}
	}
	if d.Do == DatasetRemove {
		return nil
	}
	if wrong := jjm.CheckDatasetName(d.Name); wrong != "" {
		return jjm.Errorf(jjm.Invalid, "dataset.name: %s", wrong)
	}
	return nil
}

// checkMark checks the members that only "mark" takes.
func (d *Dataset) checkMark() error {
	if d.Do != DatasetMark {
		if len(d.LFNs) > 0 || d.State != "" || d.Reason != "" {
			return jjm.Errorf(jjm.Invalid, "dataset: lfns, state and reason are for mark only")
		}
		if d.DryRun && d.Do != DatasetRemove {
			return jjm.Errorf(jjm.Invalid, "dataset.dry_run: only mark and remove take it")
		}
		return nil
	}
	switch {
	case !slices.Contains([]string{"missing", "lost", "broken", "ready"}, d.State):
		return jjm.Errorf(jjm.Invalid, "dataset.state %.40q: want missing, lost or broken, or ready to remove a mark",
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
