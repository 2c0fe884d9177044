package cover

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"jjm"
)

// Recovery gathers what is missing, to make the job file that does exactly that.
type Recovery struct {
	spec  jjm.Spec
	id    jjm.GridID
	made  int
	base  string
	unit  string
	spans []jjm.Span
	files []lostFile
	// pieces are ranges of events of files, for the splitter of that name.
	pieces []any
}

// lostFile is what is missing of a file.
type lostFile struct {
	lfn   string
	whole bool
	lumis []jjm.LumiRange
}

// The limits of a job file (package jobfile): ranges of "only", and files that
// stand in it; more go into a list of their own.
const (
	maxOnly   = 10_000
	maxInline = 2_000
)

// NewRecovery begins a recovery of a grid job that is over: its specification,
// unit, how many local jobs it made, and the folder in which its relative paths
// start.
func NewRecovery(spec jjm.Spec, unit string, id jjm.GridID, made int, base string) *Recovery {
	return &Recovery{spec: spec, id: id, made: made, base: base, unit: unit}
}

// Add takes a finding; those of other kinds than missing change nothing. It is
// what Verify may be given for each.
func (r *Recovery) Add(f Finding) error {
	if f.Kind != Missing {
		return nil
	}
	switch r.unit {
	case jjm.UnitEvent, jjm.UnitRow:
		if n := len(r.spans); n > 0 && r.spans[n-1].Last()+1 == f.First {
			r.spans[n-1].Count += f.Units()
		} else {
			r.spans = append(r.spans, jjm.Span{First: f.First, Count: f.Units()})
		}
		return nil
	}
	n := len(r.files)
	if n == 0 || r.files[n-1].lfn != f.LFN {
		r.files, n = append(r.files, lostFile{lfn: f.LFN, whole: true}), n+1
	}
	file := &r.files[n-1]
	switch r.unit {
	case jjm.UnitLumi:
		file.whole = false
		file.lumis = append(file.lumis, jjm.LumiRange{Run: f.Run, First: uint32(f.First), Last: uint32(f.Last)})
	case jjm.UnitRange:
		count := f.Units()
		if f.Last == Unbounded {
			count = jjm.ToTheEnd
		}
		r.pieces = append(r.pieces, map[string]any{"lfn": f.LFN, "first": f.First, "count": count})
	}
	return nil
}

// Empty says that nothing is missing.
func (r *Recovery) Empty() bool { return len(r.spans) == 0 && len(r.files) == 0 }

// JobFile gives the job file, as JSON, and the list of files that belongs beside
// it under the name list, nil if there is none. file gives what is known of a
// file.
//
// The job file has a request key of its own, made of the grid job's number: a
// recovery that is submitted twice is one grid job. Its serial numbers go on where
// those of the grid job ended, so that no seed comes twice. Paths are absolute.
func (r *Recovery) JobFile(list string, file func(lfn string) (jjm.File, error)) (job, files []byte, err error) {
	spec := r.spec
	spec.Key, spec.KeyReuse = fmt.Sprintf("recovery-of-%d", r.id), false
	spec.FirstSerial = max(spec.FirstSerial, 1) + int64(r.made)
	r.absolute(&spec)
	if n := max(len(r.spans), len(r.pieces)); n > maxOnly {
		return nil, nil, jjm.Errorf(jjm.Conflict, "%d ranges are missing: a job file holds %d: submit the grid job anew", n, maxOnly)
	}
	if r.unit == jjm.UnitEvent || r.unit == jjm.UnitRow {
		spec.Only = r.spans
	} else if files, err = r.datasets(&spec, list, file); err != nil {
		return nil, nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(&spec); err != nil {
		return nil, nil, fmt.Errorf("recovery of grid job %s: %w", r.id, err)
	}
	return b.Bytes(), files, nil
}

// absolute makes the paths of a specification independent of where its job file
// lies. They are not cleaned: ".." behind a link is the link's target's.
func (r *Recovery) absolute(spec *jjm.Spec) {
	from := func(path string) string {
		if path == "" || filepath.IsAbs(path) || r.base == "" {
			return path
		}
		return r.base + "/" + path
	}
	spec.Inputs = slices.Clone(spec.Inputs)
	for i := range spec.Inputs {
		spec.Inputs[i].Path = from(spec.Inputs[i].Path)
	}
	if rows, ok := spec.Params["args_file"].(string); ok {
		params := make(map[string]any, len(spec.Params))
		for key, value := range spec.Params {
			params[key] = value
		}
		params["args_file"] = from(rows)
		spec.Params = params
	}
}

// datasets puts a dataset with the missing files in the place of the master, and
// reads the secondary ones by name: they are there.
func (r *Recovery) datasets(spec *jjm.Spec, list string, file func(lfn string) (jjm.File, error)) (lines []byte, err error) {
	master := jjm.DatasetInput{}
	for i := range r.files {
		f, err := file(r.files[i].lfn)
		if err != nil {
			return nil, err
		}
		f.LFN, f.Added = r.files[i].lfn, 0
		if !r.files[i].whole {
			f.Lumis = r.files[i].lumis
		}
		master.Files = append(master.Files, f)
	}
	if r.unit == jjm.UnitRange {
		spec.Split = &jjm.Splitting{By: "Pieces", Params: map[string]any{"pieces": r.pieces}}
	}
	datasets := slices.Clone(spec.Datasets)
	for i, d := range datasets {
		if d.Secondary {
			datasets[i] = jjm.DatasetInput{Name: d.Name, Secondary: true, Attributes: d.Attributes}
			continue
		}
		master.Name = d.Name + fmt.Sprintf("#recovery-of-%d", r.id)
		datasets[i] = master
	}
	if spec.Datasets = datasets; len(master.Files) <= maxInline {
		return nil, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i := range master.Files {
		if err := enc.Encode(&master.Files[i]); err != nil {
			return nil, fmt.Errorf("recovery of grid job %s: %w", r.id, err)
		}
	}
	for i := range datasets {
		if !datasets[i].Secondary {
			datasets[i].Files, datasets[i].From = nil, strings.TrimPrefix(list, "./")
		}
	}
	return b.Bytes(), nil
}
