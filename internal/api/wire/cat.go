package wire

import (
	"cmp"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// VerbCat is the verb "cat": it shows a file of a local job. The bytes of the file follow
// the answer.
func VerbCat() Verb[CatRequest, CatAnswer] {
	return Verb[CatRequest, CatAnswer]{About{Name: "cat", MaxBytes: maxShort,
		Help: "A file of a local job, and with follow what is appended to it."}}
}

// CatRequest names one local job and one of its files, or requests the list of its files.
type CatRequest struct {
	Head
	One
	CatFile
	// List requests the names of the files that Path can name.
	List bool `json:"list,omitempty"`
	// Tail requests at most this many of the last bytes of the file, in whole lines if possible; 0 = all bytes.
	Tail int64 `json:"tail,omitempty"`
	// Follow makes the daemon also send all text appended to the file until the local job is over.
	Follow bool `json:"follow,omitempty"`
}

// CatFile names a file of a local job, either by File or by Path.
type CatFile struct {
	// File is one of [Files].
	File string `json:"file,omitempty"`
	// Path is relative to the folder in which the application runs or ran. If Path is one of [Files] and no file of
	// that name exists in the folder, Path means the same as File.
	Path string `json:"path,omitempty"`
	// Attempt is the number of the attempt, nil for the current or last attempt.
	Attempt *int32 `json:"attempt,omitempty"`
}

// String names the file for people.
func (f CatFile) String() string {
	name := cmp.Or(f.Path, f.File)
	if f.Attempt != nil {
		name += " of attempt " + strconv.Itoa(int(*f.Attempt))
	}
	return name
}

// maxTail is the largest Tail that a request may ask for.
const maxTail = 1 << 20

// Files returns the names of the files that "cat" can show: the two output streams of the
// job, its script, and its grid log file.
func Files() []string { return []string{"stdout", "stderr", "script", "glf"} }

// Check requires one reference and a known file.
func (r CatRequest) Check() error {
	switch {
	case r.Attempt != nil && *r.Attempt < 0:
		return jjm.Errorf(jjm.Invalid, "attempt: %d: want the number of an attempt, from 0", *r.Attempt)
	case r.List && (r.File != "" || r.Path != "" || r.Follow || r.Tail != 0):
		return jjm.Errorf(jjm.Invalid, "list: it lists all files: want no file, path, follow or tail with it")
	case r.List:
	case r.File != "" && r.Path != "":
		return jjm.Errorf(jjm.Invalid, "path: want file or path, not both")
	case r.Path != "" && (len(r.Path) > maxPath || !fs.ValidPath(r.Path) || strings.ContainsRune(r.Path, 0)):
		return jjm.Errorf(jjm.Invalid, "path %.100q: want a path below the work folder, without . or ..", r.Path)
	case r.Path == "" && !slices.Contains(Files(), r.File):
		return jjm.Errorf(jjm.Invalid, "file %.40q: want %s", r.File, jjm.AnyOf(Files()))
	case r.Tail < 0 || r.Tail > maxTail:
		return jjm.Errorf(jjm.Invalid, "tail: want 0 (all) to %d bytes", maxTail)
	}
	return r.one("cat")
}

// CatAnswer precedes the bytes of the file, or lists files.
type CatAnswer struct {
	Reply
	Files []jjm.JobFile `json:"files,omitempty"`
	// More is set if there are more files than listed.
	More bool `json:"more,omitempty"`
	Follows
}
