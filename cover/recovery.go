package cover

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"jjm"
)

// Recovery gathers what is missing, to make the job file that does exactly that. Of
// local jobs that processed less than they own, nobody knows what they left out:
// their parts are done anew, and what they made is not to be used.
type Recovery struct {
	spec  jjm.Spec
	id    jjm.GridID
	made  int
	nth   int
	base  string
	unit  string
	anew  map[int32]bool
	spans []jjm.Span
	files []lostFile
	// pieces are ranges of events of files, for the splitter of that name.
	pieces []piece
}

// piece is a range of events of a file, from 0 within it.
type piece struct {
	lfn          string
	first, count int64
}

// lostFile is what is missing of a file.
type lostFile struct {
	lfn   string
	whole bool
	lumis []jjm.LumiRange
}

// The limits of what stands in the job file itself, well below those of package
// jobfile; more goes into lists of their own.
const (
	maxOnly   = 2_000
	maxInline = 2_000
)

// NewRecovery begins a recovery of a grid job that is over: its specification,
// unit, how many local jobs it and the recoveries made that it has already, how
// many those are, and the folder in which its relative paths start.
func NewRecovery(spec jjm.Spec, unit string, id jjm.GridID, made, before int, base string) *Recovery {
	return &Recovery{spec: spec, id: id, made: made, nth: before + 1, base: base, unit: unit, anew: map[int32]bool{}}
}

// Written are the texts of a recovery.
type Written struct {
	// Job is the job file, as JSON.
	Job []byte
	// Files is the list of files that belongs beside it, and Ranges that of ranges;
	// nil if there is none.
	Files, Ranges []byte
	// Anew are the local jobs whose parts are done anew, ascending.
	Anew []int32
}

// Add takes a finding; those of other kinds than missing and short change nothing.
// It is what Verify may be given for each.
func (r *Recovery) Add(f Finding) error {
	if f.Kind != Missing && f.Kind != Short {
		return nil
	}
	if f.Kind == Short {
		r.anew[f.Locals[0]] = true
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
		r.pieces = append(r.pieces, piece{f.LFN, f.First, count})
	}
	return nil
}

// Empty says that nothing is missing.
func (r *Recovery) Empty() bool { return len(r.spans) == 0 && len(r.files) == 0 }

// name is that of the recovery: others of the same grid job have others.
func (r *Recovery) name() string {
	if r.nth > 1 {
		return fmt.Sprintf("recovery-of-%d-%d", r.id, r.nth)
	}
	return fmt.Sprintf("recovery-of-%d", r.id)
}

// JobFile returns the job file, and the lists that belong beside it under the names
// files and ranges. file gives what is known of a file.
//
// The job file has a request key of its own, made of the grid job's number: a
// recovery that is submitted twice is one grid job. Its serial numbers go on where
// those of the grid job ended, so that no seed comes twice. Paths are absolute, but
// for the lists.
func (r *Recovery) JobFile(files, ranges string, file func(lfn string) (jjm.File, error)) (w Written, err error) {
	spec := r.spec
	spec.Key, spec.KeyReuse, spec.Recovers = r.name(), false, r.id
	spec.FirstSerial = max(spec.FirstSerial, 1) + int64(r.made)
	spec.Only, spec.OnlyFrom = nil, ""
	if spec.OutputDataset != "" { // that of the grid job is closed, and names are unique
		spec.OutputDataset = r.named(spec.OutputDataset)
	}
	r.absolute(&spec)
	w.Anew = slices.Sorted(maps.Keys(r.anew))
	if r.unit == jjm.UnitEvent || r.unit == jjm.UnitRow {
		spec.Only, spec.Datasets = r.spans, alongOnly(spec.Datasets)
	} else if w.Files, err = r.datasets(&spec, files, file); err != nil {
		return w, err
	}
	if max(len(r.spans), len(r.pieces)) > maxOnly {
		spec.Only, spec.OnlyFrom = nil, strings.TrimPrefix(ranges, "./")
		w.Ranges = r.ranges()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(&spec); err != nil {
		return w, fmt.Errorf("recovery of grid job %s: %w", r.id, err)
	}
	w.Job = b.Bytes()
	return w, nil
}

// alongOnly are the secondary datasets by name: they are there. The files of the others
// are replaced by what is missing.
func alongOnly(all []jjm.DatasetInput) []jjm.DatasetInput {
	out := slices.Clone(all)
	for i, d := range out {
		if d.Secondary {
			out[i] = jjm.DatasetInput{Name: d.Name, Secondary: true, Attributes: d.Attributes, Stream: d.Stream}
		}
	}
	return out
}

// ranges lists what is missing, a range a line, as package handlers reads it.
func (r *Recovery) ranges() []byte {
	var b bytes.Buffer
	for _, s := range r.spans {
		fmt.Fprintln(&b, s.First, s.Count)
	}
	for _, p := range r.pieces {
		fmt.Fprintln(&b, p.first, p.count, p.lfn)
	}
	return b.Bytes()
}

// named returns a dataset of the recovery its name.
func (r *Recovery) named(dataset string) string { return dataset + "#" + r.name() }

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

// splitting names the pieces to make, unless they stand in a list of their own.
func (r *Recovery) splitting(before *jjm.Splitting) *jjm.Splitting {
	s := &jjm.Splitting{By: "Pieces", Params: kept(before)}
	if len(r.pieces) > maxOnly {
		return s
	}
	pieces := make([]any, len(r.pieces))
	for i, p := range r.pieces {
		pieces[i] = map[string]any{"lfn": p.lfn, "first": p.first, "count": p.count}
	}
	s.Params["pieces"] = pieces
	return s
}

// kept are of the settings that cut the work before those that say where the parts
// may run, what is read along, what they need, and in which sections events are made.
func kept(before *jjm.Splitting) map[string]any {
	params := map[string]any{}
	if before == nil {
		return params
	}
	keys := []string{"siteWhitelist", "siteBlacklist", "trustSitelists", "include_parents", "production", "performance"}
	if before.By == "EventBased" {
		keys = append(keys, "events_per_job", "events_per_lumi")
	}
	for _, key := range keys {
		if v, set := before.Params[key]; set {
			params[key] = v
		}
	}
	return params
}

// share is how many events some sections of a file have: each the mean of all, rounded as
// package split does, so that they are cut, and estimated, as those of the whole file were.
func share(f *jjm.File, some []jjm.LumiRange) int64 {
	all := sections(f.Lumis)
	if all == 0 {
		return f.Events
	}
	return int64(math.RoundToEven(float64(f.Events)/float64(all))) * sections(some)
}

// sections counts them.
func sections(ranges []jjm.LumiRange) (n int64) {
	for _, l := range ranges {
		n += int64(l.Last) - int64(l.First) + 1
	}
	return n
}

// unchosen is how to cut sections without the lists of good ones: what is missing is named.
func unchosen(before *jjm.Splitting) *jjm.Splitting {
	if before == nil || before.Params["runs"] == nil {
		return before
	}
	s := &jjm.Splitting{By: before.By, Params: maps.Clone(before.Params)}
	delete(s.Params, "runs")
	delete(s.Params, "lumis")
	return s
}

// datasets puts a dataset with the missing files in the place of the master, and
// reads the secondary ones by name: they are there.
func (r *Recovery) datasets(spec *jjm.Spec, list string, file func(lfn string) (jjm.File, error)) (lines []byte,
	err error) {
	master := jjm.DatasetInput{}
	for i := range r.files {
		f, err := file(r.files[i].lfn)
		if err != nil {
			return nil, err
		}
		f.LFN, f.Added = r.files[i].lfn, 0
		if !r.files[i].whole {
			f.Events, f.Lumis = share(&f, r.files[i].lumis), r.files[i].lumis
		}
		master.Files = append(master.Files, jjm.Listed{File: f})
	}
	switch r.unit {
	case jjm.UnitRange:
		spec.Split = r.splitting(spec.Split)
	case jjm.UnitLumi:
		spec.Split = unchosen(spec.Split)
	}
	datasets := alongOnly(spec.Datasets)
	for i, d := range datasets {
		if d.Secondary {
			continue
		}
		master.Name, master.Stream = r.named(d.Name), d.Stream
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
