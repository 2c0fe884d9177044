package xmldb

import (
	"iter"
	"path/filepath"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// NamedFile is one file of a record, with its content.
type NamedFile struct {
	Name    string // "record.xml" or "jobs-0003.xml"
	Content []byte
}

// Files returns the files of a record in the form for an output tar. The first file is the head. It is made from h,
// which need not be published yet, and has the foreign content of the published head. Then come the published shards.
// The sequence ends after the first error.
func (db *DB) Files(h Head) iter.Seq2[NamedFile, error] {
	return func(yield func(NamedFile, error) bool) {
		b, err := db.render(h)
		if err != nil || !yield(NamedFile{head.File, b}, nil) {
			if err != nil {
				yield(NamedFile{}, err)
			}
			return
		}
		names, err := db.shardNames(h.Grid.ID)
		if err != nil {
			yield(NamedFile{}, jjm.Errorf(diskKind(err), "record of grid job %d: %w", h.Grid.ID, err))
			return
		}
		for _, name := range names {
			b, _, err := db.read(filepath.Join(h.Grid.ID.String(), name), head.MaxShard)
			if err != nil {
				yield(NamedFile{}, jjm.Errorf(diskKind(err), "record of grid job %d: %w", h.Grid.ID, err))
				return
			}
			if !yield(NamedFile{name, b}, nil) {
				return
			}
		}
	}
}

// render encodes a head without writing it.
func (db *DB) render(h Head) ([]byte, error) {
	grid := h.Grid.ID
	st := db.lock(grid)
	defer db.unlock(grid, st)
	if h.Written == 0 {
		h.Written = jjm.At(db.now())
	}
	f := file{name: head.File, root: "gridjob", layout: headLayout, pending: pendingFile(headShard)}
	// If the head does not fit, the extras are cut. The cut extras must not stay in memory, because nothing is written
	// here.
	defer db.forgetFile(st, f.name)
	x, _, err := db.load(st, grid.String(), f)
	if err != nil {
		return nil, jjm.Errorf(diskKind(err), "record of grid job %d: %w", grid, err)
	}
	return encodeHead(nil, &h, x)
}
