package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"jjm"
)

// MaxFragment is the longest fragment of a record that an attempt may leave, in bytes.
const MaxFragment = 64 << 10

// fragments is the folder of a bulk that holds what attempts add to their records.
const fragments = "fragments"

// PutFragment publishes what the attempt at a position adds to its record, in place of
// what it added before. Nothing is synced.
func (a *Area) PutFragment(tag jjm.Tag, pos int32, xml []byte) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if len(xml) == 0 || len(xml) > MaxFragment {
		return jjm.Errorf(jjm.Invalid, "sandbox: a fragment of %d bytes: want at least one, and at most %d", len(xml),
			MaxFragment)
	}
	name := posFile(tag, fragments, pos, "")
	return wrap(a.replaceBytes(name, quick, xml), "write fragment %s", name)
}

// ReadFragment returns what the attempt at a position adds to its record, nil if that is
// nothing.
func (a *Area) ReadFragment(tag jjm.Tag, pos int32) ([]byte, error) {
	if err := checkTag(tag); err != nil {
		return nil, err
	}
	name := posFile(tag, fragments, pos, "")
	b, err := a.readBounded(name, MaxFragment)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, wrap(err, "read fragment %s", name)
}

// FragmentsChanged is when a fragment was last put in a bulk, by the clock of the file
// system; zero in one that has no folder for them.
func (a *Area) FragmentsChanged(tag jjm.Tag) (time.Time, error) {
	if err := checkTag(tag); err != nil {
		return time.Time{}, err
	}
	info, err := a.fs.Stat(BulkDir(tag) + "/" + fragments)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, wrap(err, "look at fragments of bulk %s", tag)
	}
	return info.ModTime(), nil
}

// Fragments hands the fragments of the positions whose file was written at or after since,
// by the clock of the file system, to take, one after the other. It returns the position
// at which to go on, or All. What is no regular file, or too long, is passed over.
func (a *Area) Fragments(ctx context.Context, tag jjm.Tag, look Look, since time.Time,
	take func(pos int32, xml []byte)) (next int32, err error) {
	if err := checkTag(tag); err != nil {
		return look.From, err
	}
	where := BulkDir(tag) + "/" + fragments
	dir, err := a.openDir(where)
	if err != nil {
		return look.From, wrap(err, "list fragments of bulk %s", tag)
	}
	defer dir.Close()
	there, _, err := look.positions(dir, "")
	if err != nil {
		return look.From, wrap(err, "list fragments of bulk %s", tag)
	}
	for _, pos := range there {
		if ctx.Err() != nil {
			return pos, nil
		}
		f, info, err := a.openIn(dir, where, strconv.Itoa(int(pos)))
		if err != nil {
			continue // replaced or removed meanwhile, or not a file
		}
		if !info.ModTime().Before(since) {
			if b, err := readLimited(f, info.Size(), MaxFragment); err == nil && len(b) > 0 {
				take(pos, b)
			}
		}
		f.Close()
	}
	return All, nil
}
