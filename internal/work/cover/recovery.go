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

	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
)

// Recovery collects missing work and writes a job file for exactly that work. It is unknown which units a short local
// job left out, so the recovery processes its whole part again, and the outputs of the short local job must not be
// used.
type Recovery struct {
	// Generation is the generation at whose end work was missing, 0 for the first generation.
	Generation int

	spec   jjm.Spec
	id     jjm.GridID
	made   int
	nth    int    // the number of the recovery; 1 for the first of the grid job
	label  string // used in names of datasets instead of the recovery's name
	base   string // the folder of the specification's relative paths
	unit   string
	redone map[int32]bool // the short local jobs
	spans  []jjm.Span
	files  []lostFile
	// pieces are ranges of events of files, the input of the splitter Pieces.
	pieces []piece
}

// piece is a range of events of a file. first is counted from 0 within the file.
type piece struct {
	lfn          string
	first, count int64
}

// lostFile is a file with missing work. If whole is set, the recovery names the whole file (in a step of ranges,
// Recovery.pieces has the missing ranges). Otherwise lumis are the missing sections.
type lostFile struct {
	lfn   string
	whole bool
	lumis []jjm.LumiRange
}

// The maximum lengths of lists in the job file itself, well below the limits of package jobfile. Longer lists are
// written to separate files.
const (
	maxOnly   = 2_000
	maxInline = 2_000
)

// NewRecovery returns an empty recovery of an ended grid job with a specification, unit and id. made is the number of
// local jobs of the grid job and its earlier recoveries. The argument before is the number of earlier recoveries. base
// is the folder of the specification's relative paths.
func NewRecovery(spec jjm.Spec, unit string, id jjm.GridID, made, before int, base string) *Recovery {
	return &Recovery{spec: spec, id: id, made: made, nth: before + 1, base: base, unit: unit, redone: map[int32]bool{}}
}

// Written are the files of a recovery.
type Written struct {
	// Job is the job file, as JSON.
	Job []byte
	// Files and Ranges are lists that must be stored beside the job file; nil if the job file needs no list.
	Files, Ranges []byte
	// Redone are the short local jobs whose parts are processed again, ascending.
	Redone []int32
}

// Add adds a finding. It ignores all kinds except missing and short. Findings must be added in the order in which
// Verify passes them to its callback.
func (r *Recovery) Add(f Finding) error {
	if f.Kind != Missing && f.Kind != Short {
		return nil
	}
	if f.Kind == Short {
		r.redone[f.Locals[0]] = true
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

// Empty reports whether no missing or short work was added.
func (r *Recovery) Empty() bool { return len(r.spans) == 0 && len(r.files) == 0 }

// name returns the name of the recovery, unique among the recoveries of the grid job.
func (r *Recovery) name() string {
	if r.label != "" {
		return r.label
	}
	if r.nth > 1 {
		return fmt.Sprintf("recovery-of-%d-%d", r.id, r.nth)
	}
	return fmt.Sprintf("recovery-of-%d", r.id)
}

// JobFile returns the job file and its lists. The job file refers to the lists by the names files and ranges. file
// returns the description of a file; JobFile returns an error of file.
//
// The request key contains the grid job's number, so a recovery that is submitted twice is one grid job. Serial numbers
// continue after the serial numbers of the grid job, so no random seed is used twice. All paths except the names of the
// lists are absolute.
func (r *Recovery) JobFile(files, ranges string, file func(lfn string) (jjm.File, error)) (w Written, err error) {
	spec := r.spec
	spec.Key, spec.KeyReuse = r.name(), false
	spec.Recovers, spec.RecoversGeneration, spec.RecoversNumber = r.id, r.Generation, r.nth
	spec.FirstSerial = max(spec.FirstSerial, 1) + int64(r.made)
	spec.Only, spec.OnlyFrom, spec.After, spec.AfterEnd, spec.Model = nil, "", nil, "", ""
	if spec.OutputDataset != "" { // the grid job's dataset is closed, and a new dataset needs a new name
		spec.OutputDataset = r.named(spec.OutputDataset)
	}
	r.absolute(&spec)
	w.Redone = slices.Sorted(maps.Keys(r.redone))
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

// alongOnly returns the datasets of a recovery. A secondary dataset keeps only its name and attributes, because the
// dataset is already in the store. The caller replaces the files of the master dataset.
func alongOnly(all []jjm.DatasetInput) []jjm.DatasetInput {
	out := slices.Clone(all)
	for i, d := range out {
		if d.Secondary {
			out[i] = jjm.DatasetInput{Name: d.Name, Secondary: true, Attributes: d.Attributes, Stream: d.Stream}
		}
	}
	return out
}

// ranges returns the list of missing ranges, one range per line, in the format that package handlers reads.
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

// named returns the name of a dataset in the recovery.
func (r *Recovery) named(dataset string) string { return dataset + "#" + r.name() }

// absolute makes the paths of a specification absolute. It does not clean them: ".." after a
// symbolic link means the parent of the link's target.
func (r *Recovery) absolute(spec *jjm.Spec) {
	from := func(path string) string {
		if path == "" || filepath.IsAbs(path) || weburl.Is(path) || r.base == "" {
			return path
		}
		return r.base + "/" + path
	}
	spec.Inputs = slices.Clone(spec.Inputs)
	for i := range spec.Inputs {
		spec.Inputs[i].Path = from(spec.Inputs[i].Path)
		spec.Inputs[i].CredentialFile = from(spec.Inputs[i].CredentialFile)
	}
	if spec.Callback != nil {
		callback := *spec.Callback
		callback.SecretFile = from(callback.SecretFile)
		spec.Callback = &callback
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

// splitting returns the settings of the splitter Pieces. They include the pieces, unless the pieces are written to a
// list.
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

// kept returns the settings of the original splitting that also apply to the recovery: where the parts may run, which
// other files they read, which resources they need, the sections of generated events, the pile-up events to skip, and
// whether the application reads LHE files.
func kept(before *jjm.Splitting) map[string]any {
	params := map[string]any{}
	if before == nil {
		return params
	}
	keys := []string{"siteWhitelist", "siteBlacklist", "trustSitelists", "include_parents", "production", "performance"}
	if before.By == "EventBased" || before.By == "Pieces" { // Pieces: the splitter of an earlier recovery
		keys = append(keys, "events_per_job", "events_per_lumi", "deterministicPileup", "lheInputFiles")
	}
	for _, key := range keys {
		if v, set := before.Params[key]; set {
			params[key] = v
		}
	}
	return params
}

// eventsOf returns the number of events of some sections of a file: the mean per section times the number of sections.
// It rounds in the same way as package split, so that the sections are cut and estimated as in the whole file.
func eventsOf(f *jjm.File, some []jjm.LumiRange) int64 {
	all := sections(f.Lumis)
	if all == 0 {
		return f.Events
	}
	return int64(math.RoundToEven(float64(f.Events)/float64(all))) * sections(some)
}

// sections returns the number of sections in ranges.
func sections(ranges []jjm.LumiRange) (n int64) {
	for _, l := range ranges {
		n += int64(l.Last) - int64(l.First) + 1
	}
	return n
}

// unchosen returns the splitting without the lists of good sections ("runs", "lumis"). A recovery does not need them,
// because it lists the missing sections itself.
func unchosen(before *jjm.Splitting) *jjm.Splitting {
	if before == nil || before.Params["runs"] == nil {
		return before
	}
	s := &jjm.Splitting{By: before.By, Params: maps.Clone(before.Params)}
	delete(s.Params, "runs")
	delete(s.Params, "lumis")
	return s
}

// datasets replaces the master dataset by a dataset with the missing files, and sets the splitting. If there are too
// many files for the job file, it returns the list of files.
func (r *Recovery) datasets(spec *jjm.Spec, list string, file func(lfn string) (jjm.File, error)) (lines []byte,
	err error) {
	master := jjm.DatasetInput{}
	var held [][]jjm.LumiRange // all sections of each file, missing or not
	for i := range r.files {
		f, err := file(r.files[i].lfn)
		if err != nil {
			return nil, err
		}
		f.LFN, f.Added = r.files[i].lfn, 0
		if !r.files[i].whole {
			held = append(held, f.Lumis)
			f.Events, f.Lumis = eventsOf(&f, r.files[i].lumis), r.files[i].lumis
		}
		master.Files = append(master.Files, jjm.Listed{File: f})
	}
	switch r.unit {
	case jjm.UnitRange:
		spec.Split = r.splitting(spec.Split)
	case jjm.UnitLumi:
		spec.Split = unchosen(spec.Split)
		if shareSections(r.files, held) {
			spec.Split = byFile(spec.Split)
		}
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
