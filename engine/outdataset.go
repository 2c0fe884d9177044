package engine

import (
	"jjm"
	"jjm/sandbox"
	"jjm/store"
)

// makeOutput makes the dataset that a new grid job fills. Its name must be free:
// nobody else's files belong into it.
func (c *change) makeOutput(job *jjm.GridJob) error {
	name := job.Spec.OutputDataset
	if name == "" {
		return nil
	}
	_, made, err := c.tx.PutDataset(job.Owner.UID, jjm.Dataset{Name: name})
	if err == nil && !made {
		err = jjm.Problems{{Field: "output_dataset", Text: "you have a dataset " + name + " already: name one that does not exist"}}.Err()
	}
	return err
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
			id, err := c.unmerged(&g.job)
			if err == nil {
				_, err = c.tx.AddFiles(id, mergeable(l, results[l.ID]))
			}
			if err != nil {
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
		id, err := c.outputDataset(&g.job)
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

func (c *change) outputDataset(job *jjm.GridJob) (store.DatasetID, error) {
	id, _, err := c.tx.PutDataset(job.Owner.UID, jjm.Dataset{Name: job.Spec.OutputDataset})
	return id, err
}

// outputsOf gives the files that a completed local job made, under the names that
// they have in the tar.
func (c *change) outputsOf(job *jjm.GridJob, l *jjm.LocalJob, r *jjm.Result) ([]jjm.File, error) {
	var parents []string
	if g := c.e.grids[l.ID.Grid]; g.readsFiles(l) {
		inputs, err := c.e.store.PartInputs(c.ctx, l.ID.Grid, []int32{l.ID.N})
		if err != nil {
			return nil, err
		}
		if in := inputs[l.ID.N].Input; in != nil {
			parents = in.Files
		}
		if l.Step == jjm.StepMerge {
			if parents, err = c.origins(l); err != nil {
				return nil, err
			}
		}
	}
	var files []jjm.File
	for _, o := range r.Outputs {
		if o.Absent != "" {
			continue
		}
		f := jjm.File{LFN: sandbox.OutputName(stem(job), l.ID, o.Name), Size: max(o.Bytes, 0), Parents: parents}
		if o.SHA256 != "" {
			f.Checksum = "sha256:" + o.SHA256
		}
		if len(f.Problems()) == 0 { // else its wrapper was forged: a name that no list can hold
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
	id, err := c.outputDataset(job)
	if err == nil {
		_, err = c.tx.CloseDataset(id)
		c.news = append(c.news, id)
	}
	return err
}
