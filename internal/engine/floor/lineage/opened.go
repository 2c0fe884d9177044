package lineage

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// maxName is the longest name in a folder, in bytes (NAME_MAX, pathconf(3)).
const maxName = 255

// Opened finds the paths by which the local jobs of one grid job open files that local jobs of this site made. Only one
// goroutine may use it.
type Opened struct {
	ln *Lineage
	// of maps a kind of file, as parts name it (see [jjm.PartInput.Renamed]), to the datasets that may have files of this
	// kind that local jobs made. Parent files may be in several datasets, which trace finds once.
	of     map[string][]store.DatasetID
	some   bool // of is not empty
	master store.DatasetID
	traced bool
}

// Opening returns an Opened for the local jobs of a grid job.
func (ln *Lineage) Opening(ctx context.Context, job *jjm.GridJob) (*Opened, error) {
	o := &Opened{ln: ln, of: map[string][]store.DatasetID{}}
	if len(job.Spec.Datasets) == 0 {
		return o, nil
	}
	inputs, err := ln.b.Store.Inputs(ctx, job.ID)
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		if in.Step != jjm.StepWork {
			continue
		}
		filled, err := ln.b.Store.Filled(ctx, []store.DatasetID{in.Dataset})
		if err != nil {
			return nil, err
		}
		of := in.Name
		if in.Master {
			o.master, of = in.Dataset, jjm.OwnFiles
		}
		o.of[of], o.some = filled, o.some || len(filled) > 0
	}
	return o, nil
}

// Foreseeing returns an Opened for the local jobs that a grid job of an account with these inputs would have now.
func (ln *Lineage) Foreseeing(ctx context.Context, uid int, inputs []jjm.DatasetInput) (*Opened, error) {
	o := &Opened{ln: ln, of: map[string][]store.DatasetID{}}
	for i := range inputs {
		set, err := ln.b.Store.DatasetNamed(ctx, uid, inputs[i].Name)
		if jjm.KindOf(err) == jjm.Gone {
			continue // the grid job would make the dataset
		}
		if err != nil {
			return nil, err
		}
		filled, err := ln.b.Store.Filled(ctx, []store.DatasetID{set.ID})
		if err != nil {
			return nil, err
		}
		of := inputs[i].Name
		if !inputs[i].Secondary {
			o.master, of = set.ID, jjm.OwnFiles
		}
		o.of[of], o.some = filled, o.some || len(filled) > 0
	}
	return o, nil
}

// Lying returns the input of a part. If a local job made a file, the path of the file replaces its name. root is the
// path of the work area.
func (o *Opened) Lying(ctx context.Context, in *jjm.PartInput, root string) (*jjm.PartInput, error) {
	given, err := o.given(ctx, in)
	if err != nil || len(given) == 0 {
		return in, err
	}
	paths := make(map[named]string, len(given))
	for _, g := range given {
		paths[named{g.Of, g.LFN}] = filepath.Join(root, g.Path)
	}
	return in.Renamed(func(of, lfn string) string { return cmp.Or(paths[named{of, lfn}], lfn) }), nil
}

// Given is an input file of a part. A local job of this site made the file.
type Given struct {
	// Of is the kind of file for the part, as in [jjm.PartInput.Renamed]. Dataset is the dataset in which the file was
	// found.
	Of      string
	Dataset store.DatasetID
	jjm.File
	// Link is the name by which the attempt opens the file.
	Link string
}

// Part returns the input of a part, in which paths below a folder replace the names of files that local jobs made. It
// also returns these files. The names of other files stay.
func (o *Opened) Part(ctx context.Context, in *jjm.PartInput, folder string) (*jjm.PartInput, []Given, error) {
	given, err := o.given(ctx, in)
	if err != nil || len(given) == 0 {
		return in, nil, err
	}
	links := make(map[named]string, len(given))
	for _, g := range given {
		links[named{g.Of, g.LFN}] = g.Link
	}
	return in.Renamed(func(of, lfn string) string {
		if link, ok := links[named{of, lfn}]; ok {
			return filepath.Join(folder, link)
		}
		return lfn
	}), given, nil
}

// named identifies a file of a part by the kind of file and the LFN.
type named struct{ of, lfn string }

// given returns the files of a part that local jobs made, in the order of the part. Each call returns the same files,
// because the store's rows about a file never change.
func (o *Opened) given(ctx context.Context, in *jjm.PartInput) (given []Given, err error) {
	if in == nil || !o.some {
		return nil, nil
	}
	var order []named
	lfns := map[string][]string{}
	in.Renamed(func(of, lfn string) string {
		order, lfns[of] = append(order, named{of, lfn}), append(lfns[of], lfn)
		return lfn
	})
	if len(lfns[jjm.AncestorFiles]) > 0 {
		if err := o.trace(ctx); err != nil {
			return nil, err
		}
	}
	found := map[named]Given{}
	for of, names := range lfns {
		for _, id := range o.of[of] {
			files, err := o.ln.b.Store.Paths(ctx, id, names)
			if err != nil {
				return nil, err
			}
			for lfn, f := range files {
				found[named{of, lfn}] = Given{Of: of, Dataset: id, File: f}
			}
		}
	}
	taken := map[string]bool{}
	for _, name := range order {
		g, ok := found[name]
		if !ok {
			continue
		}
		delete(found, name) // each file is returned only once
		if g.Link = g.LFN; taken[g.Link] || len(g.Link) > maxName {
			g.Link = fmt.Sprintf("%d/%s", len(given), path.Base(g.Path))
		}
		taken[g.Link] = true
		given = append(given, g)
	}
	return given, nil
}

// trace finds the datasets of parent files: the datasets that the makers of the master's files read, and so on.
func (o *Opened) trace(ctx context.Context) error {
	if o.traced {
		return nil
	}
	var behind []store.DatasetID
	for at, n := o.master, 0; at != 0 && n <= maxGenerations; n++ {
		made, err := o.ln.b.Store.Made(ctx, at)
		if err != nil {
			return err
		}
		if at = made.From; at != 0 {
			behind = append(behind, at)
		}
	}
	filled, err := o.ln.b.Store.Filled(ctx, behind)
	o.of[jjm.AncestorFiles], o.traced = filled, err == nil
	return err
}
