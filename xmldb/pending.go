package xmldb

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// Fragments wait on disk for the next publication of their file, in fragments-0003.pending (for the grid job itself in
// fragments-head.pending). A file contains canonical fragments, each ended by a NUL, which XML cannot contain. If the
// last fragment has no NUL, a crash cut it short.

// headShard represents the head among the shard numbers.
const headShard = -1

// maxPending is the largest size of a file of waiting fragments, in bytes.
const maxPending = 16 << 20

// pendingFile returns the name of the file with the fragments that wait for a shard, or for the head.
func pendingFile(shard int) string {
	if shard == headShard {
		return "fragments-head.pending"
	}
	return fmt.Sprintf("fragments-%04d.pending", shard)
}

// AddFragment accepts a fragment for the local job with the number local of a grid job, or for the grid job itself if
// local is -1; the fragment must name the same job. The fragment is stored on disk, and the next Publish of the job's
// shard merges it (for the grid job, the next Publish of any shard); see Pending. If jjm crashes between the merge and
// the removal of the fragment, the fragment is merged again, and an element without name or id is then in the record
// twice.
//
// The caller has to check whether the writer may write about the job. The error is of kind Invalid for a bad fragment,
// of kind Gone for a job that does not exist, and of kind Busy if the record is not published yet, the disk has
// trouble, or too many fragments are waiting.
func (db *DB) AddFragment(grid jjm.GridID, local int32, xml []byte) error {
	f, err := ParseFragment(xml)
	if err != nil {
		return err
	}
	if f.Grid != grid || f.Local != max(local, -1) {
		return jjm.Errorf(jjm.Invalid, "it is for job %s, not for %s",
			f.Ref(), Fragment{Grid: grid, Local: max(local, -1)}.Ref())
	}
	return db.Add(f)
}

// Add does the same as AddFragment, for a parsed fragment.
func (db *DB) Add(f Fragment) error {
	if len(f.elements) == 0 {
		return jjm.Errorf(jjm.Invalid, "want at least one element")
	}
	st := db.lock(f.Grid)
	defer db.unlock(f.Grid, st)
	if err := db.checkJob(f); err != nil {
		return err
	}
	shard := headShard
	if f.Local >= 0 {
		shard = int(f.Local) / ShardSize
	}
	if err := db.appendPending(filepath.Join(f.Grid.String(), pendingFile(shard)), f.XML()); err != nil {
		// No error of the disk is the writer's fault.
		return jjm.Errorf(jjm.Busy, "fragment for job %s: %w%s", f.Ref(), err, remedy(err))
	}
	return nil
}

// checkJob returns an error if the published head does not contain the job: of kind Gone if the job does not exist, of
// kind Busy if the head or the job is not published yet.
func (db *DB) checkJob(f Fragment) error {
	data, _, err := db.read(filepath.Join(f.Grid.String(), head.File), head.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return jjm.Errorf(jjm.Gone, "fragment for job %s: there is no record of grid job %d", f.Ref(), f.Grid)
	}
	var h Head
	if err == nil {
		h, err = head.Parse(data)
	}
	if err != nil {
		return jjm.Errorf(jjm.Busy, "fragment for job %s: the record must be published first: %w", f.Ref(), err)
	}
	switch {
	case int(f.Local) < h.Jobs:
		return nil
	case int(f.Local) < h.Grid.Step.Expected:
		return jjm.Errorf(jjm.Busy, "fragment for job %s: the record has %s so far, of %d", f.Ref(), jjm.Count(h.Jobs, "local job"),
			h.Grid.Step.Expected)
	}
	return jjm.Errorf(jjm.Gone, "fragment for job %s: the grid job has %s", f.Ref(), jjm.Count(h.Jobs, "local job"))
}

// appendPending adds one fragment. After an error it removes the part of the fragment that it wrote.
func (db *DB) appendPending(path string, xml []byte) error {
	f, err := db.fs.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(db.appendTo(f, path, xml), f.Close())
}

// appendTo adds a fragment to the file at path. After an error it removes the part of the fragment that it wrote.
func (db *DB) appendTo(f *os.File, path string, xml []byte) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() > maxPending {
		return fmt.Errorf("%s: %d bytes of fragments are already waiting", path, st.Size())
	}
	if err = db.endTorn(f, st.Size()); err != nil {
		_ = f.Truncate(st.Size())
		return err
	}
	if _, err = f.Write(append(xml, 0)); err != nil {
		_ = f.Truncate(st.Size())
	}
	return err
}

// endTorn adds the NUL to a fragment that a crash left without NUL, which separates it from the next fragment.
func (db *DB) endTorn(f *os.File, size int64) error {
	if size == 0 {
		return nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil || last[0] == 0 {
		return err
	}
	_, err := f.Write([]byte{0})
	return err
}

// Pending returns the shards for which fragments wait, in ascending order; own is set if fragments wait for the grid
// job itself. The caller should publish these files soon, also after a restart. The error means that the folder of the
// grid job cannot be read.
func (db *DB) Pending(grid jjm.GridID) (shards []int, own bool, err error) {
	names, err := db.entries(grid)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, jjm.Errorf(diskKind(err), "fragments of grid job %d: %w", grid, err)
	}
	for _, name := range names {
		digits, ok := strings.CutPrefix(strings.TrimSuffix(name, ".pending"), "fragments-")
		if n, err := strconv.Atoi(digits); ok && err == nil && name == pendingFile(n) {
			shards = append(shards, n)
		}
		own = own || name == pendingFile(headShard)
	}
	sort.Ints(shards)
	return shards, own, nil
}

// pending holds the fragments that wait for one file.
type pending struct {
	found bool
	data  []byte
}

// readPending reads the waiting fragments. An error must not prevent a publication: readPending logs the error and
// drops the fragments.
func (db *DB) readPending(dir, name string) pending {
	data, _, err := db.read(filepath.Join(dir, name), maxPending+jjm.MaxFragment+2)
	if errors.Is(err, fs.ErrNotExist) {
		return pending{}
	}
	if err != nil {
		db.warn("waiting fragments cannot be read: they are dropped", "file", filepath.Join(db.dir, dir, name), "error", err)
	}
	return pending{found: true, data: data}
}

// mergePending merges fragments into the extras of a file. It may modify x.
func (db *DB) mergePending(x *extras, p pending, f file) *extras {
	for text := range bytes.SplitSeq(p.data, []byte{0}) {
		if len(text) == 0 {
			continue
		}
		frag, err := ParseFragment(text)
		if err != nil {
			db.warn("a waiting fragment cannot be merged: it is dropped", "file", f.pending, "error", err)
			continue
		}
		if x == nil {
			x = &extras{}
		}
		path := ""
		if frag.Local >= 0 {
			path = "localjob:" + frag.Ref()
		}
		for _, c := range frag.elements {
			x.put(path, c)
		}
	}
	return x
}

// dropPending removes the file of merged fragments. It logs an error.
func (db *DB) dropPending(dir, name string, p pending) {
	if !p.found {
		return
	}
	if err := db.fs.RemoveAll(filepath.Join(dir, name)); err != nil {
		db.warn("merged fragments cannot be removed: they will be merged again",
			"file", filepath.Join(db.dir, dir, name), "error", err)
	}
}
