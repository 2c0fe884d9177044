package cover

import (
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// Excerpt returns the specification of a grid job that does only the work of one local job (Ganga, copy of a subjob).
// spec and base are the specification of the local job's grid job, and the folder of its relative paths. The units are
// the local job's rows of the ledger; lfns names the files of these rows by number. file returns the description of a
// file.
//
// The local job of the new grid job has the same serial number, and so the same seed and output names. Its outputs are
// not merged. The error is of kind Conflict if the part is too long for a job file.
func Excerpt(spec jjm.Spec, unit, base string, l *jjm.LocalJob, units []Row, lfns map[int64]string,
	file func(lfn string) (jjm.File, error)) (jjm.Spec, error) {
	r := &Recovery{spec: spec, id: l.ID.Grid, base: base, unit: unit, label: "copy-of-" + l.ID.String()}
	for _, u := range units {
		err := r.Add(Finding{Kind: Missing, File: u.File, LFN: lfns[u.File], Run: u.Run, First: u.First, Last: u.Last})
		if err != nil {
			return jjm.Spec{}, err
		}
	}
	if max(len(r.spans), len(r.pieces), len(r.files)) > maxInline {
		return jjm.Spec{}, jjm.Errorf(jjm.Conflict, "local job %s has %s, and the job file of a copy holds at most %d: "+
			"copy grid job %s, and say with --set what it processes", l.ID, strings.TrimSpace(l.Part.Work()), maxInline,
			l.ID.Grid)
	}
	spec.Recovers, spec.RecoversGeneration, spec.RecoversNumber, spec.FirstSerial = 0, 0, 0, l.Part.Serial
	spec.Only, spec.OnlyFrom, spec.After, spec.AfterEnd, spec.Merge = nil, "", nil, "", nil
	if spec.OutputDataset != "" {
		spec.OutputDataset = r.named(spec.OutputDataset)
	}
	r.absolute(&spec)
	if unit == jjm.UnitEvent || unit == jjm.UnitRow {
		spec.Only, spec.Datasets = r.spans, alongOnly(spec.Datasets)
		return spec, nil
	}
	_, err := r.datasets(&spec, "", file)
	return spec, err
}

// FilesOf returns the numbers of the files of some rows of the ledger, ascending.
func FilesOf(units []Row) []int64 {
	files := make([]int64, 0, len(units))
	for _, u := range units {
		files = append(files, u.File)
	}
	slices.Sort(files)
	return slices.Compact(files)
}
