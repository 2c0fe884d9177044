package feed

import (
	"slices"

	"jjm/internal/engine/floor/outputs"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/store"
	"jjm/internal/work/split"
	"jjm/sandbox"
)

// MakeOutput makes the output dataset of a new grid job. clusters is the number of clusters that the grid job may use.
// With several clusters MakeOutput makes a container, in which each cluster gets a dataset when a local job on the
// cluster completes (decision R30). The error is a jjm.Problems if the name is already used, because the dataset would
// then also hold other files.
func (fd *Feeder) MakeOutput(c *state.Change, job *jjm.GridJob, clusters int) error {
	d := jjm.Dataset{Name: job.Spec.OutputDataset}
	if d.Name == "" {
		return nil
	}
	members, err := c.Tx.Members(job.Owner.UID, d.Name)
	if err != nil {
		return err
	}
	if clusters > 1 {
		d.Container = d.Name
	}
	id, made, err := c.Tx.PutDataset(job.Owner.UID, d)
	switch {
	case err != nil:
		return err
	case !made:
		have, _, err := c.Tx.FindDataset(job.Owner.UID, d.Name)
		if err != nil {
			return err
		}
		again, err := runsAgain(c, have.Maker)
		if err != nil {
			return err
		}
		return taken("dataset", d.Name, have.Maker, again)
	case len(members) > 0:
		return taken("container", d.Name, 0, false)
	}
	return c.Tx.SetMaker(id, job.ID)
}

// taken returns the refusal of a name that a dataset or container has. It names the ways out. maker is the grid job
// that fills the dataset, 0 if none does; again says whether jjm resubmit of the maker is a way out.
func taken(what, name string, maker jjm.GridID, again bool) error {
	text := "you have a " + what + " " + name + " already"
	if maker != 0 {
		text += ", filled by grid job " + maker.String()
	}
	text += ": use another name"
	if what == "dataset" {
		text += ", or remove it first (jjm dataset remove " + name + ")"
	}
	if again {
		text += "; jjm resubmit " + maker.String() + " runs again what failed in grid job " + maker.String()
	}
	return jjm.Problems{{Field: "output_dataset", Text: text}}.Err()
}

// runsAgain reports whether jjm resubmit of a grid job runs failed local jobs again. id may be 0 or the id of a removed
// grid job.
func runsAgain(c *state.Change, id jjm.GridID) (bool, error) {
	if id == 0 {
		return false, nil
	}
	if g := c.Live.Grid(id); g != nil {
		return plan.ResubmitHelps(&g.Job, g.Counts[jjm.Failed]), nil
	}
	job, err := c.Tx.Grid(id)
	if jjm.KindOf(err) == jjm.Gone {
		return false, nil
	}
	return err == nil && plan.ResubmitHelps(&job, job.Counts[jjm.Failed]), err
}

// AddOutputs adds the outputs of completed local jobs to the output dataset of their grid job. The parents of each
// output are the files that the output was made from (decision R27). Outputs to be merged are added to the dataset of
// the merge step instead.
func (fd *Feeder) AddOutputs(c *state.Change) error {
	results := map[jjm.LocalID]*jjm.Result{}
	for i := range c.Ends {
		results[c.Ends[i].ID.LocalID] = c.Ends[i].Evidence.Result
	}
	for _, l := range c.Changed {
		g := c.Live.Grid(l.ID.Grid)
		if l.IsMerging() && results[l.ID] != nil && !c.Live.Local(l.ID).IsMerging() {
			if err := addUnmerged(c, &g.Job, l, results[l.ID]); err != nil {
				return err
			}
		}
		if g.Job.Spec.OutputDataset == "" || !l.State.IsCompleted() || results[l.ID] == nil ||
			c.Live.Local(l.ID).State.IsCompleted() {
			continue
		}
		files, err := outputsOf(c, &g.Job, l, results[l.ID])
		if err != nil {
			return err
		}
		id, err := outputDataset(c, &g.Job, l.Cluster)
		if err != nil {
			return err
		}
		if len(files) == 0 || id == 0 {
			continue
		}
		if _, err := c.Tx.AddFiles(id, files); err != nil {
			return err
		}
		c.News = append(c.News, id)
	}
	return nil
}

// outputDataset returns the dataset for the outputs from a cluster, and makes the dataset if it does not exist. It
// returns 0 if the dataset was removed before the grid job was reopened, or if another dataset now has its name: these
// outputs are not added to the other dataset.
func outputDataset(c *state.Change, job *jjm.GridJob, cluster string) (store.DatasetID, error) {
	name := job.Spec.OutputDataset
	made, err := c.Tx.MadeBy(job.ID)
	if err != nil {
		return 0, err
	}
	named := func(name string) *store.Dataset {
		at := slices.IndexFunc(made, func(d store.Dataset) bool { return d.Name == name })
		if at < 0 {
			return nil
		}
		return &made[at]
	}
	have, ofCluster := named(name), named(name+"."+cluster)
	switch {
	case have != nil && !have.Head():
		return have.ID, nil
	case ofCluster != nil:
		return ofCluster.ID, nil
	case have == nil:
		return 0, nil
	}
	id, fresh, err := c.Tx.PutDataset(job.Owner.UID, jjm.Dataset{Name: name + "." + cluster, Container: name})
	if err != nil || !fresh { // another grid job or account made this dataset
		return 0, err
	}
	return id, c.Tx.SetMaker(id, job.ID)
}

// addUnmerged adds the outputs of a local job to the dataset of the merge step. For WMBSMergeBySize it sets parents,
// sections and first events, because this splitter keeps outputs made from one file together, ordered by events.
func addUnmerged(c *state.Change, job *jjm.GridJob, l *jjm.LocalJob, r *jjm.Result) error {
	files := outputs.Mergeable(&job.Spec, l, r)
	if job.Merging != nil && job.Merging.Splitter == split.WMBSMergeBySize {
		o, err := originOf(c, l)
		if err != nil {
			return err
		}
		for i := range files {
			files[i].Parents, files[i].Lumis, files[i].FirstEvent = o.parents, o.lumis, o.first
		}
	}
	if err := addGroup(c, job, l, files); err != nil {
		return err
	}
	id, err := unmerged(c, job)
	if err != nil {
		return err
	}
	_, err = c.Tx.AddFiles(id, files)
	return err
}

// outputDatasets returns the datasets that a grid job fills, including the dataset that stands for
// a container, and without removed datasets.
func outputDatasets(c *state.Change, job *jjm.GridJob) ([]store.DatasetID, error) {
	made, err := c.Tx.MadeBy(job.ID)
	ids := make([]store.DatasetID, len(made))
	for i := range made {
		ids[i] = made[i].ID
	}
	return ids, err
}

// outputsOf returns the outputs of a completed local job as files of the output dataset.
// Their LFNs are their names in the tar; their paths are in the folder of the attempt that
// counts.
func outputsOf(c *state.Change, job *jjm.GridJob, l *jjm.LocalJob, r *jjm.Result) ([]jjm.File, error) {
	o, err := originOf(c, l)
	if err != nil {
		return nil, err
	}
	var files []jjm.File
	names := outputs.Names(&job.Spec, l)
	for _, out := range r.Outputs {
		if out.Absent != "" || names[out.Name].Log { // logs are not part of a dataset
			continue
		}
		f := jjm.File{LFN: outputs.Name(outputs.Stem(job), l.ID, out.Name, names), Size: max(out.Bytes, 0)}
		if out.SHA256 != "" {
			f.Checksum = "sha256:" + out.SHA256
		}
		p, err := sandbox.OutputPath(r.AttemptID(), out.Name)
		if err == nil && len(f.Problems()) == 0 { // false if the wrapper was forged: no list can contain this name
			f.Parents, f.Lumis, f.Path = o.parents, o.lumis, p
			files = append(files, f)
		}
	}
	return files, nil
}

// closeOutput closes the datasets that an ended grid job filled: the dataset of the merge step, and the output
// datasets.
func closeOutput(c *state.Change, job *jjm.GridJob) error {
	if job.Merging != nil {
		id, err := unmerged(c, job)
		if err != nil {
			return err
		}
		if _, err := c.Tx.CloseDataset(id); err != nil {
			return err
		}
	}
	if job.Spec.OutputDataset == "" {
		return nil
	}
	ids, err := outputDatasets(c, job)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := c.Tx.CloseDataset(id); err != nil {
			return err
		}
		c.News = append(c.News, id)
	}
	return nil
}

// EndOutputs closes the datasets that were filled by grid jobs that end in this change.
func (fd *Feeder) EndOutputs(c *state.Change) error {
	for id, g := range c.Grids {
		if live := c.Live.Grid(id); live == nil || live.Job.Status.Final() || !g.Status.Final() {
			continue
		}
		if err := closeOutput(c, g); err != nil {
			return err
		}
	}
	return nil
}
