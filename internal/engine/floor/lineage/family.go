package lineage

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/catalogue"
	"jjm/internal/work/split"
	"jjm/sandbox"
)

// Family selects the local jobs that the splitter WMBSMergeBySize takes into account: local jobs of the grid job Maker,
// which made the files to be merged. The files that these local jobs read are the parents of the files to be merged.
type Family struct {
	Maker jjm.GridID
	// Success reports whether a local job counts as successful: Completed or MergeReady.
	Success func(store.Producer) bool
}

// Tell adds to work the facts that WMBSMergeBySize needs. It sets work.Parents: for each parent of a file, the local
// jobs of fam.Maker that read the parent, and whether each of these local jobs was successful. For files without
// luminosity sections, it sets the sections to the lowest section of their parents, or to the default of
// handlers.Mergeable if no parent has sections. For files without locations, it sets the default location. numbers are
// the numbers of the files in their dataset.
func (ln *Lineage) Tell(ctx context.Context, fam Family, work *split.Work, numbers []int64) error {
	var parents []string
	seen := map[string]bool{}
	for i := range work.Files {
		for _, p := range work.Files[i].Parents {
			if !seen[p] {
				seen[p] = true
				parents = append(parents, p)
			}
		}
	}
	read, err := ln.b.Store.Producers(ctx, fam.Maker, parents)
	if err != nil {
		return err
	}
	work.Parents = make(map[string]split.Parent, len(read))
	for lfn, p := range read {
		parent := split.Parent{ID: p.Number}
		for _, j := range p.Producers {
			parent.Producers = append(parent.Producers, split.Producer{Group: j.Group, Success: fam.Success(j)})
		}
		work.Parents[lfn] = parent
	}
	for i := range work.Files {
		f := &work.Files[i]
		placed := handlers.Mergeable(*f, numbers[i])
		if len(f.Locations) == 0 {
			f.Locations = placed.Locations
		}
		if len(f.Lumis) == 0 {
			f.Lumis = lowestOf(f, read)
		}
		if len(f.Lumis) == 0 {
			f.Lumis = placed.Lumis
		}
	}
	return nil
}

// TellOf does the same as Tell for the master dataset of a grid job. If work.Closed is set, it also removes a file from
// work.Files if no parent of the file has a known reader, because such a file would wait forever. It returns the
// removed files as drops. left are the numbers of the files that remain in work.Files.
func (ln *Lineage) TellOf(ctx context.Context, job *jjm.GridJob, dataset string, work *split.Work,
	numbers []int64) (left []int64, drops []store.Drop, err error) {
	maker, err := ln.MakerOf(ctx, job.Owner.UID, dataset, nil)
	if err == nil {
		err = ln.Tell(ctx, Family{Maker: maker.ID, Success: Completed}, work, numbers)
	}
	if err != nil || !work.Closed {
		return numbers, nil, err
	}
	files, left := work.Files[:0], numbers[:0]
	for i, file := range work.Files {
		if slices.ContainsFunc(file.Parents, func(p string) bool { return len(work.Parents[p].Producers) > 0 }) {
			files, left = append(files, file), append(left, numbers[i])
			continue
		}
		drops = append(drops, store.Drop{File: numbers[i], State: jjm.FileFailed,
			Why: "no local job is known that made it of a file"})
	}
	work.Files = files
	return left, drops, nil
}

// lowestOf returns the lowest run and the lowest section number of the parents of a file as one range, even if the
// section is of another run; nil if the parents have no sections.
func lowestOf(f *jjm.File, read map[string]store.Produced) []jjm.LumiRange {
	var low *jjm.LumiRange
	for _, parent := range f.Parents {
		for _, r := range read[parent].Lumis {
			switch {
			case r.Count() == 0:
			case low == nil:
				low = &jjm.LumiRange{Run: r.Run, First: r.First, Last: r.First}
			default:
				low.Run, low.First = min(low.Run, r.Run), min(low.First, r.First)
				low.Last = low.First
			}
		}
	}
	if low == nil {
		return nil
	}
	return []jjm.LumiRange{*low}
}

// Completed reports whether a local job completed. It is the Success of a Family whose maker is not the grid job that
// merges.
func Completed(p store.Producer) bool { return p.State.IsCompleted() }

// MergeReady reports whether a local job completed, or only waits for its outputs to be merged. It is the Success of a
// Family whose maker itself merges.
func MergeReady(p store.Producer) bool {
	return p.State.IsCompleted() || p.State == jjm.Completing && p.Phase == jjm.Merging
}

// CheckFamily returns a problem if WMBSMergeBySize is to merge files that do not all come
// from one grid job that reads a dataset. It examines all datasets of the job file except secondary datasets.
func (ln *Lineage) CheckFamily(ctx context.Context, owner jjm.Owner, spec *jjm.Spec, site handlers.Site) jjm.Problems {
	refuse := func(why string) jjm.Problems {
		return jjm.Problems{{Field: "split.by",
			Text: split.WMBSMergeBySize + " merges files that one grid job of yours made from files: " + why + ": use " +
				split.ParentlessMergeBySize}}
	}
	for i := range spec.Datasets {
		d := &spec.Datasets[i]
		if d.Secondary {
			continue
		}
		names, err := ln.filesFrom(ctx, owner.UID, d)
		if err != nil {
			return refuse(err.Error())
		}
		first := jjm.GridID(0)
		for _, name := range names {
			maker, err := ln.MakerOf(ctx, owner.UID, name, firstFiles(d, site))
			switch {
			case err != nil:
				return refuse(err.Error())
			case maker.ID == 0:
				return refuse("no grid job has output_dataset = " + strconv.Quote(name))
			case len(maker.Spec.Datasets) == 0:
				return refuse("grid job " + maker.ID.String() +
					", which makes them, reads no dataset, so that they have no parents")
			case first != 0 && first != maker.ID:
				return refuse("several grid jobs made those of container " + d.Container)
			}
			first = maker.ID
		}
	}
	return nil
}

// filesFrom returns the names of the datasets of an input: its single dataset, or the members of its container.
func (ln *Lineage) filesFrom(ctx context.Context, uid int, d *jjm.DatasetInput) ([]string, error) {
	if d.Container == "" {
		return []string{d.Name}, nil
	}
	members, err := ln.b.Store.Members(ctx, uid, d.Container)
	var names []string
	for i := range members {
		if !members[i].Head() {
			names = append(names, members[i].Name)
		}
	}
	return names, err
}

// SomeFiles is the number of files of a dataset that are looked up to find the grid job that made the dataset.
const SomeFiles = 100

// firstFiles returns the first SomeFiles files that a job file lists for a dataset, nil if the list cannot be opened.
func firstFiles(d *jjm.DatasetInput, site handlers.Site) []jjm.File {
	if d.From == "" {
		named, _ := d.Named()
		return named[:min(SomeFiles, len(named))]
	}
	r, err := site.Open(d.From)
	if err != nil {
		return nil
	}
	defer r.Close()
	var files []jjm.File
	enough := errors.New("enough")
	_, _ = catalogue.Read(d.From, r, func(f jjm.File) error { // whoever reads the whole list reports mistakes
		if files = append(files, f); len(files) == SomeFiles {
			return enough
		}
		return nil
	})
	return files
}

// MakerOf returns the grid job of an account whose local jobs make the files of a dataset: the grid job that fills the
// dataset, or else the grid job that made the given files, found by their names. The id of the returned grid job is 0
// if there is no such grid job.
func (ln *Lineage) MakerOf(ctx context.Context, uid int, name string, files []jjm.File) (jjm.GridJob, error) {
	filler, known, err := ln.filler(ctx, uid, name, &files)
	if err != nil && jjm.KindOf(err) != jjm.Gone {
		return jjm.GridJob{}, err
	}
	if known {
		return ln.b.Store.Grid(ctx, filler)
	}
	asked := map[jjm.GridID]bool{}
	for _, f := range files {
		id, ok := sandbox.OutputOf(f.LFN)
		if !ok || asked[id.Grid] {
			continue
		}
		asked[id.Grid] = true
		made, err := ln.madeBy(ctx, uid, id.Grid, f.LFN)
		if err != nil || made.ID != 0 {
			return made, err
		}
	}
	return jjm.GridJob{}, nil
}

// filler returns the grid job that fills a dataset. If none is known and *files is empty, it
// sets *files to some files of the dataset. The error is of kind Gone if there is no dataset.
func (ln *Lineage) filler(ctx context.Context, uid int, name string, files *[]jjm.File) (id jjm.GridID, known bool,
	err error) {
	d, err := ln.b.Store.DatasetNamed(ctx, uid, name)
	if err != nil {
		return 0, false, err
	}
	made, err := ln.b.Store.Made(ctx, d.ID)
	if err != nil || made.Grid != 0 || len(*files) > 0 {
		return made.Grid, err == nil && made.Grid != 0, err
	}
	return 0, false, ln.b.Store.Files(ctx, d.ID, 0, SomeFiles, func(_ int64, f jjm.File) error {
		*files = append(*files, f)
		return nil
	})
}

// madeBy returns the grid job id if it belongs to the account and the file is in a
// dataset that it fills, else a zero GridJob.
func (ln *Lineage) madeBy(ctx context.Context, uid int, id jjm.GridID, lfn string) (jjm.GridJob, error) {
	job, err := ln.b.Store.Grid(ctx, id)
	if jjm.KindOf(err) == jjm.Gone {
		return jjm.GridJob{}, nil
	}
	if err != nil || job.Owner.UID != uid || job.Spec.OutputDataset == "" {
		return jjm.GridJob{}, err
	}
	filled, err := ln.b.Store.MadeBy(ctx, job.ID)
	if err != nil {
		return jjm.GridJob{}, err
	}
	for _, d := range filled {
		has, err := ln.b.Store.HasFile(ctx, d.ID, lfn)
		if has || err != nil {
			return job, err
		}
	}
	return jjm.GridJob{}, nil
}
