package dataset

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/stream"
)

// clearAgain is the time after which a failed deletion of the rows of removed datasets is tried
// again.
const clearAgain = time.Second

// remove removes the datasets and containers d.Names of an account, each in its own change. It returns the outcomes in
// the order of the names. A dry run stores nothing.
func (ds *Datasets) remove(ctx context.Context, caller wire.Caller, uid int, d wire.Dataset) []wire.RemovedDataset {
	out := make([]wire.RemovedDataset, len(d.Names))
	for i, name := range d.Names {
		err := ds.s.Change(ctx, "dataset-remove", func(c *state.Change) error {
			out[i] = wire.RemovedDataset{Name: name}
			if err := removeOne(c, caller, uid, &out[i]); err != nil || !d.DryRun {
				return err
			}
			return state.ErrDryRun
		})
		if err != nil && !errors.Is(err, state.ErrDryRun) {
			out[i] = wire.RemovedDataset{Name: name, Error: wire.ErrorOf(err)}
		}
	}
	if !d.DryRun {
		ds.cleared.Kick(uid)
	}
	return out
}

// removeOne removes the dataset out.Name, or the container of that name if no such dataset exists, and sets the other
// fields of out. The error is of kind Gone if neither exists, and of kind Conflict or Busy if a grid job or another
// dataset needs the dataset or container.
func removeOne(c *state.Change, caller wire.Caller, uid int, out *wire.RemovedDataset) error {
	set, found, err := c.Tx.FindDataset(uid, out.Name)
	if err != nil {
		return err
	}
	if !found || set.Head() {
		return removeContainer(c, caller, uid, set, out)
	}
	if err := live(c.Live, uid, set.Name, set.Container); err != nil {
		return err
	}
	if err := removeSet(c, &set); err != nil {
		return err
	}
	out.Files = set.Files
	tellRemoval(c, caller, uid, fmt.Sprintf("dataset %s removed, %s", set.Name, jjm.Count(set.Files, "file")))
	return nil
}

// removeContainer removes a container: the dataset of the container, if there is one, and the membership of its
// datasets. The datasets in the container stay.
func removeContainer(c *state.Change, caller wire.Caller, uid int, head store.Dataset, out *wire.RemovedDataset) error {
	members, err := c.Tx.Members(uid, out.Name)
	if err != nil {
		return err
	}
	members = slices.DeleteFunc(members, func(m store.Dataset) bool { return m.Head() })
	if head.ID == 0 && len(members) == 0 {
		return jjm.Errorf(jjm.Gone, "no dataset %s", out.Name)
	}
	if err := live(c.Live, uid, out.Name, out.Name); err != nil {
		return err
	}
	if head.ID != 0 {
		if err := removeSet(c, &head); err != nil {
			return err
		}
	}
	if err := c.Tx.RemoveContainer(uid, out.Name); err != nil {
		return err
	}
	out.Container, out.Datasets = true, len(members)
	tellRemoval(c, caller, uid, fmt.Sprintf("container %s removed, its %s not", out.Name,
		jjm.Count(len(members), "dataset")))
	return nil
}

// removeSet removes one dataset. The error is of kind Conflict if a grid job or another dataset needs the dataset, and
// of kind Busy if that grid job is being removed.
func removeSet(c *state.Change, set *store.Dataset) error {
	needs, err := c.Tx.Needs(set.ID)
	if err != nil {
		return err
	}
	var alive, going, over []jjm.GridID
	for _, id := range needs {
		_, doomed := c.Live.Removal(id)
		g := c.Live.Grid(id)
		switch {
		case doomed:
			going = append(going, id)
		case g != nil && !g.Job.Status.Final():
			alive = append(alive, id)
		default:
			over = append(over, id)
		}
	}
	switch {
	case len(alive) > 0:
		return stillUsed(alive)
	case len(over) > 0:
		return jjm.Errorf(jjm.Conflict, "it was read by %s, and jjm verify asks for its files: "+
			"remove what read it first (jjm remove %s)", some(over), args(over))
	case len(going) > 0:
		return jjm.Errorf(jjm.Busy, "it was read by %s, and what is stored of that is just being removed: try again in a minute",
			some(going))
	}
	takers, err := c.Tx.TakenBy(set.ID)
	if err != nil {
		return err
	}
	if len(takers) > 0 {
		return jjm.Errorf(jjm.Conflict, "dataset %s has files of it, and tells where they are from: "+
			"remove that one first (jjm dataset remove %s)", takers[0].Name, takers[0].Name)
	}
	return c.Tx.RemoveDataset(set.ID)
}

// live returns an error of kind Conflict if a grid job of the account that is not over reads or
// fills the dataset or the container of this name, or the container that the dataset is in.
func live(mem state.Memory, uid int, name, container string) error {
	uses := func(other string) bool { return other != "" && (other == name || other == container) }
	reads := func(d jjm.DatasetInput) bool {
		return !stream.IsSequence(&d) && (d.Name == name || uses(d.Container))
	}
	var ids []jjm.GridID
	for id, g := range mem.Grids() {
		if g.Job.Owner.UID != uid || g.Job.Status.Final() {
			continue
		}
		if uses(g.Job.Spec.OutputDataset) || slices.ContainsFunc(g.Job.Spec.Datasets, reads) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	return stillUsed(ids)
}

// stillUsed returns the error about a dataset that live grid jobs read or fill.
func stillUsed(ids []jjm.GridID) error {
	return jjm.Errorf(jjm.Conflict, "it is read or filled by %s, not over yet, which would lose files: "+
		"wait for the end (jjm wait %s), or kill what needs it (jjm kill %s)", some(ids), args(ids), args(ids))
}

// mostNamed is the greatest number of grid jobs that an error names.
const mostNamed = 3

// some returns a text that names up to three grid jobs and the number of further grid jobs.
func some(ids []jjm.GridID) string {
	words := make([]string, 0, mostNamed)
	for _, id := range ids[:min(len(ids), mostNamed)] {
		words = append(words, id.String())
	}
	what := "grid job "
	if len(ids) > 1 {
		what = "grid jobs "
	}
	what += strings.Join(words, ", ")
	if more := len(ids) - len(words); more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	return what
}

// args returns the ids of up to three grid jobs as arguments of a command.
func args(ids []jjm.GridID) string {
	words := make([]string, 0, mostNamed)
	for _, id := range ids[:min(len(ids), mostNamed)] {
		words = append(words, id.String())
	}
	return strings.Join(words, " ")
}

// tellRemoval adds a removal to the journal, with the account that requested it.
func tellRemoval(c *state.Change, caller wire.Caller, uid int, what string) {
	by := fmt.Sprintf("uid %d", caller.UID)
	if caller.UID != uid { // the owner may read the entry too; see shows of package answer
		by += fmt.Sprintf(", dataset of uid %d", uid)
	}
	c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, First: -1, Last: -1, To: "removed",
		Cause: fmt.Sprintf("%s (%s)", what, by), Source: c.Name, Actor: caller.User})
}

// clearAll deletes the rows of removed datasets until ctx ends, first of the datasets that were
// removed before the daemon stopped.
func (ds *Datasets) clearAll(ctx context.Context) {
	left, err := ds.b.Store.RemovedDatasets(ctx)
	if err != nil && ctx.Err() == nil {
		ds.b.Complain(slog.LevelWarn, "dataset-remove", "removed datasets are not deleted until the next one is removed",
			"error", err)
	}
	for i := range left {
		ds.cleared.Kick(left[i].UID)
	}
	ds.cleared.Run(ctx)
}

// clear deletes the rows of the removed datasets of an account, a chunk of files at a time. It returns the time after
// which to try again, 0 if nothing is left.
func (ds *Datasets) clear(ctx context.Context, uid int) time.Duration {
	err := ds.clearOf(ctx, uid)
	switch {
	case ctx.Err() != nil, err == nil, errors.Is(err, base.ErrCrashed):
		return 0
	}
	ds.b.Complain(slog.LevelWarn, fmt.Sprintf("dataset-remove/%d", uid),
		"removed datasets are not deleted completely, will try again", "uid", uid, "error", err)
	return clearAgain
}

func (ds *Datasets) clearOf(ctx context.Context, uid int) error {
	left, err := ds.b.Store.RemovedDatasets(ctx)
	if err != nil {
		return err
	}
	for i := range left {
		if left[i].UID != uid {
			continue
		}
		for more := true; more; {
			if more, err = ds.b.Store.ClearDataset(ctx, left[i].ID, ds.b.Chunk()); err != nil {
				return err
			}
			if err := ds.b.Crash("dataset-remove.rows"); err != nil {
				return err
			}
		}
	}
	return nil
}
