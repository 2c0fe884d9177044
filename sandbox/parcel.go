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

	"jjm"
)

// ParcelName is the name of a parcel in the folder where a carried job ran.
const ParcelName = "parcel.tar"

// A parcel is a tar of the attempt's files below parcelFiles and, last, its
// result: a parcel that was cut anywhere has none.
const (
	parcelFiles  = "attempt/"
	parcelResult = "result.json"
)

// WriteParcel writes what an attempt left: its output, error and log, the files
// that its result lists, and the result. Without a result (nil) it holds what
// there is.
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
			return wrap(err, "parcel of %s", id.LocalID)
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
			return wrap(err, "parcel of %s", id.LocalID)
		}
	}
	return wrap(t.Close(), "parcel of %s", id.LocalID)
}

// addParcelFile adds a file of the attempt's folder. What is absent, or no
// regular file, is left out: the daemon will find it missing and say so.
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

// below is a part of a rooted file system, for opening files only.
type below struct {
	FS
	dir string
}

func (b below) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	return b.FS.OpenFile(path.Join(b.dir, name), flag, perm)
}

// parcelOf is where the parcel of a position arrives.
func parcelOf(tag jjm.Tag, pos int32) string { return backDir(tag) + "/" + strconv.Itoa(int(pos)) }

// TakeParcel unpacks the parcel of a position as if the wrapper had seen the
// area: the attempt's files, the claim, the result. It is called once the batch
// system says that the job is over, for before that the parcel may be half
// there. The result is nil if there is no parcel, or none with a result; the
// files are kept all the same. If somebody else holds the claim - the daemon,
// which gave up on the attempt - the result does not count, and is nil.
//
// At most limit bytes are unpacked; 0 means no bound. A parcel that is larger,
// damaged, or about another attempt is an error of kind Invalid.
func (a *Area) TakeParcel(tag jjm.Tag, pos int32, id jjm.AttemptID, limit int64) (*jjm.Result, error) {
	if err := checkTag(tag); err != nil {
		return nil, err
	}
	f, info, err := a.openRegular(parcelOf(tag, pos))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap(err, "open the parcel of %s", id.LocalID)
	}
	defer f.Close()
	if limit > 0 && info.Size() > limit+MaxResult+(1<<20) {
		return nil, jjm.Errorf(jjm.Invalid, "sandbox: the parcel of %s: %w", id.LocalID, &TooLarge{limit})
	}
	r, err := a.unpackParcel(f, id, limit)
	if err != nil {
		return nil, wrap(err, "unpack the parcel of %s", id.LocalID)
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

// entryBytes is what an entry counts beside its content, in bytes: its header and its
// inode, so that empty files have a bound too.
const entryBytes = 1 << 10

// TooLarge is the error for what has more bytes than Limit allows. To try again helps
// nothing.
type TooLarge struct{ Limit int64 }

func (t *TooLarge) Error() string {
	return fmt.Sprintf("it has more than the %d bytes allowed", t.Limit)
}

// unpackParcel writes the files and gives the result, nil if there is none. What is
// written is counted, whatever the headers say.
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
			b, err := io.ReadAll(io.LimitReader(content, MaxResult+1))
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

// parcelHolds reports whether a file of an attempt's folder may come in a parcel.
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
