package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"jjm/internal/jjm"
)

// SetMeta stores a small value under a key. The packages above define the keys. An empty value removes the key.
func (tx *Tx) SetMeta(key, value string) error {
	query, a := "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
		args{}.value(key).value(value)
	if value == "" {
		query, a = "DELETE FROM meta WHERE key = ?", a[:1]
	}
	if _, err := tx.exec(query, a); err != nil {
		return tx.fail(err, "set meta %.80q", key)
	}
	return nil
}

// SetMeta is [Tx.SetMeta] in a separate transaction.
func (s *Store) SetMeta(ctx context.Context, key, value string) error {
	return s.Update(ctx, func(tx *Tx) error { return tx.SetMeta(key, value) })
}

// Meta returns the value of a key. found is false if the key has no value.
func (s *Store) Meta(ctx context.Context, key string) (value string, found bool, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT value FROM meta WHERE key = ?", args{}.value(key), func(r row) error {
			value, found = r.text(0), true
			return nil
		})
	})
	if err != nil {
		return "", false, s.fail(err, "read meta %.80q", key)
	}
	return value, found, nil
}

// Totals are the numbers of rows in the store.
type Totals struct {
	Grids    [jjm.NumGridStatuses]int64 // all grid jobs that are not removed, by status
	Live     [jjm.NumStates]int64       // local jobs in the live tables, by state
	Archived int64                      // local jobs of grid jobs that are completely archived
	Bulks    int64                      // bulks that are neither closed nor refused
	Journal  int64                      // entries of the journal
}

// Totals counts rows. It reads every live local job, which takes about 20 ms for 100,000 local jobs, but it reads no
// history.
func (s *Store) Totals(ctx context.Context) (Totals, error) {
	var t Totals
	err := s.view(ctx, func(c *conn) error {
		for _, q := range [...]struct {
			query string
			fn    func(row)
		}{
			{`SELECT status, count(*) FROM grid_jobs
				WHERE NOT EXISTS (SELECT 1 FROM removals WHERE grid = grid_jobs.id) GROUP BY status`,
				func(r row) { t.Grids[r.int(0)] = r.int(1) }},
			{"SELECT state, count(*) FROM local_jobs GROUP BY state", func(r row) { t.Live[r.int(0)] = r.int(1) }},
			{`SELECT coalesce(sum(made), 0) FROM grid_jobs WHERE archived = 2
				AND NOT EXISTS (SELECT 1 FROM removals WHERE grid = grid_jobs.id)`, func(r row) { t.Archived = r.int(0) }},
			{"SELECT count(*) FROM bulks WHERE state < 3", func(r row) { t.Bulks = r.int(0) }},
			{"SELECT coalesce(max(seq), 0) FROM journal", func(r row) { t.Journal = r.int(0) }},
		} {
			if err := c.query(ctx, q.query, nil, func(r row) error { q.fn(r); return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Totals{}, s.fail(err, "count")
	}
	return t, nil
}

// Size is the size of the store on disk, in bytes.
type Size struct {
	File int64 // the database file
	WAL  int64 // the write-ahead log beside it
	Free int64 // free pages within File, which new rows use first
}

// Size returns the size of the store.
func (s *Store) Size(ctx context.Context) (Size, error) {
	var z Size
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size", nil,
			func(r row) error {
				z.Free = r.int(0)
				return nil
			})
	})
	if err != nil {
		return Size{}, s.fail(err, "measure %s", s.path)
	}
	for _, f := range [...]struct {
		suffix string
		size   *int64
	}{{"", &z.File}, {"-wal", &z.WAL}} {
		info, err := os.Stat(s.path + f.suffix)
		switch {
		case err == nil:
			*f.size = info.Size()
		case !errors.Is(err, fs.ErrNotExist):
			return Size{}, s.fail(err, "measure %s", s.path)
		}
	}
	return z, nil
}

// Check looks for damage in the whole store: in pages, keys, constraints and references, and between local jobs and
// ledgers. It reads the whole file (about 100 MB per second) and does not wait for a writer. The error is of kind
// Internal if the store is damaged.
func (s *Store) Check(ctx context.Context) error {
	err := s.view(ctx, func(c *conn) error { return check(ctx, c) })
	if err != nil {
		return s.fail(err, "check %s", s.path)
	}
	return nil
}

// checks are queries that return rows only if the store is damaged. The first column describes the damage.
var checks = [...]string{
	"SELECT quick_check FROM pragma_quick_check WHERE quick_check <> 'ok' LIMIT 10",
	`SELECT format('%s row %s lacks its %s', "table", rowid, parent) FROM pragma_foreign_key_check LIMIT 10`,
	`SELECT format('local job %d.%d has no cover', grid, n) FROM local_jobs AS l WHERE NOT EXISTS (SELECT 1 FROM cover AS c
		WHERE c.grid = l.grid AND c.step = l.step AND c.unit = l.unit AND c.first = l.first AND c.local = l.n) LIMIT 10`,
	`SELECT format('cover of local job %d.%d has no local job', grid, local) FROM cover AS c WHERE NOT EXISTS
		(SELECT 1 FROM local_jobs AS l WHERE l.grid = c.grid AND l.n = c.local) LIMIT 10`,
	`SELECT format('local job %d.%d reads files and owns none', p.grid, p.n) FROM part_inputs AS p WHERE NOT EXISTS
		(SELECT 1 FROM cover_input AS c WHERE c.grid = p.grid AND c.local = p.n) LIMIT 10`,
	`SELECT format('local job %d.%d owns files and says not which it reads', c.grid, c.local) FROM cover_input AS c WHERE NOT EXISTS
		(SELECT 1 FROM part_inputs AS p WHERE p.grid = c.grid AND p.n = c.local) LIMIT 10`,
	`SELECT format('dataset %s has not the %d files that it counts', d.name, d.files) FROM datasets AS d
		WHERE d.files <> (SELECT count(*) FROM files AS f WHERE f.dataset = d.id) LIMIT 10`,
}

func check(ctx context.Context, c *conn) error {
	var found []string
	for _, query := range checks {
		err := c.query(ctx, query, nil, func(r row) error {
			found = append(found, r.text(0))
			return nil
		})
		if err != nil {
			return err
		}
	}
	if found != nil {
		return jjm.Errorf(jjm.Internal, "it is damaged: stop the daemon, keep a copy, restore the last backup: %s",
			strings.Join(found, "; "))
	}
	return nil
}

// Starts returns what the store keeps about the starts of the daemon; the zero value if no daemon has started.
func (s *Store) Starts(ctx context.Context) (starts jjm.Starts, err error) {
	text, found, err := s.Meta(ctx, jjm.StartsKey)
	if err != nil || !found {
		return starts, err
	}
	if err := json.Unmarshal([]byte(text), &starts); err != nil {
		return starts, fmt.Errorf("%s %.80q: %w", jjm.StartsKey, text, err)
	}
	return starts, nil
}
