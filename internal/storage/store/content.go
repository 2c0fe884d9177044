package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

// Content holds the values that distinguish one store from another.
type Content struct {
	// Identity is chosen when the store is created and never changes; "" for a store that does not exist yet.
	Identity string
	// Highest is the highest id of a grid job, 0 if there is none.
	Highest jjm.GridID
	// Clusters are the clusters whose batch systems have, or may have, jobs of the store.
	Clusters []string
	// Work is the folder of the work areas that the last daemon used; "" if no daemon stored it, see [Store.UsesWork].
	Work string
	// Areas are the owners of unfinished grid jobs with a folder in a work area.
	Areas []Area
}

// Area is an owner with work in a work area.
type Area struct {
	Owner jjm.Owner
	Grids int64 // number of the owner's grid jobs that are not over
}

// workKey is the key of the meta value that holds [Content.Work].
const workKey = "work"

// UsesWork stores the folder of the work areas, which [Content.Work] then has.
func (s *Store) UsesWork(ctx context.Context, folder string) error {
	if was, _, err := s.Meta(ctx, workKey); err != nil || was == folder {
		return err
	}
	return s.SetMeta(ctx, workKey, folder)
}

// accept calls [Options.Accept] with the content of the store, or of a new store if none exists yet.
func (s *Store) accept() error {
	if s.o.Accept == nil {
		return nil
	}
	have, err := s.look()
	if err != nil {
		return err
	}
	return s.o.Accept(have)
}

// contentOf reads the content of a store. version is the version of its schema, 0 for a store without a schema.
func contentOf(c *conn, version int) (have Content, err error) {
	if version == 0 {
		return have, nil
	}
	err = c.query(context.Background(), "SELECT nonce, created FROM identity", nil, func(r row) error {
		have.Identity = fmt.Sprintf("%s-%d", r.text(0), r.int(1))
		return nil
	})
	if err != nil {
		return have, err
	}
	highest, err := c.number("SELECT seq FROM sqlite_sequence WHERE name = 'grid_jobs'", nil)
	have.Highest = jjm.GridID(highest)
	if err != nil {
		return have, err
	}
	err = c.query(context.Background(), "SELECT DISTINCT cluster FROM bulks WHERE state < ? ORDER BY cluster",
		args{}.int(int64(jjm.BulkRefused)), func(r row) error {
			have.Clusters = append(have.Clusters, r.text(0))
			return nil
		})
	if err != nil {
		return have, err
	}
	return have, areasOf(c, &have)
}

// areasOf sets the fields of the content that are about work areas.
func areasOf(c *conn, have *Content) error {
	err := c.query(context.Background(), "SELECT value FROM meta WHERE key = ?", args{}.value(workKey), func(r row) error {
		have.Work = r.text(0)
		return nil
	})
	if err != nil {
		return err
	}
	return c.query(context.Background(), "SELECT uid, gid, user, count(*) FROM grid_jobs WHERE archived < 2 AND "+
		"prepared = 1 AND status NOT IN "+overGrids+" GROUP BY uid, user ORDER BY user", nil, func(r row) error {
		have.Areas = append(have.Areas, Area{Owner: jjm.Owner{UID: int(r.int(0)), GID: int(r.int(1)), User: r.text(2)},
			Grids: r.int(3)})
		return nil
	})
}

// Content returns the values that distinguish this store from other stores.
func (s *Store) Content(ctx context.Context) (have Content, err error) {
	err = s.view(ctx, func(c *conn) error {
		have, err = contentOf(c, len(s.steps))
		return err
	})
	if err != nil {
		return Content{}, s.fail(err, "read the identity of %s", s.path)
	}
	return have, nil
}

// NextGrid returns the id that the next [Tx.InsertGrid] will assign.
func (tx *Tx) NextGrid() (jjm.GridID, error) {
	if tx.c == nil {
		return 0, tx.fail(errOver(), "read the next id")
	}
	highest, err := tx.c.number("SELECT seq FROM sqlite_sequence WHERE name = 'grid_jobs'", nil)
	if err != nil {
		return 0, tx.fail(err, "read the next id")
	}
	return jjm.GridID(highest) + 1, nil
}

// SkipGrids ensures that [Tx.InsertGrid] assigns only ids above upTo.
func (tx *Tx) SkipGrids(upTo jjm.GridID) error {
	next, err := tx.NextGrid()
	if err != nil || upTo < next {
		return err
	}
	if _, err := tx.exec("DELETE FROM sqlite_sequence WHERE name = 'grid_jobs'", nil); err != nil {
		return tx.fail(err, "skip ids up to %d", upTo)
	}
	if _, err := tx.exec("INSERT INTO sqlite_sequence (name, seq) VALUES ('grid_jobs', ?)",
		args{}.int(int64(upTo))); err != nil {
		return tx.fail(err, "skip ids up to %d", upTo)
	}
	return nil
}

// Look returns the content of the store at path and changes nothing. The store may be open in a daemon, have an older
// schema, or be a file that is not a store yet. A missing store has the content of a new store. Look returns the errors
// of [Open], and an error of kind Denied if it is not permitted to read the file.
func Look(path string) (Content, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return Content{}, jjm.Errorf(jjm.Invalid, "store: path %q: want the path of a file", path)
	}
	s := &Store{path: full, o: Options{Now: time.Now, ReadOnly: true}, steps: Options{}.schema()}
	have, err := s.look()
	if err != nil {
		return Content{}, s.failFile(err, "look at %s", full)
	}
	return have, nil
}

func (s *Store) look() (have Content, err error) {
	switch err := unix.Faccessat(unix.AT_FDCWD, s.path, unix.R_OK, unix.AT_EACCESS); {
	case errors.Is(err, fs.ErrNotExist):
		return have, s.canBegin(false)
	case errors.Is(err, fs.ErrPermission):
		return have, jjm.Errorf(jjm.Denied, "it may not be read by this account: %w", err)
	case err != nil:
		return have, err
	}
	size, err := fileSize(s.path)
	if err != nil {
		return have, err
	}
	if size == 0 {
		return have, s.canBegin(true)
	}
	how, log := readOnly, s.hasLog()
	if !log {
		how = still
	}
	c, err := dial(s.path, how)
	if err != nil {
		return have, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	version, err := s.identify(c)
	if err != nil {
		return have, err
	}
	if err := s.complete(size, version, log); err != nil {
		return have, err
	}
	return contentOf(c, version)
}
