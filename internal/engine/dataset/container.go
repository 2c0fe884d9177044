package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// checkContainer returns an error of kind Gone for a container without datasets, and of kind Conflict if the dataset
// that gets the files is in the container itself.
func (ds *Datasets) checkContainer(ctx context.Context, uid int, d *jjm.DatasetInput) error {
	members, err := ds.b.Store.Members(ctx, uid, d.Container)
	if err != nil {
		return err
	}
	if len(members) == 0 {
		return jjm.Errorf(jjm.Gone, "there is no dataset in a container %s: make one with \"jjm dataset add --container %s\"",
			d.Container, d.Container)
	}
	for i := range members {
		if m := &members[i]; m.Name == d.Name {
			return jjm.Errorf(jjm.Conflict,
				"dataset %s is in the container itself: name another one, for the files of all of them", d.Name)
		}
	}
	return nil
}

// takeContainer adds the files of a container's datasets to the dataset d with the given id, except files that d
// already has (decision R30). whole is true if all datasets of the container are closed, so that no more files can
// come. Readers are woken, and may read, only when all files are there: otherwise a splitter that takes the files that
// it finds would cut parts that are too small from each dataset.
func (ds *Datasets) takeContainer(ctx context.Context, job *jjm.GridJob, id store.DatasetID,
	d *jjm.DatasetInput) (whole bool, err error) {
	filled := ds.adding(id)
	whole, news, err := ds.takeMembers(ctx, job, d)
	filled()
	if err := errors.Join(err, ds.tell(ctx, news)); err != nil { // files that were taken stay, even after an error
		return false, err
	}
	return whole, nil
}

// takeMembers adds the files for takeContainer. news are the datasets that got files; their readers are not woken yet.
func (ds *Datasets) takeMembers(ctx context.Context, job *jjm.GridJob, d *jjm.DatasetInput) (whole bool,
	news []store.DatasetID, err error) {
	members, err := ds.b.Store.Members(ctx, job.Owner.UID, d.Container)
	if err != nil {
		return false, nil, err
	}
	whole = len(members) > 0
	for i := range members {
		m := &members[i]
		whole = whole && m.Closed != 0
		for more := !m.Head(); more; {
			if more, err = ds.takeMember(ctx, job, d, m, &news); err != nil {
				return false, news, err
			}
			if err := ds.b.Crash("dataset-take"); err != nil {
				return false, news, err
			}
		}
	}
	return whole, news, nil
}

// tell wakes the readers of datasets that got files.
func (ds *Datasets) tell(ctx context.Context, news []store.DatasetID) error {
	if len(news) == 0 {
		return nil
	}
	return ds.s.Change(ctx, "dataset-news", func(c *state.Change) error {
		c.News = append(c.News, slices.Compact(news)...)
		return nil
	})
}

// takeMember adds the next chunk of files of one dataset of the container; more is true if the dataset has further
// files. It appends the dataset that got files to news.
func (ds *Datasets) takeMember(ctx context.Context, job *jjm.GridJob, d *jjm.DatasetInput, m *store.Dataset,
	news *[]store.DatasetID) (more bool, err error) {
	var got store.DatasetID
	err = ds.s.Change(ctx, "dataset-add", func(c *state.Change) error {
		id, _, err := c.Tx.PutDataset(job.Owner.UID, jjm.Dataset{Name: d.Name})
		if err != nil {
			return err
		}
		from, err := c.Tx.Taken(id, m.ID)
		if err != nil || from >= m.Files {
			return err
		}
		var files []jjm.File
		err = ds.b.Store.Files(ctx, m.ID, from, min(ds.b.Chunk(), int(m.Files-from)), func(_ int64, f jjm.File) error {
			f.Added = 0
			files = append(files, f)
			return nil
		})
		if err != nil {
			return err
		}
		added, err := c.Tx.Take(id, m.ID, from, files)
		if err != nil {
			return err
		}
		if more = from+int64(len(files)) < m.Files; !more {
			c.Note(job.ID, "", fmt.Sprintf("dataset %s has the %s of dataset %s of container %s", d.Name,
				jjm.Count(m.Files, "file"), m.Name, d.Container), "", "")
		}
		if added > 0 {
			got = id
		}
		return roomFor(c, id, d.Name)
	})
	if err == nil && got != 0 {
		*news = append(*news, got)
	}
	return more, err
}
