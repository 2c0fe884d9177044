package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm"
	"jjm/catalogue"
	"jjm/engine/fair"
	"jjm/engine/state"
	"jjm/handlers"
	"jjm/run"
)

// Source names a dataset of a grid job whose files come from outside again and
// again: a watched folder, a program, or the datasets of a container.
type Source struct {
	Grid jjm.GridID
	i    int // in Spec.Datasets
}

// The bounds of looking at a source. A listing of a million files has some 100 MB.
const (
	sourceDeadline = 10 * time.Minute
	sourceOutput   = 256 << 20
	// settle is for how long a file in a watched folder must not have changed: it
	// may still be written.
	settle = 30 * time.Second
)

// fromOutside reports whether the files of a dataset are looked for again.
func fromOutside(d *jjm.DatasetInput) bool {
	return d.Watch != "" || len(d.Program) > 0 || d.Container != ""
}

// mayLook refuses sources that would be looked at with other rights than the
// owner's.
func (ds *Datasets) mayLook(owner jjm.Owner) error {
	if ds.b.Deps.Users != nil || owner.UID == os.Geteuid() {
		return nil
	}
	return jjm.Errorf(
		jjm.Denied, "this daemon cannot act as %s: watched folders and programs need run_as = \"owner\"; list the files, or use jjm dataset add", owner.User)
}

// KickSources has the sources of a grid job looked at now.
func (ds *Datasets) KickSources(job *jjm.GridJob) {
	for i := range job.Spec.Datasets {
		if fromOutside(&job.Spec.Datasets[i]) {
			ds.sources.Kick(Source{job.ID, i})
		}
	}
}

// LookAt adds the files that a source has to its dataset. The answer is when to
// look again: never once the dataset is closed, or the grid job cuts no more.
func (ds *Datasets) LookAt(ctx context.Context, s Source) time.Duration {
	job := ds.s.JobOf(s.Grid)
	if job.ID == 0 || !job.Step.Prepared || job.Step.Closed || job.Status.Final() {
		return 0
	}
	d := &job.Spec.Datasets[s.i]
	have, err := ds.b.Store.DatasetNamed(ctx, job.Owner.UID, d.Name)
	if err == nil && have.Closed != 0 {
		ds.sourceTrouble(s, nil)
		return 0
	}
	waiting, whole := 0, len(d.Program) > 0
	switch {
	case err != nil:
	case d.Container != "":
		whole, err = ds.takeContainer(ctx, &job, d)
	default:
		waiting, err = ds.takeFrom(ctx, &job, d)
	}
	if ctx.Err() != nil {
		return 0
	}
	ds.sourceTrouble(s, err)
	if err != nil {
		ds.b.Complain(slog.LevelWarn, fmt.Sprintf("source/%s/%d", s.Grid, s.i), "source of a dataset, trying again", "job",
			s.Grid, "dataset", d.Name, "error", err)
	}
	if err == nil && whole && !d.Open {
		why := "its program has listed all of it"
		if d.Container != "" {
			why = "all datasets of container " + d.Container + " are closed"
		}
		_, err = ds.closeDataset(ctx, job.Owner.UID, d.Name, why)
		if err == nil {
			return 0
		}
	}
	again := ds.b.Conf().DatasetPoll.D()
	if waiting > 0 {
		again = min(again, settle)
	}
	return again
}

// sourceTrouble lets people see why files that are to come do not.
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

// takeFrom looks at a source as the owner; waiting is how many files are there and
// may still be written.
func (ds *Datasets) takeFrom(ctx context.Context, job *jjm.GridJob, d *jjm.DatasetInput) (waiting int, err error) {
	if err := ds.mayLook(job.Owner); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ds.areas.As(ctx, job.Owner), sourceDeadline)
	defer cancel()
	if d.Watch != "" {
		return ds.takeFolder(ctx, job, d)
	}
	out, err := ds.runSource(ctx, job.Owner, job.BaseDir, d.Program)
	if err != nil {
		return 0, err
	}
	return 0, ds.addList(ctx, job.Owner.UID, d.Name, d.Program[0], func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(out)), nil
	})
}

// takeFolder adds what a listing of a watched folder has to offer.
func (ds *Datasets) takeFolder(ctx context.Context, job *jjm.GridJob, d *jjm.DatasetInput) (waiting int, err error) {
	folder, pattern, err := catalogue.SplitWatch(d.Watch)
	if err != nil {
		return 0, err
	}
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(job.BaseDir, folder)
	}
	entries, err := ds.list(ctx, job.Owner, folder)
	if err != nil {
		return 0, err
	}
	files, waiting, skipped := catalogue.Listed(folder, pattern, entries, jjm.At(ds.b.Now().Add(-settle)))
	if skipped > 0 {
		ds.b.Complain(slog.LevelWarn, "skipped/"+folder, "a watched folder has names that no dataset can hold", "folder",
			folder, "files", skipped)
	}
	for some := range slices.Chunk(files, ds.b.Chunk()) {
		if _, err := ds.addFiles(ctx, job.Owner.UID, d.Name, some); err != nil {
			return waiting, err
		}
	}
	return waiting, nil
}

// list returns the regular files of a folder, as an owner sees them.
func (ds *Datasets) list(ctx context.Context, owner jjm.Owner, folder string) ([]catalogue.Entry, error) {
	// GNU find(1): size, time of change, name, each entry ended by NUL. -H: the
	// folder itself may be a link.
	out, err := ds.runSource(ctx, owner, "/",
		[]string{"find", "-H", folder, "-mindepth", "1", "-maxdepth", "1", "-type", "f", "-printf", `%s %T@ %f\0`})
	if err != nil {
		return nil, err
	}
	return listing(out)
}

// expand returns the files of a dataset that a job file lists, with those found now, as
// the owner, in the places of wildcards: at most so many. The errors are those of
// [catalogue.Expand], and Busy where a folder cannot be read now.
func (ds *Datasets) expand(ctx context.Context, owner jjm.Owner, d *jjm.DatasetInput, most int) ([]jjm.File, error) {
	named, all := d.Named()
	if all || len(d.Files) == 0 {
		return named, nil
	}
	if err := ds.mayLook(owner); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ds.areas.As(ctx, owner), sourceDeadline)
	defer cancel()
	return catalogue.Expand(d.Files, most, func(folder string) ([]catalogue.Entry, error) { return ds.list(ctx, owner, folder) })
}

// listing reads what find printed.
func listing(out []byte) ([]catalogue.Entry, error) {
	var entries []catalogue.Entry
	for text := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if text == "" {
			continue
		}
		words := strings.SplitN(text, " ", 3)
		if len(words) != 3 {
			return nil, jjm.Errorf(jjm.Busy, "find printed %.80q: want size, time and name", text)
		}
		size, err1 := strconv.ParseInt(words[0], 10, 64)
		changed, err2 := strconv.ParseFloat(words[1], 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, jjm.Errorf(jjm.Busy, "find printed %.80q: %w", text, err)
		}
		entries = append(entries, catalogue.Entry{Name: path.Base(words[2]), Size: size,
			Modified: jjm.At(time.UnixMilli(int64(changed * 1000)))})
	}
	return entries, nil
}

// runSource runs a command of an owner in a folder and returns what it printed; a command
// that fails is an error of kind Busy with its last words.
func (ds *Datasets) runSource(ctx context.Context, owner jjm.Owner, dir string, argv []string) ([]byte, error) {
	env := []string{"LC_ALL=C", "USER=" + owner.User, "LOGNAME=" + owner.User}
	for _, name := range []string{"PATH", "HOME", "TZ"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	out, err := run.Run(ctx, run.Cmd{Argv: argv, Dir: dir, Env: env, Deadline: sourceDeadline,
		MaxOutput: sourceOutput})
	switch {
	case err != nil:
		return nil, err
	case out.Exit != 0:
		words := strings.TrimSpace(string(out.Stderr))
		return nil, jjm.Errorf(jjm.Busy, "%s: exit %d: %s", argv[0], out.Exit, words[max(0, len(words)-500):])
	case out.Truncated:
		return nil, jjm.Errorf(jjm.Busy, "%s printed more than %d MiB: let it list what is new only", argv[0],
			sourceOutput>>20)
	}
	return out.Stdout, nil
}

// addList adds the files of a list to a dataset. It is read twice, a line at a time,
// for a list with a mistake, or with more files than a dataset may have, adds nothing.
func (ds *Datasets) addList(ctx context.Context, uid int, dataset, name string,
	open func() (io.ReadCloser, error)) error {
	var batch []jjm.File
	flush := func() error {
		_, err := ds.addFiles(ctx, uid, dataset, batch)
		batch = batch[:0]
		return err
	}
	n, most := 0, ds.b.Conf().MaxFiles
	for _, fn := range []func(jjm.File) error{
		func(jjm.File) error {
			if n++; n > most {
				return jjm.Errorf(jjm.Invalid,
					"%s has more than the %d files that this site allows in a dataset (engine.max_files): make several of it", name,
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
		r, err := open()
		if err != nil {
			return err
		}
		_, err = catalogue.Read(name, r, fn)
		if closed := r.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return flush()
}

// listed finds mistakes in the first files of a list, which an input of the job
// holds: enough for a list that is not one. All of it is read at preparation.
func listed(d *jjm.DatasetInput, site handlers.Site) error {
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
