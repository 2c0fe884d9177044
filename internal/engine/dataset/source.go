package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"jjm/handlers"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/catalogue"
)

// Source identifies a dataset of a grid job whose files come from a source that is read
// repeatedly: a watched folder, a program, or the datasets of a container.
type Source struct {
	Grid jjm.GridID
	i    int // index of the dataset in Spec.Datasets
}

// These constants limit the reading of a source. A listing of a million files has some 100 MB.
const (
	sourceDeadline = 10 * time.Minute
	sourceOutput   = 256 << 20
	// settle is how long a file in a watched folder must be unchanged before it is added. A file that changed later may
	// still be being written.
	settle = 30 * time.Second
)

// fromOutside reports whether the files of a dataset come from a source.
func fromOutside(d *jjm.DatasetInput) bool {
	return d.Watch != "" || len(d.Program) > 0 || d.Container != ""
}

// KickSources requests that the sources of a grid job are read soon.
func (ds *Datasets) KickSources(job *jjm.GridJob) {
	for i := range job.Spec.Datasets {
		if fromOutside(&job.Spec.Datasets[i]) {
			ds.sources.Kick(Source{job.ID, i})
		}
	}
}

// LookAt reads a source once: it adds new files to the dataset, and marks the files that the source no longer has or
// has changed. If the source is complete - a program ended well, or all datasets of a container are closed - LookAt
// closes the dataset, unless the job file keeps the dataset open. It returns the time after which to read the source
// again. It returns 0, for never, after the dataset is closed or the grid job is fully cut; but a watched folder is
// read until the grid job ends, because files may vanish before local jobs read them.
func (ds *Datasets) LookAt(ctx context.Context, s Source) time.Duration {
	defer ds.read(s)
	job := ds.s.JobOf(s.Grid)
	if job.ID == 0 || !job.Step.Prepared || job.Status.Final() {
		ds.compare.sights.forget(s)
		return 0
	}
	d := &job.Spec.Datasets[s.i]
	have, err := ds.b.Store.DatasetNamed(ctx, job.Owner.UID, d.Name)
	closed := job.Step.Closed || err == nil && have.Closed != 0
	if closed && d.Watch == "" {
		ds.sourceTrouble(s, nil)
		ds.compare.sights.forget(s)
		return 0
	}
	waiting, whole := 0, len(d.Program) > 0
	switch {
	case err != nil:
	case d.Container != "":
		whole, err = ds.takeContainer(ctx, &job, have.ID, d)
	default:
		waiting, err = ds.takeFrom(ctx, s, &job, have, closed)
	}
	if ctx.Err() != nil {
		return 0
	}
	ds.sourceTrouble(s, err)
	if err != nil {
		ds.b.Complain(slog.LevelWarn, fmt.Sprintf("source/%s/%d", s.Grid, s.i), "source of a dataset could not be read, will try again", "job",
			s.Grid, "dataset", d.Name, "error", err)
		whole = false
	}
	if whole && !d.Open {
		why := "its program has listed all of it"
		if d.Container != "" {
			why = "all datasets of container " + d.Container + " are closed"
		}
		if _, err := ds.closeDataset(ctx, job.Owner.UID, d.Name, why); err == nil {
			return 0
		}
	}
	again := ds.b.Conf().DatasetPoll.D()
	if waiting > 0 {
		again = min(again, settle)
	}
	return again
}

// sourceTrouble stores, for people, the reason why a source cannot be read. If err is nil, it clears the reason.
func (ds *Datasets) sourceTrouble(s Source, err error) {
	v := ds.s.View()
	g := v.Grid(s.Grid)
	text := ""
	if g != nil && err != nil {
		text = fmt.Sprintf("dataset %s, trying again: %v", g.Job.Spec.Datasets[s.i].Name, err)
	}
	shown := g == nil || g.Reads.Trouble(s.i) == text
	v.Close()
	if shown {
		return
	}
	ds.s.Adjust(func(a *state.Memo) { a.SourceTrouble(s.Grid, s.i, text) })
	fair.Kick(ds.s.PubKick)
}

// takeFrom reads a folder or program with the rights of the owner, adds the new files, and compares the dataset with
// what it read unless the source is incremental. waiting is the number of files that may still be being written. Files
// in a folder are not added to a closed dataset.
func (ds *Datasets) takeFrom(ctx context.Context, s Source, job *jjm.GridJob, have store.Dataset,
	closed bool) (waiting int, err error) {
	if err := ds.outside.mayLook(job.Owner); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ds.outside.areas.As(ctx, job.Owner), sourceDeadline)
	defer cancel()
	d := &job.Spec.Datasets[s.i]
	var look catalogue.Look
	if d.Watch != "" {
		look, waiting, err = ds.takeFolder(ctx, job, have.ID, d, closed)
	} else {
		look, err = ds.takeProgram(ctx, job, have.ID, d)
	}
	if err != nil || d.Incremental {
		return waiting, err
	}
	return waiting, ds.compare.compare(ctx, s, have, look)
}

// takeProgram adds the files that a program lists to the dataset id, and returns its list for comparison.
func (ds *Datasets) takeProgram(ctx context.Context, job *jjm.GridJob, id store.DatasetID,
	d *jjm.DatasetInput) (catalogue.Look, error) {
	out, err := ds.outside.run(ctx, job.Owner, job.BaseDir, d.Program)
	if err != nil {
		return catalogue.Look{}, err
	}
	defer ds.adding(id)()
	err = ds.addList(ctx, job.Owner.UID, d.Name, listed{name: d.Program[0], open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(out)), nil
	}})
	if err != nil {
		return catalogue.Look{}, err
	}
	look := catalogue.Look{Files: map[string]jjm.File{}}
	_, err = catalogue.Read(d.Program[0], bytes.NewReader(out), func(f jjm.File) error {
		look.Files[f.LFN] = jjm.File{LFN: f.LFN, Size: f.Size, Checksum: f.Checksum}
		return ctx.Err()
	})
	return look, err
}

// takeFolder adds the new files of a watched folder to the dataset id, unless the dataset is closed, and returns the
// listing of the folder for comparison. waiting is the number of files that changed too recently to be added.
func (ds *Datasets) takeFolder(ctx context.Context, job *jjm.GridJob, id store.DatasetID, d *jjm.DatasetInput,
	closed bool) (look catalogue.Look, waiting int, err error) {
	folder, pattern, err := catalogue.SplitWatch(d.Watch)
	if err != nil {
		return look, 0, err
	}
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(job.BaseDir, folder)
	}
	entries, err := ds.outside.list(ctx, job.Owner, folder)
	if err != nil {
		return look, 0, err
	}
	settled := jjm.At(ds.b.Now().Add(-settle))
	look = catalogue.LookInto(folder, pattern, entries, settled)
	if closed {
		return look, 0, nil
	}
	files, waiting, skipped := catalogue.Listed(folder, pattern, entries, settled)
	if skipped > 0 {
		ds.b.Complain(slog.LevelWarn, "skipped/"+folder, "a watched folder has files whose names no dataset can hold", "folder",
			folder, "files", skipped)
	}
	defer ds.adding(id)()
	for some := range slices.Chunk(files, ds.b.Chunk()) {
		if _, err := ds.addFiles(ctx, job.Owner.UID, d.Name, some); err != nil {
			return look, waiting, err
		}
	}
	return look, waiting, nil
}

// listed is a list of files, which can be opened several times. name is its name for people. placer sets the paths of
// the files.
type listed struct {
	name   string
	placer placer
	open   func() (io.ReadCloser, error)
}

// addList adds the files of a list to a dataset. It reads the list twice, a line at a time. The first time it only
// checks the list, so that a list with a mistake or with too many files adds nothing.
func (ds *Datasets) addList(ctx context.Context, uid int, dataset string, list listed) error {
	var batch []jjm.File
	flush := func() error {
		if err := list.placer.place(ctx, batch); err != nil {
			return err
		}
		_, err := ds.addFiles(ctx, uid, dataset, batch)
		batch = batch[:0]
		return err
	}
	n, most := 0, ds.b.Conf().MaxFiles
	for _, fn := range []func(jjm.File) error{
		func(jjm.File) error {
			if n++; n > most {
				return jjm.Errorf(jjm.Invalid,
					"%s has more than the %d files that this site allows in a dataset (engine.max_files): make several datasets", list.name,
					most)
			}
			return ctx.Err()
		},
		func(f jjm.File) error {
			if batch = append(batch, f); len(batch) < ds.b.Chunk() {
				return nil
			}
			return flush()
		},
	} {
		r, err := list.open()
		if err != nil {
			return err
		}
		_, err = catalogue.Read(list.name, r, fn)
		if closed := r.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return flush()
}

// checkList returns an error if the input file from which d lists its files has a mistake in its first 10,000 files.
// The whole file is read at preparation.
func checkList(d *jjm.DatasetInput, site handlers.Site) error {
	const enough = 10_000
	r, err := site.Open(d.From)
	if err != nil {
		return err
	}
	defer r.Close()
	n, stop := 0, errors.New("enough")
	_, err = catalogue.Read(d.From, r, func(jjm.File) error {
		if n++; n == enough {
			return stop
		}
		return nil
	})
	if errors.Is(err, stop) {
		return nil
	}
	return err
}
