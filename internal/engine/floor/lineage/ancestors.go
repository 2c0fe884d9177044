package lineage

import (
	"context"
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// maxGenerations limits how many generations of grid jobs without a merge step the search for ancestors follows.
// maxAncestors limits the ancestors of one file.
const (
	maxGenerations = 16
	maxAncestors   = 10_000
)

// Ancestors returns, by LFN, the nearest merged ancestors of files of a dataset (WMBS, include_parents). A file is
// merged if a grid job with a merge step made the file. A file that no grid job made also counts as merged, because
// people and catalogues list merged files. The result is nil if the ancestors are the files' parents in any case. The
// error is of kind Invalid if a bound is exceeded.
//
// Each ancestor is looked up once, by its name, in the only dataset that can have it. A chunk of files is looked up at
// a time.
func (ln *Lineage) Ancestors(ctx context.Context, id store.DatasetID, files []jjm.File) (map[string][]string, error) {
	unmerged, err := ln.unmergedBehind(ctx, id)
	if err != nil || len(unmerged) == 0 {
		return nil, err
	}
	out := make(map[string][]string, len(files))
	known := make([]map[string][]string, len(unmerged))
	for i := range known {
		known[i] = map[string][]string{}
	}
	for chunk := range slices.Chunk(files, ln.b.Chunk()) {
		if err := ln.lookUp(ctx, unmerged, known, chunk); err != nil {
			return nil, err
		}
		for i := range chunk {
			f := &chunk[i]
			found := nearest(known, f.Parents)
			if len(found) > maxAncestors {
				return nil, jjm.Errorf(jjm.Invalid,
					"split.params.include_parents: file %.100q comes from more than %d merged files: leave the setting out, or process smaller merges", f.LFN, maxAncestors)
			}
			out[f.LFN] = found
		}
	}
	return out, nil
}

// unmergedBehind returns the datasets of the parents, the grandparents and so on of the files of a dataset, until a
// dataset holds merged files; that dataset is not returned. The error is of kind Invalid if there are more than
// maxGenerations.
func (ln *Lineage) unmergedBehind(ctx context.Context, id store.DatasetID) ([]store.DatasetID, error) {
	var unmerged []store.DatasetID
	made, err := ln.b.Store.Made(ctx, id)
	if err != nil {
		return nil, err
	}
	for made.From != 0 {
		from := made.From
		if made, err = ln.b.Store.Made(ctx, from); err != nil {
			return nil, err
		}
		if made.Grid == 0 || made.Merged {
			break
		}
		if unmerged = append(unmerged, from); len(unmerged) > maxGenerations {
			return nil, jjm.Errorf(jjm.Invalid,
				"split.params.include_parents: the merged ancestors of the files lie more than %d grid jobs back: leave the setting out, or merge in between", maxGenerations)
		}
	}
	return unmerged, nil
}

// lookUp adds to known, generation by generation, the parents of the ancestors of files.
func (ln *Lineage) lookUp(ctx context.Context, unmerged []store.DatasetID, known []map[string][]string,
	files []jjm.File) error {
	var names []string
	for i := range files {
		names = append(names, files[i].Parents...)
	}
	for g, id := range unmerged {
		slices.Sort(names)
		names = slices.DeleteFunc(slices.Compact(names), func(lfn string) bool { return known[g][lfn] != nil })
		found, err := ln.b.Store.ParentsOf(ctx, id, names)
		if err != nil {
			return err
		}
		var next []string
		for _, lfn := range names {
			parents, there := found[lfn]
			switch {
			case !there:
				parents = []string{lfn} // no grid job made it, so it is merged and stands for itself
			case parents == nil:
				parents = []string{}
			}
			known[g][lfn] = parents
			next = append(next, parents...)
		}
		names = next
	}
	return nil
}

// nearest returns the merged ancestors of a file with these parents, each once, by
// following them through all generations.
func nearest(known []map[string][]string, parents []string) []string {
	for _, generation := range known {
		var next []string
		seen := map[string]bool{}
		for _, lfn := range parents {
			for _, parent := range generation[lfn] {
				if !seen[parent] {
					seen[parent] = true
					next = append(next, parent)
				}
			}
		}
		parents = next
	}
	return parents
}
