package dataset

import (
	"context"
	"fmt"
	"slices"

	"jjm/handlers"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/lineage"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/catalogue"
	"jjm/internal/work/split"
	"jjm/internal/work/stream"
)

// dryParts is the greatest number of local jobs that a dry run shows. dryFiles is the greatest number of files of each
// dataset that a dry run reads. A dry run is one request on the socket and must be quick.
const (
	dryParts = 10
	dryFiles = 200_000
)

// DryRun returns how a grid job would be cut (decision R20), given the files that are known now. It stores nothing.
func (ds *Datasets) DryRun(ctx context.Context, owner jjm.Owner, h handlers.Handler, spec *jjm.Spec, site handlers.Site,
	fit state.Choice) (wire.Submitted, error) {
	cut, err := handlers.SplitBy(h, spec, site)
	if err != nil {
		return wire.Submitted{}, err
	}
	splitter, err := split.Get(cut.Splitter)
	if err != nil {
		return wire.Submitted{}, err
	}
	known, err := ds.dryWork(ctx, owner, spec, site, &cut)
	if err != nil {
		return wire.Submitted{}, err
	}
	cut.Params = state.Locate(&cut.Work, ds.s.Readers(fit.Clusters), cut.Params)
	parts, _, _, err := splitter.Cut(cut.Work, split.Limits{MaxParts: dryParts}, cut.Params, state.FirstCarry(spec))
	if err != nil {
		return wire.Submitted{}, err
	}
	if known && len(spec.Datasets) > 0 {
		counted, problems := site.Cut(cut, "split", "make larger parts")
		if len(problems) > 0 {
			return wire.Submitted{}, problems.Err()
		}
		cut.Jobs = counted.Jobs
	}
	if err := ownable(parts); err != nil {
		return wire.Submitted{}, err
	}
	parts = parts[:min(len(parts), dryParts)] // splitters may return more than MaxParts
	plan := &wire.Plan{Type: spec.Type, Cluster: fit.Clusters[0], Clusters: fit.Clusters,
		Splitter: cut.Splitter, Jobs: cut.Jobs, Why: slices.Concat(cut.Why, fit.Notes, passedOver(&cut)), Parts: parts}
	if plan.Commands, err = ds.outside.dryCommands(ctx, ds.lineage, owner, h, spec, parts); err != nil {
		return wire.Submitted{}, err
	}
	if spec.Merge != nil {
		plan.Merge, err = outlook(h, spec, cut, parts)
	}
	return wire.Submitted{Plan: plan}, err
}

// dryCommands returns the commands of parts. Files that local jobs made appear in the commands by their present paths.
func (o outside) dryCommands(ctx context.Context, ln *lineage.Lineage, owner jjm.Owner, h handlers.Handler,
	spec *jjm.Spec, parts []jjm.Part) (commands [][]string, err error) {
	opened, err := ln.Foreseeing(ctx, owner.UID, spec.Datasets)
	if err != nil {
		return nil, err
	}
	root := o.areas.RootPath(owner)
	for i, p := range parts {
		if p.Input, err = opened.Lying(ctx, p.Input, root); err != nil {
			return nil, err
		}
		cmd, err := handlers.CommandForeseen(h, spec, &p, i)
		if err != nil {
			return nil, err
		}
		commands = append(commands, cmd.Argv)
	}
	return commands, nil
}

// ownable returns an error of kind Internal if the store would refuse one of the parts in a real cut.
func ownable(parts []jjm.Part) error {
	for i := range parts {
		p := &parts[i]
		if p.Unit == jjm.UnitEvent || p.Unit == jjm.UnitRow {
			continue // such parts own none of the files that they read
		}
		if _, err := p.Pieces(); err != nil {
			return jjm.Errorf(jjm.Internal, "part %d could not be stored, by a mistake in jjm itself, please report it: %w",
				p.Serial, err)
		}
	}
	return nil
}

// passedOver returns texts about the files that the splitter will leave out because of their descriptions, nil if there
// are none.
func passedOver(cut *handlers.Cutting) (texts []string) {
	leaver, err := split.LeaverOf(cut.Splitter, cut.Params)
	if err != nil {
		return nil // the cut returns the error about the settings
	}
	var left jjm.LeftList
	for i := range cut.Work.Files {
		f := &cut.Work.Files[i]
		switch reason, asked := leaver.File(f, ""); reason {
		case jjm.LeftNoSections, jjm.LeftMask, jjm.LeftRuns:
			left.Add(jjm.LeftOut{What: "file", N: 1, Reason: reason, Why: leaver.Why(reason), Such: f.LFN, Asked: asked})
		}
	}
	for _, l := range left {
		texts = append(texts, l.String())
	}
	return texts
}

// outlook returns the expected number of merges. parts are the first parts of the cutting.
func outlook(h handlers.Handler, spec *jjm.Spec, cut handlers.Cutting, parts []jjm.Part) (*jjm.MergeOutlook, error) {
	var cmd handlers.Command
	var err error
	if len(parts) > 0 {
		if cmd, err = handlers.CommandForeseen(h, spec, &parts[0], 0); err != nil {
			return nil, err
		}
	}
	o := handlers.NewOutlook(spec, cmd)
	if len(cut.Work.Files) == 0 {
		o.AddJobs(int64(cut.Jobs))
		return o.Merges(false)
	}
	sp, err := split.Get(cut.Splitter)
	if err != nil {
		return nil, err
	}
	c, err := sp.Start(cut.Work, cut.Params, state.FirstCarry(spec))
	if err != nil {
		return nil, err
	}
	for more := true; more; {
		var left split.Left
		parts, left, _ = c.Next(split.Limits{MaxParts: base.Chunk})
		for i := range parts {
			o.Add(&parts[i])
		}
		more = left.More
	}
	return o.Merges(!cut.Work.Closed)
}

// dryWork adds to cut.Work the files that a grid job would read. known is true if no dataset can get more files.
func (ds *Datasets) dryWork(ctx context.Context, owner jjm.Owner, spec *jjm.Spec, site handlers.Site,
	cut *handlers.Cutting) (known bool, err error) {
	known = true
	cut.Work.Now = jjm.At(ds.b.Now())
	for i := range spec.Datasets {
		d := &spec.Datasets[i]
		if stream.IsSequence(d) {
			cut.Work.Secondary = append(cut.Work.Secondary, handlers.SequenceStream())
			continue
		}
		files, set, err := ds.dryDataset(ctx, owner, d, site, cut.Work.Now)
		if err != nil {
			return false, err
		}
		closed := hasList(d) && !d.Open || set.Closed != 0
		known = known && closed
		if d.Secondary {
			cut.Work.Secondary = append(cut.Work.Secondary, split.Stream{Files: files,
				Dataset: jjm.Dataset{Name: d.Name, Attributes: d.Attributes, Closed: closed}})
			continue
		}
		cut.Work.Files, cut.Work.Closed = files, closed
		if cut.Splitter == split.WMBSMergeBySize {
			if err := ds.tellDry(ctx, owner, d.Name, &cut.Work); err != nil {
				return false, err
			}
		}
		if cut.Params.IncludeParents && set.ID != 0 {
			if cut.Work.Ancestors, err = ds.lineage.Ancestors(ctx, set.ID, files); err != nil {
				return false, err
			}
		}
	}
	return known, nil
}

// tellDry adds to work the facts about the parents of its files that the splitter WMBSMergeBySize needs.
func (ds *Datasets) tellDry(ctx context.Context, owner jjm.Owner, dataset string, work *split.Work) error {
	maker, err := ds.lineage.MakerOf(ctx, owner.UID, dataset, work.Files[:min(lineage.SomeFiles, len(work.Files))])
	if err != nil {
		return err
	}
	numbers := make([]int64, len(work.Files))
	for i := range numbers {
		numbers[i] = int64(i)
	}
	return ds.lineage.Tell(ctx, lineage.Family{Maker: maker.ID, Success: lineage.Completed}, work, numbers)
}

// gathered collects the files of a dataset, each LFN once, at most dryFiles.
type gathered struct {
	dataset string
	files   []jjm.File
	seen    map[string]bool
}

func (g *gathered) add(f jjm.File) error {
	if len(g.files) == dryFiles {
		return jjm.Errorf(jjm.Invalid,
			"dataset %s has more than the %d files that a dry run reads: use jjm split --preview", g.dataset, dryFiles)
	}
	if !g.seen[f.LFN] {
		g.seen[f.LFN] = true
		g.files = append(g.files, f)
	}
	return nil
}

// dryDataset returns the files of a dataset, including the files that the job file would add.
func (ds *Datasets) dryDataset(ctx context.Context, owner jjm.Owner, d *jjm.DatasetInput, site handlers.Site,
	now jjm.Time) ([]jjm.File, store.Dataset, error) {
	g := &gathered{dataset: d.Name, seen: map[string]bool{}}
	set, err := ds.b.Store.DatasetNamed(ctx, owner.UID, d.Name)
	if err == nil {
		err = ds.gatherStored(ctx, set.ID, g)
	} else if jjm.KindOf(err) == jjm.Gone {
		err = nil
	}
	fresh := func(f jjm.File) error {
		f.Added = now
		return g.add(f)
	}
	if err != nil {
		return nil, set, err
	}
	found, err := ds.outside.expand(ctx, owner, d, dryFiles)
	if err != nil {
		return nil, set, fmt.Errorf("dataset %s: %w", d.Name, err)
	}
	for _, f := range found {
		if err := fresh(f); err != nil {
			return nil, set, err
		}
	}
	if d.From == "" {
		return g.files, set, nil
	}
	r, err := site.Open(d.From)
	if err != nil {
		return nil, set, err
	}
	defer r.Close()
	_, err = catalogue.Read(d.From, r, fresh)
	return g.files, set, err
}

// gatherStored adds the stored files of a dataset that are not marked as unreadable.
func (ds *Datasets) gatherStored(ctx context.Context, id store.DatasetID, g *gathered) error {
	marks, err := ds.b.Store.Marks(ctx, id)
	if err != nil {
		return err
	}
	return ds.b.Store.Files(ctx, id, 0, 0, func(n int64, f jjm.File) error {
		if marks[n] == jjm.FileReady {
			return g.add(f)
		}
		g.seen[f.LFN] = true
		return nil
	})
}
