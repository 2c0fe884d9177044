package split

import (
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/work/split/jedi"
)

// JEDIMerge is JEDI's way to merge outputs: files are added to a part in their order until the next file would exceed a
// bound. The bound in bytes applies to the expected output. A part that has room left is made only if no more files can
// come.
const JEDIMerge = "JEDIMerge"

// MaxJEDIMergeFiles is the maximum number of files of a part of JEDIMerge. It is the limit of package jedi for all
// files of a job.
const MaxJEDIMergeFiles = 1000

func jediMergeMethod() *method {
	m := &method{name: JEDIMerge, unit: jjm.UnitFile}
	m.defaults = func(p *Params) {
		l := jedi.MergeDefaults()
		p.MaxMergeFiles, p.MaxMergeSize = l.Files, l.Bytes
	}
	m.bound = func(w *Work, _ *Params) int64 { return int64(len(w.Files)) }
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		switch {
		case p.FilesPerJob < 0 || p.FilesPerJob > MaxJEDIMergeFiles:
			return nil, m.invalid("files_per_job is %d: want 1 to %d, or 0 for no fixed number", p.FilesPerJob,
				MaxJEDIMergeFiles)
		case p.MaxMergeFiles < 1 || p.MaxMergeFiles > MaxJEDIMergeFiles:
			return nil, m.invalid("max_merge_files is %d: want 1 to %d", p.MaxMergeFiles, MaxJEDIMergeFiles)
		case p.MaxMergeSize < 1:
			return nil, m.invalid("max_merge_size is %d: want at least 1", p.MaxMergeSize)
		case p.MaxMergeEvents < 0:
			return nil, m.invalid("max_merge_events is %d: want at least 1, or 0 for no bound", p.MaxMergeEvents)
		}
		k := &jediMerge{work: w, limits: jedi.MergeLimits{FilesPerJob: p.FilesPerJob, Files: p.MaxMergeFiles,
			Bytes: p.MaxMergeSize, Events: p.MaxMergeEvents}}
		for _, group := range k.groups(p) {
			k.pack(c, group.place, group.files)
		}
		return &k.merges, nil
	}
	return m
}

type jediMerge struct {
	merges
	work   *Work
	limits jedi.MergeLimits
}

// mergeGroup is a group of files that may be merged together.
type mergeGroup struct {
	place *place
	files []int32
}

// groups returns the files of each place and boundary, in their order.
func (k *jediMerge) groups(p *Params) (out []mergeGroup) {
	type key struct{ at, boundary string }
	files := k.work.Files
	at := func(i int32) string { return string(placeKey(nil, files[i].Locations, p.TrustSitelists)) }
	groups := inOrder(len(files), func(i int32) (key, bool) { return key{at(i), files[i].Group}, true })
	known := map[string]*place{}
	for _, g := range byPlace(groups, at) {
		name := at(g[0])
		if known[name] == nil {
			known[name] = newPlace(name, files[g[0]].Locations, k.work, p)
		}
		out = append(out, mergeGroup{known[name], g})
	}
	return out
}

// pack makes the parts of a group. The last part waits for more files if it has room for more.
func (k *jediMerge) pack(c *Cutting, pl *place, files []int32) {
	chunk := jedi.Chunk{Master: &jedi.Dataset{Records: make([]jedi.Record, len(files))}}
	for n, i := range files {
		chunk.Master.Records[n] = mergeRecord(i, &k.work.Files[i])
	}
	rules, closed := k.limits.Rules(), k.complete(files)
	for {
		job, ok := chunk.Next(&rules)
		if !ok {
			return
		}
		if !chunk.Master.Unused() && !closed && !k.limits.Full(job.Master) {
			k.waits += len(job.Master)
			return
		}
		merged := make([]int32, len(job.Master))
		for n := range job.Master {
			merged[n] = int32(job.Master[n].ID)
		}
		in := k.emit(c, k.work, pl, merged)
		in.Estimate.DiskKB = jedi.MergeDisk(job.Master) / 1024
	}
}

// complete reports whether no more files come that may be merged with the files of a group.
func (k *jediMerge) complete(files []int32) bool {
	return k.work.Closed ||
		k.work.Complete != nil && !slices.ContainsFunc(files, func(i int32) bool { return !k.work.Complete[i] })
}

// mergeRecord returns the record of a file to merge. JEDI counts only the events of ranges, so a file with a known
// number of events becomes the range of all its events.
func mergeRecord(i int32, f *jjm.File) jedi.Record {
	r := jedi.File(int64(i), f.LFN, f.Size)
	if f.Events > 0 {
		r.Events, r.Start, r.End = f.Events, 0, f.Events-1
	}
	return r
}
