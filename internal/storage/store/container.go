package store

import (
	"context"

	"jjm/internal/jjm"
)

// Members returns the datasets of a container of an account, sorted by name. A dataset with
// the name of the container stands for the container; see [Dataset.Head].
func (s *Store) Members(ctx context.Context, uid int, container string) (all []Dataset, err error) {
	err = s.view(ctx, func(c *conn) error {
		all, err = members(ctx, c, uid, container)
		return err
	})
	if err != nil {
		return nil, s.fail(err, "read the datasets of container %s", container)
	}
	return all, nil
}

// Members is [Store.Members] within the transaction.
func (tx *Tx) Members(uid int, container string) ([]Dataset, error) {
	if tx.c == nil {
		return nil, tx.fail(errOver(), "read the datasets of container %s", container)
	}
	all, err := members(tx.ctx, tx.c, uid, container)
	if err != nil {
		return nil, tx.fail(err, "read the datasets of container %s", container)
	}
	return all, nil
}

func members(ctx context.Context, c *conn, uid int, container string) (all []Dataset, err error) {
	err = c.query(ctx, "SELECT "+datasetColumns+" FROM datasets WHERE uid = ? AND container = ? ORDER BY name",
		args{}.int(int64(uid)).text(container), func(r row) error {
			all = append(all, scanDataset(r))
			return nil
		})
	return all, err
}

// Head reports whether the dataset stands for its container, which a grid job fills. Such a dataset has no files, and
// is closed together with the container.
func (d *Dataset) Head() bool { return d.Container != "" && d.Container == d.Name }

// Taken returns how many files the dataset id has taken from member, a dataset of a container.
func (tx *Tx) Taken(id, member DatasetID) (int64, error) {
	if tx.c == nil {
		return 0, tx.fail(errOver(), "read what dataset %d is made of", id)
	}
	n, err := tx.c.number("SELECT coalesce(max(files), 0) FROM expansions WHERE dataset = ? AND member = ?",
		args{}.int(int64(id)).int(int64(member)))
	if err != nil {
		return 0, tx.fail(err, "read what dataset %d is made of", id)
	}
	return n, nil
}

// Take adds files of member, a dataset of a container, to the dataset id, together with the marks of the files. from is
// the number of the first of these files in member. The error is of kind Conflict if it is not the next file that the
// dataset id has to take. added is the number of files that were new to the dataset.
func (tx *Tx) Take(id, member DatasetID, from int64, files []jjm.File) (added int, err error) {
	taken, err := tx.Taken(id, member)
	if err != nil {
		return 0, err
	}
	if taken != from {
		return 0, tx.fail(jjm.Errorf(jjm.Conflict, "the next one is %d", taken), "take file %d of dataset %d", from, member)
	}
	if added, err = tx.AddFiles(id, files); err != nil {
		return 0, err
	}
	to := from + int64(len(files))
	_, err = tx.exec(
		"INSERT INTO expansions (dataset, member, files) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET files = excluded.files",
		args{}.int(int64(id)).int(int64(member)).int(to))
	if err == nil {
		_, err = tx.exec(`INSERT INTO file_marks (dataset, file, state, time, actor, reason) SELECT f.dataset, f.n, m.state, m.time, m.actor, m.reason
			FROM file_marks AS m JOIN files AS o ON o.dataset = m.dataset AND o.n = m.file JOIN files AS f ON f.dataset = ?1 AND f.lfn = o.lfn
			WHERE m.dataset = ?2 AND m.file >= ?3 AND m.file < ?4 AND NOT EXISTS (SELECT 1 FROM file_marks AS h WHERE h.dataset = f.dataset AND h.file = f.n)`,
			args{}.int(int64(id)).int(int64(member)).int(from).int(to))
	}
	if err != nil {
		return 0, tx.fail(err, "take files of dataset %d", member)
	}
	return added, nil
}

// TakenBy returns the datasets that took files from a dataset of a container.
func (tx *Tx) TakenBy(member DatasetID) (all []Dataset, err error) {
	if tx.c == nil {
		return nil, tx.fail(errOver(), "find who took files of dataset %d", member)
	}
	err = tx.c.query(tx.ctx, "SELECT "+datasetColumns+
		" FROM datasets WHERE id IN (SELECT dataset FROM expansions WHERE member = ?) ORDER BY id",
		args{}.int(int64(member)), func(r row) error {
			all = append(all, scanDataset(r))
			return nil
		})
	if err != nil {
		return nil, tx.fail(err, "find who took files of dataset %d", member)
	}
	return all, nil
}

// Origin is a dataset from which another dataset took files, and the number of these files.
type Origin struct {
	Name  string
	Files int64
}

// Origins returns the datasets of a container from which a dataset took its files, sorted by name. The result is empty
// if the dataset was not filled from a container.
func (s *Store) Origins(ctx context.Context, id DatasetID) (all []Origin, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(
			ctx, "SELECT d.name, x.files FROM expansions AS x JOIN datasets AS d ON d.id = x.member WHERE x.dataset = ? ORDER BY d.name",
			args{}.int(int64(id)), func(r row) error {
				all = append(all, Origin{r.text(0), r.int(1)})
				return nil
			})
	})
	if err != nil {
		return nil, s.fail(err, "read what dataset %d is made of", id)
	}
	return all, nil
}

// MembersTaken returns the datasets from which the dataset id took the file with an LFN.
func (tx *Tx) MembersTaken(id DatasetID, lfn string) (members []DatasetID, err error) {
	if tx.c == nil {
		return nil, tx.fail(errOver(), "find where dataset %d took a file", id)
	}
	err = tx.c.query(tx.ctx, `SELECT x.member FROM expansions AS x JOIN files AS f ON f.dataset = x.member AND f.lfn = ?2
		AND f.n < x.files WHERE x.dataset = ?1 ORDER BY x.member`, args{}.int(int64(id)).value(lfn), func(r row) error {
		members = append(members, DatasetID(r.int(0)))
		return nil
	})
	if err != nil {
		return nil, tx.fail(err, "find where dataset %d took a file", id)
	}
	return members, nil
}
