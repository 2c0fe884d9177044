package wire

import (
	"fmt"
	"slices"

	"jjm"
)

// What a request does with datasets.
const (
	DatasetAdd   = "add"
	DatasetClose = "close"
	DatasetShow  = "show"
)

// Dataset is a wish about the datasets of an account.
type Dataset struct {
	Do string `json:"do"` // add, close, show
	// Name is the dataset's; show without one means all.
	Name string `json:"name,omitempty"`
	// UID is whose it is, the caller's own unless an administrator says another.
	UID *int `json:"uid,omitempty"`
	// Files are those to add, at most MaxFiles in one request.
	Files []jjm.File `json:"files,omitempty"`
}

// MaxFiles is the most files of one request to add some.
const MaxFiles = 5000

// Datasets answers dataset.
type Datasets struct {
	// Added is how many of the files were new, Changed whether a close was news.
	Added   int  `json:"added"`
	Changed bool `json:"changed,omitempty"`
	// Shown are those asked for; after add and close the one it was about.
	Shown []DatasetState `json:"shown"`
}

// DatasetState is a dataset, and who reads it.
type DatasetState struct {
	Name    string          `json:"name"`
	UID     int             `json:"uid"`
	Created jjm.Time        `json:"created"`
	Closed  jjm.Time        `json:"closed,omitempty"` // since when; 0 = open
	Files   int64           `json:"files"`
	Events  int64           `json:"events"`
	Bytes   int64           `json:"bytes"`
	Readers []DatasetReader `json:"readers,omitempty"`
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
	case d == nil:
		return jjm.Errorf(jjm.Invalid, "dataset: member dataset is missing: want {\"do\",\"name\"}")
	case !slices.Contains([]string{DatasetAdd, DatasetClose, DatasetShow}, d.Do):
		return jjm.Errorf(jjm.Invalid, "dataset.do %.40q: want add, close or show", d.Do)
	case d.Do != DatasetAdd && len(d.Files) > 0:
		return jjm.Errorf(jjm.Invalid, "dataset.files: only add takes files")
	case len(d.Files) > MaxFiles:
		return jjm.Errorf(jjm.Invalid, "dataset.files: %d of them: at most %d in one request", len(d.Files), MaxFiles)
	}
	if d.Do != DatasetShow || d.Name != "" {
		if wrong := jjm.CheckDatasetName(d.Name); wrong != "" {
			return jjm.Errorf(jjm.Invalid, "dataset.name: %s", wrong)
		}
	}
	for i := range d.Files {
		if ps := d.Files[i].Problems(); len(ps) > 0 {
			return fmt.Errorf("dataset.files[%d]: %w", i, ps.Err())
		}
	}
	return nil
}
