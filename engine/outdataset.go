package engine

import (
	"jjm"
	"jjm/sandbox"
	"jjm/split"
	"jjm/store"
)

// makeOutput makes the dataset that a new grid job fills, and may use so many
// clusters. Its name must be free: nobody else's files belong into it. Of several
// clusters each gets a dataset of its own once it made something, in a container of
// that name (decision R30).
func (c *change) makeOutput(job *jjm.GridJob, clusters int) error {
	d := jjm.Dataset{Name: job.Spec.OutputDataset}
	if d.Name == "" {
		return nil
	}
	members, err := c.tx.Members(job.Owner.UID, d.Name)
	if err != nil {
		return err
	}
	if clusters > 1 {
		d.Container = d.Name
	}
	id, made, err := c.tx.PutDataset(job.Owner.UID, d)
	if err == nil && !made {
		err = jjm.Problems{{Field: "output_dataset", Text: "you have a dataset " + d.Name + " already: name one that does not exist"}}.Err()
	}
	if err == nil && len(members) > 0 {
		err = jjm.Problems{{Field: "output_dataset", Text: "you have a container " + d.Name + " already: name one that does not exist"}}.Err()
	}
	if err != nil {
		return err
	}
	return c.tx.SetMaker(id, job.ID)
}

// addOutputs lets the outputs of local jobs that completed enter the dataset of
// their grid job, with the files that they were made from (decision R27).
func (c *change) addOutputs() error {
	results := map[jjm.LocalID]*jjm.Result{}
	for i := range c.ends {
		results[c.ends[i].ID.LocalID] = c.ends[i].Evidence.Result
	}
	for _, l := range c.order {
		g := c.e.grids[l.ID.Grid]
		if l.IsMerging() && results[l.ID] != nil && !c.e.local(l.ID).IsMerging() {
			if err := c.addUnmerged(&g.job, l, results[l.ID]); err != nil {
				return err
			}
		}
		if g.job.Spec.OutputDataset == "" || l.State != jjm.Completed || results[l.ID] == nil || c.e.local(l.ID).State == jjm.Completed {
			continue
		}
		files, err := c.outputsOf(&g.job, l, results[l.ID])
		if err != nil {
			return err
		}
		id, err := c.outputDataset(&g.job, l.Cluster)
		if err == nil && len(files) > 0 {
			_, err = c.tx.AddFiles(id, files)
			c.news = append(c.news, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// outputDataset is the dataset that the outputs from a cluster enter.
func (c *change) outputDataset(job *jjm.GridJob, cluster string) (store.DatasetID, error) {
	d := jjm.Dataset{Name: job.Spec.OutputDataset}
	have, err := c.e.store.DatasetNamed(c.ctx, job.Owner.UID, d.Name)
	if err != nil {
		return 0, err
	}
	if have.Head() {
		d = jjm.Dataset{Name: d.Name + "." + cluster, Container: d.Name}
	}
	id, made, err := c.tx.PutDataset(job.Owner.UID, d)
	if err == nil && made {
		err = c.tx.SetMaker(id, job.ID)
	}
	return id, err
}

// addUnmerged lets what a local job made enter the dataset to be merged. What was
// made of one file is told where it is to stay together, in the order of its events.
func (c *change) addUnmerged(job *jjm.GridJob, l *jjm.LocalJob, r *jjm.Result) error {
	files := mergeable(l, r)
	if job.Merging != nil && job.Merging.Splitter == split.WMBSMergeBySize {
		o, err := c.originOf(l)
		if err != nil {
			return err
		}
		for i := range files {
			files[i].Parents, files[i].Lumis, files[i].FirstEvent = o.parents, o.lumis, o.first
		}
	}
	id, err := c.unmerged(job)
	if err == nil {
		_, err = c.tx.AddFiles(id, files)
	}
	return err
}

// outputDatasets are the datasets that a grid job fills: one, or a container, what
// stands for it included.
func (c *change) outputDatasets(job *jjm.GridJob) ([]store.DatasetID, error) {
	have, err := c.e.store.DatasetNamed(c.ctx, job.Owner.UID, job.Spec.OutputDataset)
	if err != nil || !have.Head() {
		return []store.DatasetID{have.ID}, err
	}
	members, err := c.tx.Members(job.Owner.UID, have.Name)
	ids := make([]store.DatasetID, len(members))
	for i := range members {
		ids[i] = members[i].ID
	}
	return ids, err
}

// outputsOf gives the files that a completed local job made, under the names that
// they have in the tar.
func (c *change) outputsOf(job *jjm.GridJob, l *jjm.LocalJob, r *jjm.Result) ([]jjm.File, error) {
	o, err := c.originOf(l)
	if err != nil {
		return nil, err
	}
	var files []jjm.File
	for _, out := range r.Outputs {
		if out.Absent != "" {
			continue
		}
		f := jjm.File{LFN: sandbox.OutputName(stem(job), l.ID, out.Name), Size: max(out.Bytes, 0)}
		if out.SHA256 != "" {
			f.Checksum = "sha256:" + out.SHA256
		}
		if len(f.Problems()) == 0 { // else its wrapper was forged: a name that no list can hold
			f.Parents, f.Lumis = o.parents, o.lumis
			files = append(files, f)
		}
	}
	return files, nil
}

// closeOutput closes the dataset that a grid job filled: it is over.
func (c *change) closeOutput(job *jjm.GridJob) error {
	if job.Merging != nil {
		id, err := c.unmerged(job)
		if err == nil {
			_, err = c.tx.CloseDataset(id)
		}
		if err != nil {
			return err
		}
	}
	if job.Spec.OutputDataset == "" {
		return nil
	}
	ids, err := c.outputDatasets(job)
	for _, id := range ids {
		if err == nil {
			_, err = c.tx.CloseDataset(id)
			c.news = append(c.news, id)
		}
	}
	return err
}
