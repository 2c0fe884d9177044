package catalogue

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// Entry is a regular file in a listing of a folder.
type Entry struct {
	Name     string
	Size     int64
	Modified jjm.Time
}

// SplitWatch splits a path to be watched, such as "/data/raw/*.root", into folder and pattern. Only the last element
// may have wildcards. A path without wildcards, or with a slash at its end, means all files in a folder. A relative
// folder stays relative to the job file's folder. The error is of kind Invalid and describes the mistake in the path.
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

// SplitWildcard splits the wildcard of a list's entry, such as "/data/raw/*.root", into folder and pattern. The error
// is of kind Invalid for the same mistakes as in SplitWatch, for a relative path, and for a path whose last element has
// no wildcard.
func SplitWildcard(text string) (folder, pattern string, err error) {
	switch folder, pattern, err = SplitWatch(text); {
	case err != nil:
		return "", "", err
	case !path.IsAbs(text):
		return "", "", jjm.Errorf(jjm.Invalid, "%.60q: want an absolute path, such as /data/raw/*.root", text)
	case path.Join(folder, pattern) != path.Clean(text):
		return "", "", jjm.Errorf(jjm.Invalid, "%.60q: its last element has no wildcard: say lfn = for one file", text)
	}
	return folder, pattern, nil
}

// Expand returns the files of a job file's list. Each wildcard is replaced by the files that match it, ordered by name.
// A file that also has an entry of its own is returned only at the place of that entry. list returns the regular files
// of a folder; Expand returns an error of list with the name of the entry. The error is of kind Invalid if a wildcard
// matches no file, if a dataset cannot hold a name, or if there are more than limit files. Each error names the entry,
// such as "files[3]".
func Expand(entries []jjm.Listed, limit int, list func(folder string) ([]Entry, error)) ([]jjm.File, error) {
	seen := map[string]bool{}
	for i := range entries {
		seen[entries[i].LFN] = true
	}
	var files []jjm.File
	for i, entry := range entries {
		if entry.Wildcard == "" {
			files = append(files, entry.File)
			continue
		}
		found, err := matches(entry.Wildcard, list)
		if err != nil {
			return nil, fmt.Errorf("files[%d].wildcard: %w", i, err)
		}
		for _, f := range New(found, func(lfn string) bool { return seen[lfn] }) {
			seen[f.LFN] = true
			files = append(files, f)
		}
		if len(files) > limit {
			return nil, jjm.Errorf(jjm.Invalid, "files[%d].wildcard: up to this entry the list has %d files: want at most %d", i,
				len(files), limit)
		}
	}
	return files, nil
}

// matches returns the files that a wildcard matches, ordered by name.
func matches(wildcard string, list func(folder string) ([]Entry, error)) ([]jjm.File, error) {
	folder, pattern, err := SplitWildcard(wildcard)
	if err != nil {
		return nil, err
	}
	entries, err := list(folder)
	if err != nil {
		return nil, err
	}
	files, _, skipped := Listed(folder, pattern, entries, math.MaxInt64)
	switch {
	case skipped > 0:
		return nil, jjm.Errorf(jjm.Invalid,
			"%s matches %d files whose names no dataset can hold, such as those with control characters: rename them",
			wildcard, skipped)
	case len(files) == 0:
		return nil, jjm.Errorf(jjm.Invalid, "%s matches none of the %d files of its folder: mend it or leave it out",
			wildcard, len(entries))
	}
	return files, nil
}

// maxWatch is PATH_MAX of Linux in bytes (limits.h).
const maxWatch = 4096

// Listed returns the files of a folder's listing that match a pattern, ordered by name. Their LFN is folder, which must
// be absolute, followed by the name. As in a shell, a name that begins with a dot matches only a pattern that begins
// with a dot.
//
//	waiting  number of files modified after settled, which may still be written
//	skipped  number of files with names that a dataset cannot hold
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

// New removes from files all files that known reports as known, and returns the rest. It reuses the slice.
func New(files []jjm.File, known func(lfn string) bool) []jjm.File {
	return slices.DeleteFunc(files, func(f jjm.File) bool { return known(f.LFN) })
}
