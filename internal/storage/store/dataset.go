package store

import (
	"context"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"jjm/internal/jjm"
)

// DatasetID is the key of a dataset in this store.
type DatasetID int64

// Dataset is the row of a dataset.
type Dataset struct {
	ID        DatasetID
	UID       int // the account of the owner
	Name      string
	Container string
	Created   jjm.Time
	Closed    jjm.Time // when it was closed; 0 = more files may come
	// Maker is the grid job whose outputs are in the dataset; 0 if people or catalogues list the dataset's files.
	Maker jjm.GridID
	// Files is the number of files, Events and Bytes the sums over the files.
	Files, Events, Bytes int64
}

// The maximum lengths of the names of datasets and files, in bytes. The limit for files is PATH_MAX of Linux
// (limits.h), because names of files are often paths.
const (
	maxDatasetName = 255
	maxLFN         = 4096
)

const datasetColumns = "id, uid, name, container, created, closed, maker, files, events, bytes"

func scanDataset(r row) Dataset {
	return Dataset{ID: DatasetID(r.int(0)), UID: int(r.int(1)), Name: r.text(2), Container: r.text(3),
		Created: jjm.Time(r.int(4)), Closed: jjm.Time(r.int(5)), Maker: jjm.GridID(r.int(6)), Files: r.int(7),
		Events: r.int(8), Bytes: r.int(9)}
}

// PutDataset returns the dataset of an owner by its name. If there is none, it makes the dataset, in d.Container, and
// made is true. A new dataset is open, whatever d.Closed is. The error is of kind Invalid if the name is empty, longer
// than 255 bytes or not one line.
func (tx *Tx) PutDataset(uid int, d jjm.Dataset) (id DatasetID, made bool, err error) {
	if err := plainName("dataset", d.Name, maxDatasetName); err != nil {
		return 0, false, tx.fail(err, "make a dataset")
	}
	n, err := tx.exec("INSERT INTO datasets (uid, name, container, created) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		args{}.int(int64(uid)).text(d.Name).text(d.Container).int(int64(jjm.At(tx.s.o.Now()))))
	if err != nil {
		return 0, false, tx.fail(err, "make dataset %s", d.Name)
	}
	found, err := tx.c.number("SELECT id FROM datasets WHERE uid = ? AND name = ?", args{}.int(int64(uid)).text(d.Name))
	if err != nil {
		return 0, false, tx.fail(err, "make dataset %s", d.Name)
	}
	return DatasetID(found), n != 0, nil
}

// plainName returns an error of kind Invalid if a name is empty, too long or not one line of text.
func plainName(what, name string, most int) error {
	switch {
	case name == "":
		return jjm.Errorf(jjm.Invalid, "%s: a name is empty", what)
	case len(name) > most:
		return jjm.Errorf(jjm.Invalid, "%s %.40q...: its name has %d bytes: at most %d", what, name, len(name), most)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return jjm.Errorf(jjm.Invalid, "%s %.80q: want one line of UTF-8 text", what, name)
	}
	return nil
}

// CloseDataset closes a dataset. changed is false if the dataset was already closed. The error is of kind Gone if the
// dataset is unknown.
func (tx *Tx) CloseDataset(id DatasetID) (changed bool, err error) {
	d, err := tx.dataset(id)
	if err != nil || d.Closed != 0 {
		return false, err
	}
	_, err = tx.exec("UPDATE datasets SET closed = ? WHERE id = ?", args{}.int(int64(jjm.At(tx.s.o.Now()))).int(int64(id)))
	if err != nil {
		return false, tx.fail(err, "close dataset %s", d.Name)
	}
	return true, nil
}

// dataset returns the row of a dataset within the transaction.
func (tx *Tx) dataset(id DatasetID) (d Dataset, err error) {
	if tx.c == nil {
		return d, tx.fail(errOver(), "read dataset %d", id)
	}
	err = tx.c.query(tx.ctx, "SELECT "+datasetColumns+" FROM datasets WHERE id = ?", args{}.int(int64(id)),
		func(r row) error {
			d = scanDataset(r)
			return nil
		})
	switch {
	case err != nil:
		return d, tx.fail(err, "read dataset %d", id)
	case d.ID == 0:
		return d, tx.fail(jjm.Errorf(jjm.Gone, "it is not known here"), "read dataset %d", id)
	}
	return d, nil
}

// FilesIn returns the number of files of a dataset.
func (tx *Tx) FilesIn(id DatasetID) (int64, error) {
	d, err := tx.dataset(id)
	return d.Files, err
}

// fileMore holds, as JSON in one column, the fields of a file that few files have.
type fileMore struct {
	Lumis     [][3]uint32 `json:"lumis,omitempty"` // run, first, last
	Locations []string    `json:"locations,omitempty"`
	Parents   []string    `json:"parents,omitempty"`
	Path      string      `json:"path,omitempty"`
}

// AddFiles appends files to a dataset and returns the number of new files. If the dataset already has a file with the
// same LFN, that file stays as it is. Files without a time of arrival get the present time. The error is of kind
// Conflict if the dataset is closed and there are new files, Gone if the dataset is unknown, and Invalid if an LFN is
// bad or a number is negative; an error of kind Invalid names the file.
func (tx *Tx) AddFiles(id DatasetID, files []jjm.File) (added int, err error) {
	d, err := tx.dataset(id)
	if err != nil {
		return 0, err
	}
	fresh, err := tx.freshFiles(d, files)
	if err != nil {
		return 0, tx.fail(err, "add %d files to dataset %s", len(files), d.Name)
	}
	if len(fresh) > 0 && d.Closed != 0 {
		return 0, tx.refuse(jjm.Errorf(jjm.Conflict, "dataset %s is closed: no file can be added", d.Name))
	}
	now := jjm.At(tx.s.o.Now())
	err = tx.insertMany("INSERT INTO files (dataset, n, lfn, size, events, first_event, checksum, boundary, added, more)",
		10, len(fresh),
		func(a args, i int) args { return fileArgs(a, id, d.Files+int64(i), fresh[i], now) })
	if err != nil {
		return 0, tx.fail(err, "add %d files to dataset %s", len(fresh), d.Name)
	}
	return len(fresh), nil
}

// freshFiles returns the files that the dataset does not have yet, and each LFN only once.
func (tx *Tx) freshFiles(d Dataset, files []jjm.File) ([]*jjm.File, error) {
	seen := make(map[string]bool, len(files))
	var fresh []*jjm.File
	for i := range files {
		f := &files[i]
		if err := checkFile(f); err != nil {
			return nil, err
		}
		if seen[f.LFN] {
			continue
		}
		seen[f.LFN] = true
		known, err := tx.fileOf(d.ID, f.LFN)
		if err != nil {
			return nil, err
		}
		if known < 0 {
			fresh = append(fresh, f)
		}
	}
	return fresh, nil
}

func checkFile(f *jjm.File) error {
	if err := plainName("file", f.LFN, maxLFN); err != nil {
		return err
	}
	if f.Size < 0 || f.Events < 0 {
		return jjm.Errorf(jjm.Invalid, "file %.80q: %d bytes and %d events: want numbers from 0 on", f.LFN, f.Size, f.Events)
	}
	return nil
}

// fileOf returns the number of a file in a dataset by its LFN, -1 if the dataset does not have the file.
func (tx *Tx) fileOf(id DatasetID, lfn string) (int64, error) {
	if tx.c == nil {
		return 0, errOver()
	}
	n := int64(-1)
	err := tx.c.query(tx.ctx, "SELECT n FROM files WHERE dataset = ? AND lfn = ?", args{}.int(int64(id)).text(lfn),
		func(r row) error {
			n = r.int(0)
			return nil
		})
	return n, err
}

func fileArgs(a args, id DatasetID, n int64, f *jjm.File, now jjm.Time) args {
	if f.Added != 0 {
		now = f.Added
	}
	a = a.int(int64(id)).int(n).value(f.LFN).int(f.Size).int(f.Events).int(f.FirstEvent)
	return a.text(f.Checksum).text(f.Group).int(int64(now)).text(moreText(f))
}

func moreText(f *jjm.File) string {
	if len(f.Lumis) == 0 && len(f.Locations) == 0 && len(f.Parents) == 0 && f.Path == "" {
		return ""
	}
	m := fileMore{Locations: f.Locations, Parents: f.Parents, Path: f.Path}
	for _, l := range f.Lumis {
		m.Lumis = append(m.Lumis, [3]uint32{l.Run, l.First, l.Last})
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // texts and numbers can always be encoded
	}
	return string(b)
}

// fileColumns are the columns of the table files, named f in the query, that scanFile reads.
const fileColumns = "f.n, f.lfn, f.size, f.events, f.first_event, f.checksum, f.boundary, f.added, f.more"

func scanFile(r row) (f jjm.File, err error) {
	f = jjm.File{LFN: r.text(1), Size: r.int(2), Events: r.int(3), FirstEvent: r.int(4), Checksum: r.text(5),
		Group: r.text(6), Added: jjm.Time(r.int(7))}
	text := r.text(8)
	if text == "" {
		return f, nil
	}
	var m fileMore
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return f, jjm.Errorf(jjm.Internal, "file %s: column more: %w", f.LFN, err)
	}
	f.Locations, f.Parents, f.Path = m.Locations, m.Parents, m.Path
	for _, l := range m.Lumis {
		f.Lumis = append(f.Lumis, jjm.LumiRange{Run: l[0], First: l[1], Last: l[2]})
	}
	return f, nil
}

// Files calls fn for the files of a dataset, in the order in which they were added. It begins at the number from and
// stops after limit files (0 = all). Files stops at an error of fn and returns the error unchanged.
func (s *Store) Files(ctx context.Context, id DatasetID, from int64, limit int,
	fn func(n int64, f jjm.File) error) error {
	if limit <= 0 {
		limit = maxLocal
	}
	return s.eachFile(ctx, "SELECT "+fileColumns+" FROM files AS f WHERE f.dataset = ? AND f.n >= ? ORDER BY f.n LIMIT ?",
		args{}.int(int64(id)).int(from).int(int64(limit)), fn)
}

func (s *Store) eachFile(ctx context.Context, query string, a args, fn func(n int64, f jjm.File) error) error {
	var stop error // the error of fn, returned unchanged
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, query, a, func(r row) error {
			f, err := scanFile(r)
			if err == nil {
				stop = fn(r.int(0), f)
				err = stop
			}
			return err
		})
	})
	if stop != nil {
		return stop
	}
	if err != nil {
		return s.fail(err, "read files of a dataset")
	}
	return nil
}

// HasFile reports whether a dataset has a file.
func (s *Store) HasFile(ctx context.Context, id DatasetID, lfn string) (has bool, err error) {
	err = s.eachFile(ctx, "SELECT "+fileColumns+" FROM files AS f WHERE f.dataset = ? AND f.lfn = ?",
		args{}.int(int64(id)).value(lfn), func(int64, jjm.File) error {
			has = true
			return nil
		})
	return has, err
}

// DatasetNamed returns the dataset of an owner by its name. The error is of kind Gone if the dataset is unknown.
func (s *Store) DatasetNamed(ctx context.Context, uid int, name string) (Dataset, error) {
	all, err := s.datasets(ctx, "WHERE uid = ? AND name = ?", args{}.int(int64(uid)).text(name))
	switch {
	case err != nil:
		return Dataset{}, s.fail(err, "read dataset %.80q", name)
	case len(all) == 0:
		return Dataset{}, jjm.Errorf(jjm.Gone, "no dataset %s", name)
	}
	return all[0], nil
}

// Datasets returns the datasets of an owner, or of all owners if uid is negative, sorted
// by name.
func (s *Store) Datasets(ctx context.Context, uid int) ([]Dataset, error) {
	where, a := "WHERE removed = 0", args(nil)
	if uid >= 0 {
		where, a = where+" AND uid = ?", args{}.int(int64(uid))
	}
	all, err := s.datasets(ctx, where+" ORDER BY name, uid", a)
	if err != nil {
		return nil, s.fail(err, "list datasets")
	}
	return all, nil
}

func (s *Store) datasets(ctx context.Context, where string, a args) (all []Dataset, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT "+datasetColumns+" FROM datasets "+where, a, func(r row) error {
			all = append(all, scanDataset(r))
			return nil
		})
	})
	return all, err
}

// MadeBy returns the datasets that get the outputs of a grid job, sorted by name. If the grid job fills a container,
// the dataset that stands for the container is included; see [Dataset.Head].
func (s *Store) MadeBy(ctx context.Context, id jjm.GridID) (all []Dataset, err error) {
	err = s.view(ctx, func(c *conn) error {
		all, err = madeBy(ctx, c, id)
		return err
	})
	if err != nil {
		return nil, s.fail(err, "list the datasets that grid job %s fills", id)
	}
	return all, nil
}

// MadeBy is [Store.MadeBy] within the transaction.
func (tx *Tx) MadeBy(id jjm.GridID) ([]Dataset, error) {
	if tx.c == nil {
		return nil, tx.fail(errOver(), "list the datasets that grid job %s fills", id)
	}
	all, err := madeBy(tx.ctx, tx.c, id)
	if err != nil {
		return nil, tx.fail(err, "list the datasets that grid job %s fills", id)
	}
	return all, nil
}

func madeBy(ctx context.Context, c *conn, id jjm.GridID) (all []Dataset, err error) {
	err = c.query(ctx, "SELECT "+datasetColumns+" FROM datasets WHERE maker = ? ORDER BY name",
		args{}.int(int64(id)), func(r row) error {
			all = append(all, scanDataset(r))
			return nil
		})
	return all, err
}
