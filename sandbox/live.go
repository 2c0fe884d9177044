package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"jjm/internal/jjm"
)

// live is a kind of file that running attempts write again and again. The folder of a bulk has a subfolder with the
// name of the kind, with one file for each position. The files are not synced.
type live string

const (
	progress  live = "progress"  // progress of applications
	fragments live = "fragments" // XML that attempts add to their records
)

// max returns the largest length of a file of this kind in bytes.
func (k live) max() int64 {
	if k == fragments {
		return jjm.MaxFragment
	}
	return 8 << 10
}

// put writes the file of a position.
func (a *Area) put(k live, tag jjm.Tag, pos int32, b []byte) error {
	name := posFile(tag, string(k), pos, "")
	return a.wrap(a.replaceBytes(name, quick, b), "write %s", name)
}

// one returns the content of the file of a position, nil if the file does not exist.
func (a *Area) one(k live, tag jjm.Tag, pos int32) ([]byte, error) {
	if err := checkTag(tag); err != nil {
		return nil, err
	}
	name := posFile(tag, string(k), pos, "")
	b, err := a.readBounded(name, k.max())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, a.wrap(err, "read %s", name)
}

// changed returns the time at which a file of this kind was last written in a bulk, by the clock of the file system;
// zero if the bulk has no folder for such files.
func (a *Area) changed(k live, tag jjm.Tag) (time.Time, error) {
	if err := checkTag(tag); err != nil {
		return time.Time{}, err
	}
	info, err := a.fs.Stat(BulkDir(tag) + "/" + string(k))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, a.wrap(err, "look at %s of bulk %s", k, tag)
	}
	return info.ModTime(), nil
}

// latest calls the function take for each file that was written at or after since, by the clock of the file system, in
// the order of look. It returns the position at which to continue, or All. It skips files that are not regular, empty
// or too long.
func (a *Area) latest(ctx context.Context, k live, tag jjm.Tag, look Look, since time.Time,
	take func(pos int32, b []byte)) (next int32, err error) {
	if err := checkTag(tag); err != nil {
		return look.From, err
	}
	where := BulkDir(tag) + "/" + string(k)
	dir, err := a.openDir(where)
	if err != nil {
		return look.From, a.wrap(err, "list %s of bulk %s", k, tag)
	}
	defer dir.Close()
	there, _, err := look.positions(dir, "")
	if err != nil {
		return look.From, a.wrap(err, "list %s of bulk %s", k, tag)
	}
	for _, pos := range there {
		if ctx.Err() != nil {
			return pos, nil
		}
		f, info, err := a.openIn(dir, where, strconv.Itoa(int(pos)))
		if err != nil {
			continue // the file was replaced or removed meanwhile, or is not regular
		}
		if !info.ModTime().Before(since) {
			if b, err := readLimited(f, info.Size(), k.max()); err == nil && len(b) > 0 {
				take(pos, b)
			}
		}
		f.Close()
	}
	return All, nil
}
