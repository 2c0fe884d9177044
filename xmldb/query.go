package xmldb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
	"jjm/xmldb/query"
)

// Query evaluates a path on the published record of a grid job: on the head, then on each shard, as separate documents;
// package query describes paths. The path "" returns the files unchanged. The error is of kind Invalid if the path
// cannot be parsed, goes up with .. and down again, or has an answer of more than 32 MiB; it is of kind Gone if there
// is no record.
func (db *DB) Query(grid jjm.GridID, path string) ([]string, error) {
	q, err := query.Parse(path)
	if err != nil {
		return nil, err
	}
	names, err := db.files(grid)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := db.queryFile(q, filepath.Join(grid.String(), name)); err != nil {
			return nil, jjm.Errorf(queryKind(err), "query record of grid job %d: %w", grid, err)
		}
	}
	return q.Results(), nil
}

// queryKind returns the kind of an error of a query.
func queryKind(err error) jjm.Kind {
	if jjm.KindOf(err) == jjm.Invalid {
		return jjm.Invalid
	}
	return diskKind(err)
}

// files returns the names of the head and of the existing shards, in order.
func (db *DB) files(grid jjm.GridID) ([]string, error) {
	if _, err := db.fs.Lstat(filepath.Join(grid.String(), head.File)); err != nil {
		return nil, jjm.Errorf(diskKind(err), "query record of grid job %d: %w", grid, err)
	}
	shards, err := db.shardNames(grid)
	if err != nil {
		return nil, jjm.Errorf(diskKind(err), "query record of grid job %d: %w", grid, err)
	}
	return append([]string{head.File}, shards...), nil
}

// shardNames returns the file names of the existing shards, in order.
func (db *DB) shardNames(grid jjm.GridID) ([]string, error) {
	all, err := db.entries(grid)
	if err != nil {
		return nil, err
	}
	var shards []int
	for _, name := range all {
		var n int
		if _, err := fmt.Sscanf(name, "jobs-%d.xml", &n); err == nil && name == head.ShardFile(n) {
			shards = append(shards, n)
		}
	}
	sort.Ints(shards)
	var names []string
	for _, n := range shards {
		names = append(names, head.ShardFile(n))
	}
	return names, nil
}

// entries returns the names in the folder of a grid job.
func (db *DB) entries(grid jjm.GridID) ([]string, error) {
	d, err := db.fs.OpenFile(grid.String(), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// Bytes returns the size of the files of a grid job's record, 0 if there is no record.
func (db *DB) Bytes(grid jjm.GridID) (bytes int64, err error) {
	names, err := db.entries(grid)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, jjm.Errorf(diskKind(err), "measure record of grid job %d: %w", grid, err)
	}
	for _, name := range names {
		if info, err := db.fs.Lstat(filepath.Join(grid.String(), name)); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
	}
	return bytes, nil
}

// queryFile adds the results from one file, unless the path cannot select anything in that file. A missing shard is not
// an error: the record was removed meanwhile.
func (db *DB) queryFile(q *query.Query, path string) error {
	root := "localjobs"
	if filepath.Base(path) == head.File {
		root = "gridjob"
	}
	if !q.Wants(root) {
		return nil
	}
	data, _, err := db.read(path, head.MaxShard)
	if errors.Is(err, fs.ErrNotExist) && root == "localjobs" {
		return nil
	}
	if err != nil {
		return err
	}
	db.queries.Lock() // only one tree is in memory at a time
	defer db.queries.Unlock()
	if err := q.Add(data); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
