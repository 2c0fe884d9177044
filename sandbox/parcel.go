package sandbox

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// ParcelName is the name of a parcel in the folder in which the job ran.
const ParcelName = "parcel.tar"

// A parcel is a tar that brings the files of an attempt back from a worker that does not see the area. It contains the
// attempt's files below parcelFiles, and then the attempt's result. Because the result comes last, a parcel that was
// cut short has no result.
const (
	parcelFiles  = "attempt/"
	parcelResult = "result.json"
)

// WriteParcel writes the parcel of an attempt: standard output, standard error, log, the files in its result, and the
// result. If r is nil, the parcel has no result, and contains only the files that exist.
func (a *Area) WriteParcel(w io.Writer, id jjm.AttemptID, r *jjm.Result) error {
	t := tar.NewWriter(w)
	names := []string{Stdout, Stderr, GLFName}
	if r != nil {
		for _, out := range r.Outputs {
			if out.Absent == "" {
				names = append(names, out.Name)
			}
		}
	}
	sub := &Area{root: a.root, fs: below{a.fs, AttemptDir(id)}}
	for _, name := range names {
		if err := sub.addParcelFile(t, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return a.wrap(err, "parcel of %s", id.LocalID)
		}
	}
	if r != nil {
		b, err := json.Marshal(r)
		if err == nil {
			err = t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: parcelResult, Mode: fileMode, Size: int64(len(b))})
		}
		if err == nil {
			_, err = t.Write(b)
		}
		if err != nil {
			return a.wrap(err, "parcel of %s", id.LocalID)
		}
	}
	return a.wrap(t.Close(), "parcel of %s", id.LocalID)
}

// addParcelFile adds a file of the attempt's folder to the tar. The error is fs.ErrNotExist if the file is absent or
// not regular; the daemon then reports the file as missing. A name that is no valid path is skipped.
func (a *Area) addParcelFile(t *tar.Writer, name string) error {
	if !fs.ValidPath(name) {
		return nil
	}
	f, info, err := a.openRegular(name)
	if err != nil {
		return fs.ErrNotExist
	}
	defer f.Close()
	err = t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: parcelFiles + name, Mode: fileMode, Size: info.Size(),
		ModTime: info.ModTime()})
	if err != nil {
		return err
	}
	_, err = io.CopyN(t, f, info.Size())
	return err
}

// below is an FS whose OpenFile opens names below a folder of another FS. Its other methods still work on the whole
// other FS, so they must not be used.
type below struct {
	FS
	dir string
}

func (b below) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	return b.FS.OpenFile(path.Join(b.dir, name), flag, perm)
}

// parcelOf returns the path of the returned parcel of a position.
func parcelOf(tag jjm.Tag, pos int32) string { return backDir(tag) + "/" + strconv.Itoa(int(pos)) }

// TakeParcel unpacks the parcel of a position. Afterwards the area has the same content as after a wrapper that sees
// the area: the attempt's files, the claim, the result. TakeParcel is called after the batch system reported the end of
// the job; before that the parcel may be incomplete. The result is nil if there is no parcel, or if the parcel has no
// result; the files of the parcel are kept in any case. If another claim exists - the daemon gave up on the attempt -
// the parcel's result does not count, and the result is nil.
//
// At most limit bytes are unpacked; 0 means no limit. The error is of kind Invalid if the parcel is larger, damaged, or
// belongs to another attempt; for a larger parcel it wraps [TooLarge].
func (a *Area) TakeParcel(tag jjm.Tag, pos int32, id jjm.AttemptID, limit int64) (*jjm.Result, error) {
	if err := checkTag(tag); err != nil {
		return nil, err
	}
	f, info, err := a.openRegular(parcelOf(tag, pos))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, a.wrap(err, "open the parcel of %s", id.LocalID)
	}
	defer f.Close()
	if limit > 0 && info.Size() > limit+MaxResult+MaxOutputList+(1<<20) {
		return nil, jjm.Errorf(jjm.Invalid, "sandbox: the parcel of %s: %w", id.LocalID, &TooLarge{limit})
	}
	r, err := a.unpackParcel(f, id, limit)
	if err != nil {
		return nil, a.wrap(err, "unpack the parcel of %s", id.LocalID)
	}
	if r == nil {
		return nil, nil
	}
	if r.AttemptID() != id || r.Tag != tag || r.Pos != pos {
		return nil, jjm.Errorf(jjm.Invalid, "sandbox: the parcel of %s is about attempt %d of %s", id.LocalID, r.Attempt,
			r.AttemptID().LocalID)
	}
	if _, won, err := a.Claim(tag, pos, r.Claim); err != nil || !won {
		return nil, err
	}
	return r, a.PutResult(*r)
}

// entryBytes is the number of bytes that an entry counts in addition to its content, for header and inode. It also
// limits the number of empty files.
const entryBytes = 1 << 10

// TooLarge is the error for a parcel with more than Limit bytes. A retry cannot help.
type TooLarge struct{ Limit int64 }

func (t *TooLarge) Error() string {
	return fmt.Sprintf("it has more than the %d bytes allowed", t.Limit)
}

// unpackParcel writes the files of a parcel and returns its result, nil if there is none. It writes at most as many
// bytes as the entries' headers announce, and the sum of these announcements is at most limit.
func (a *Area) unpackParcel(parcel io.Reader, id jjm.AttemptID, limit int64) (*jjm.Result, error) {
	var r *jjm.Result
	left := limit
	err := eachFile(parcel, func(h *tar.Header, content io.Reader) error {
		if limit > 0 && h.Name != parcelResult {
			if h.Size > left {
				return jjm.Errorf(jjm.Invalid, "%.100q: %w", h.Name, &TooLarge{limit})
			}
			left -= h.Size + entryBytes
			content = io.LimitReader(content, h.Size)
		}
		if h.Name == parcelResult && r == nil {
			b, err := io.ReadAll(io.LimitReader(content, MaxResult+MaxOutputList+1))
			if err != nil {
				return jjm.Errorf(jjm.Invalid, "not a whole tar: %w", err)
			}
			r = &jjm.Result{}
			if err := json.Unmarshal(b, r); err != nil {
				return jjm.Errorf(jjm.Invalid, "result: %w", err)
			}
			return nil
		}
		name, ok := strings.CutPrefix(h.Name, parcelFiles)
		if !ok || !parcelHolds(name) {
			return jjm.Errorf(jjm.Invalid, "%.100q does not belong in a parcel", h.Name)
		}
		h.Name = AttemptDir(id) + "/" + name
		return a.putFile(h, content, quick)
	})
	return r, err
}

// parcelHolds reports whether a parcel may contain this file of an attempt's folder.
func parcelHolds(name string) bool {
	top, _, deep := strings.Cut(name, "/")
	switch top {
	case Stdout, Stderr, GLFName:
		return !deep
	case WorkName, ReturnedName:
		return deep
	}
	return false
}
