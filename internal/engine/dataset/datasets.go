package dataset

import (
	"context"
	"fmt"
	"io"
	"slices"

	"jjm/handlers"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/store"
	"jjm/internal/work/split"
	"jjm/internal/work/stream"
)

// CheckDatasets returns the problems of the datasets of a job file that its job type has
// accepted: datasets that do not exist, sources that cannot be read, settings of the
// splitter, too many local jobs. clusters are the clusters that the grid job may use.
func (ds *Datasets) CheckDatasets(ctx context.Context, owner jjm.Owner, spec *jjm.Spec, h handlers.Handler,
	site handlers.Site, clusters []string) jjm.Problems {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if len(spec.Datasets) == 0 {
		return ps
	}
	for i := range spec.Datasets {
		if stream.IsSequence(&spec.Datasets[i]) {
			continue
		}
		field := fmt.Sprintf("datasets[%d].", i)
		if err := ds.mayClose(ctx, owner, spec.Datasets[i]); err != nil {
			bad(field+"open", "%v", err)
		}
		switch d := &spec.Datasets[i]; {
		case len(d.Files) == 0 && d.From == "" && !fromOutside(d):
			have, err := ds.b.Store.DatasetNamed(ctx, owner.UID, d.Name)
			if jjm.KindOf(err) == jjm.Gone {
				bad(field+"name", "%s", noDataset(owner, d.Name))
			}
			if have.Head() {
				bad(field+"name", "%s is a container: set container = %q, and name a new dataset, which gets the files of all its datasets",
					d.Name, d.Name)
			}
		case d.Container != "":
			if err := ds.checkContainer(ctx, owner.UID, d); err != nil {
				bad(field+"container", "%v", err)
			}
		case fromOutside(d):
			if err := ds.outside.mayLook(owner); err != nil {
				bad(field+map[bool]string{true: "watch", false: "program"}[d.Watch != ""], "%v", err)
			}
		case d.From != "":
			if err := checkList(d, site); err != nil {
				bad(field+"from", "%v", err)
			}
		default:
			if _, all := d.Named(); all {
				break
			}
			if err := ds.outside.mayLook(owner); err != nil {
				bad(field+"files", "wildcards: %v", err)
			}
		}
	}
	if len(ps) > 0 {
		return ps
	}
	cut, err := handlers.SplitBy(h, spec, site)
	if err != nil {
		bad("split", "%v", err)
		return ps
	}
	if cut.Splitter == split.WMBSMergeBySize {
		if ps = ds.lineage.CheckFamily(ctx, owner, spec, site); len(ps) > 0 {
			return ps
		}
	}
	if ps = plan.CheckSiteLists("split.params", &cut.Params, ds.s.Names, clusters); len(ps) > 0 {
		return ps
	}
	return tooMany(spec, cut, site)
}

// CheckMerge returns the problems of the merge settings of a job file.
func (ds *Datasets) CheckMerge(spec *jjm.Spec, clusters []string) jjm.Problems {
	cut, ps := handlers.MergeCutting(spec)
	return append(ps, plan.CheckSiteLists("merge.split.params", &cut.Params, ds.s.Names, clusters)...)
}

// tooMany returns a problem if the files would make more local jobs than the site allows. It makes this check only if
// the job file lists all files by name.
func tooMany(spec *jjm.Spec, cut handlers.Cutting, site handlers.Site) jjm.Problems {
	work := split.Work{Closed: true, Queue: cut.Work.Queue}
	for i := range spec.Datasets {
		d := &spec.Datasets[i]
		if d.Secondary {
			continue
		}
		var all bool
		if work.Files, all = d.Named(); !all {
			return nil
		}
	}
	if len(work.Files) == 0 {
		return nil
	}
	cut.Work = work
	_, ps := site.Cut(cut, "split", "make larger parts")
	return ps
}

// FillDatasets makes the datasets for which a job file lists files, and adds these files: files that the job file
// itself names, files that match its wildcards, and files in lists that it names. A repeated call changes nothing.
func (ds *Datasets) FillDatasets(ctx context.Context, job *jjm.GridJob, h handlers.Handler) error {
	if len(job.Spec.Datasets) == 0 {
		return nil
	}
	site, err := ds.types.PackedSite(job, h)
	if err != nil {
		return err
	}
	for i := range job.Spec.Datasets {
		d := &job.Spec.Datasets[i]
		found, err := ds.outside.expand(ctx, job.Owner, d, ds.b.Conf().MaxFiles)
		if err != nil {
			return permanent(fmt.Errorf("datasets[%d].%w", i, err))
		}
		placed, err := placerOf(ctx, ds.b.Store, job, d)
		if err != nil {
			return err
		}
		for files := range slices.Chunk(found, ds.b.Chunk()) {
			if err := placed.place(ctx, files); err != nil {
				return err
			}
			if _, err := ds.addFiles(ctx, job.Owner.UID, d.Name, files); err != nil {
				return permanent(err)
			}
		}
		if d.From == "" {
			continue
		}
		err = ds.addList(ctx, job.Owner.UID, d.Name, listed{name: d.From, placer: placed,
			open: func() (io.ReadCloser, error) { return site.Open(d.From) }})
		if err != nil {
			return permanent(fmt.Errorf("datasets[%d].from: %w", i, err))
		}
	}
	return nil
}

// permanent turns errors of kind Conflict or Gone into errors of kind Invalid, because a
// retry of a preparation cannot help.
func permanent(err error) error {
	if k := jjm.KindOf(err); k == jjm.Conflict || k == jjm.Gone {
		return jjm.Errorf(jjm.Invalid, "%w", err)
	}
	return err
}

// addFiles adds files to a dataset of an account, makes the dataset if need be, and returns
// how many files were new.
func (ds *Datasets) addFiles(ctx context.Context, uid int, name string, files []jjm.File) (added int, err error) {
	return ds.addFilesIn(ctx, uid, jjm.Dataset{Name: name}, files)
}

// addFilesIn is addFiles for a dataset that may be in a container.
func (ds *Datasets) addFilesIn(ctx context.Context, uid int, d jjm.Dataset, files []jjm.File) (added int, err error) {
	err = ds.s.Change(ctx, "dataset-add", func(c *state.Change) error {
		id, made, err := c.Tx.PutDataset(uid, d)
		if err != nil {
			return err
		}
		if err := checkPlace(c, uid, d, made); err != nil {
			return err
		}
		if added, err = c.Tx.AddFiles(id, files); err != nil || added == 0 {
			return err
		}
		c.News = append(c.News, id)
		return roomFor(c, id, d.Name)
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

// checkPlace returns an error if d names a container other than the container of the dataset, or if the dataset is
// itself a container. made is true if the dataset is new.
func checkPlace(c *state.Change, uid int, d jjm.Dataset, made bool) error {
	have, err := c.S.B.Store.DatasetNamed(c.Ctx, uid, d.Name)
	switch {
	case d.Container != "" && d.Container == d.Name:
		return jjm.Errorf(jjm.Invalid, "container %s: it cannot have the name of its dataset", d.Container)
	case made:
		return nil
	case err != nil:
		return err
	case have.Head():
		return jjm.Errorf(jjm.Conflict, "%s is a container that a grid job fills: add files to one of its datasets", d.Name)
	case d.Container != "" && have.Container == "":
		return jjm.Errorf(jjm.Conflict,
			"dataset %s is in no container, and cannot be put into one: name the container when the dataset is made", d.Name)
	case d.Container != "" && have.Container != d.Container:
		return jjm.Errorf(jjm.Conflict, "dataset %s is in container %s, and stays there", d.Name, have.Container)
	}
	return nil
}

// roomFor returns an error of kind Invalid if a dataset has more files than the site
// allows.
func roomFor(c *state.Change, id store.DatasetID, name string) error {
	have, err := c.Tx.FilesIn(id)
	if err != nil {
		return err
	}
	if most := c.S.B.Conf().MaxFiles; have > int64(most) {
		return jjm.Errorf(
			jjm.Invalid, "dataset %s would have %d files; this site allows %d (engine.max_files): make several datasets", name,
			have, most)
	}
	return nil
}

// hasList reports whether the job file lists files of a dataset, itself or in an input
// file.
func hasList(d *jjm.DatasetInput) bool { return len(d.Files) > 0 || d.From != "" }

// mayClose returns an error of kind Conflict if a job file lists files of a dataset without open, and would thereby
// close a dataset that its owner or a grid job keeps open for more files. It returns nil if the dataset is new or
// already closed, or if a grid job that is being prepared fills the dataset and will close it.
func (ds *Datasets) mayClose(ctx context.Context, owner jjm.Owner, d jjm.DatasetInput) error {
	if !hasList(&d) || d.Open {
		return nil
	}
	have, err := ds.b.Store.DatasetNamed(ctx, owner.UID, d.Name)
	if have.Closed != 0 {
		return nil // another check refuses to add files to the dataset
	}
	v := ds.s.View()
	defer v.Close()
	who := ds.opener(v.Memory, &jjm.GridJob{Owner: owner}, d.Name)
	switch {
	case who == "" && err != nil, who == "" && ds.filling(v.Memory, owner, d.Name):
		return nil // the dataset is new, or being made by another grid job that will close it
	case who == "":
		who = owner.User
	}
	return jjm.Errorf(jjm.Conflict,
		"%s left dataset %s open for more files, and this job file, which lists some, would close it: set open = true, close it before with \"jjm dataset close\", or use another name", who, d.Name)
}

// opener returns the grid job, other than g, that keeps a dataset of g's owner open for
// more files, "" for none.
func (ds *Datasets) opener(mem state.Memory, g *jjm.GridJob, name string) string {
	for id, other := range mem.Grids() {
		if id == g.ID || other.Job.Owner.UID != g.Owner.UID || other.Job.Status.Final() {
			continue
		}
		spec := &other.Job.Spec
		opens := func(d jjm.DatasetInput) bool { return d.Name == name && (d.Open || fromOutside(&d)) }
		if spec.OutputDataset == name || slices.ContainsFunc(spec.Datasets, opens) {
			return "grid job " + id.String()
		}
	}
	return ""
}

// filling reports whether a grid job that is being prepared fills a dataset and will
// close it.
func (ds *Datasets) filling(mem state.Memory, owner jjm.Owner, name string) bool {
	for _, g := range mem.Grids() {
		fills := func(d jjm.DatasetInput) bool { return d.Name == name && hasList(&d) && !d.Open }
		if g.Job.Owner.UID == owner.UID && !g.Job.Step.Prepared && slices.ContainsFunc(g.Job.Spec.Datasets, fills) {
			return true
		}
	}
	return false
}

// noDataset returns an error text that explains how an account can get a dataset that it does not have.
func noDataset(owner jjm.Owner, name string) string {
	return fmt.Sprintf("%s has no dataset %s: if it is the output_dataset of another job, submit the job that fills it first; "+
		"else list its files here, or make it with \"jjm dataset add\"", owner.User, name)
}

// openInputs makes a grid job read its datasets. If the job file lists files for a dataset, the dataset is closed,
// unless the job file or another grid job keeps it open. The error is of kind Invalid if a dataset does not exist and
// the job file names no source for the dataset.
func (ds *Datasets) openInputs(c *state.Change, g *jjm.GridJob) error {
	var all []store.Reads
	for i := range g.Spec.Datasets {
		d := &g.Spec.Datasets[i]
		if stream.IsSequence(d) {
			continue // the container's dataset has no files
		}
		id, made, err := c.Tx.PutDataset(g.Owner.UID, jjm.Dataset{Name: d.Name})
		if err != nil {
			return permanent(err)
		}
		given := hasList(d)
		if made && !given && !fromOutside(d) {
			return jjm.Errorf(jjm.Invalid, "datasets[%d]: %s", i, noDataset(g.Owner, d.Name))
		}
		if given && !d.Open && ds.opener(c.Live, g, d.Name) == "" {
			if _, err := c.Tx.CloseDataset(id); err != nil {
				return err
			}
			c.News = append(c.News, id)
		}
		all = append(all, store.Reads{Dataset: id, Master: !d.Secondary, Attributes: d.Attributes})
	}
	return c.Tx.OpenInputs(g.ID, 0, all)
}
