package catalogue

import (
	"path"
	"slices"
	"strings"

	"jjm"
)

// Entry is a regular file in a listing of a folder.
type Entry struct {
	Name     string
	Size     int64
	Modified jjm.Time
}

// SplitWatch returns the folder and the pattern of what is watched, such as
// "/data/raw/*.root". Only the last element may have wildcards; a path without
// any, or one that ends in a slash, watches everything in a folder. The folder is
// as it was written: one that is relative starts from the job file's folder.
func SplitWatch(watch string) (folder, pattern string, err error) {
	folder, pattern = path.Split(watch)
	if !strings.ContainsAny(pattern, `*?[\`) {
		folder, pattern = watch, "*"
	}
	_, bad := path.Match(pattern, "x")
	switch {
	case watch == "":
		return "", "", jjm.Errorf(jjm.Invalid, "is empty: want a folder and a pattern, such as /data/raw/*.root")
	case len(watch) > maxWatch || strings.ContainsRune(watch, 0):
		return "", "", jjm.Errorf(jjm.Invalid, "want at most %d bytes and no NUL", maxWatch)
	case strings.ContainsAny(folder, `*?[\`):
		return "", "", jjm.Errorf(jjm.Invalid, "%.60q: only the last element may have wildcards: watch one folder", watch)
	case bad != nil:
		return "", "", jjm.Errorf(jjm.Invalid,
			"%.60q is no pattern: * and ? stand for characters, [a-z] for one of a range, \\ takes the next as it is", pattern)
	}
	return path.Clean(folder), pattern, nil
}

// maxWatch is PATH_MAX of Linux (limits.h).
const maxWatch = 4096

// Listed returns what a listing of a folder has to offer, by name: the LFN is the
// folder, which must be absolute, and the name. A file that was changed after
// settled may still be written, and waits: waiting is how many do. Names that a
// pattern would match only by chance are passed over as a shell does - those that
// begin with a dot, unless the pattern does - and so are names that no dataset
// can hold, which skipped counts.
func Listed(folder, pattern string, entries []Entry, settled jjm.Time) (files []jjm.File, waiting, skipped int) {
	for _, e := range entries {
		match, err := path.Match(pattern, e.Name)
		if err != nil || !match || strings.HasPrefix(e.Name, ".") && !strings.HasPrefix(pattern, ".") {
			continue
		}
		f := jjm.File{LFN: path.Join(folder, e.Name), Size: e.Size}
		switch {
		case len(f.Problems()) > 0:
			skipped++
		case e.Modified > settled:
			waiting++
		default:
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b jjm.File) int { return strings.Compare(a.LFN, b.LFN) })
	return files, waiting, skipped
}

// New keeps those files that are not known, in place.
func New(files []jjm.File, known func(lfn string) bool) []jjm.File {
	return slices.DeleteFunc(files, func(f jjm.File) bool { return known(f.LFN) })
}
