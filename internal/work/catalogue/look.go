package catalogue

import (
	"fmt"
	"path"
	"strings"

	"jjm/internal/jjm"
)

// Look is the content of a source of files (a folder or a program) at one time.
type Look struct {
	// Files are the files in the source by LFN, with the facts that the source states.
	Files map[string]jjm.File
	// Unsettled are the files that may still be written.
	Unsettled map[string]bool
	// Sized is set if the source states all sizes, so that 0 means an empty file.
	Sized bool
	// Covers reports whether the source would list a file if it existed.
	Covers func(lfn string) bool
}

// LookInto returns the Look of a folder's listing. Covers is true for names in the folder that
// match the pattern. Files modified after settled may still be written.
func LookInto(folder, pattern string, entries []Entry, settled jjm.Time) Look {
	l := Look{Files: make(map[string]jjm.File, len(entries)), Unsettled: map[string]bool{}, Sized: true}
	for _, e := range entries {
		lfn := path.Join(folder, e.Name)
		l.Files[lfn] = jjm.File{LFN: lfn, Size: e.Size}
		if e.Modified > settled {
			l.Unsettled[lfn] = true
		}
	}
	l.Covers = func(lfn string) bool {
		match, err := path.Match(pattern, path.Base(lfn))
		return err == nil && match && path.Dir(lfn) == folder
	}
	return l
}

// Judge compares a file of a dataset with the present content of the source. ok is false if the file cannot be judged,
// because the source does not cover the file or the file may still be written.
//
//	FileReady   source and dataset agree; an unknown size or checksum counts as equal
//	FileLost    the source covers the file and does not have it
//	FileBroken  the size or checksum differs; why is the difference
func (l *Look) Judge(f *jjm.File) (state jjm.FileState, why string, ok bool) {
	now, there := l.Files[f.LFN]
	switch {
	case l.Unsettled[f.LFN] || !there && !l.Covers(f.LFN):
		return jjm.FileReady, "", false
	case !there:
		return jjm.FileLost, "it is not there any more", true
	case f.Size > 0 && now.Size != f.Size && (now.Size > 0 || l.Sized):
		return jjm.FileBroken, fmt.Sprintf("it has %d bytes and had %d", now.Size, f.Size), true
	case f.Checksum != "" && now.Checksum != "" && !strings.EqualFold(f.Checksum, now.Checksum):
		return jjm.FileBroken, fmt.Sprintf("its checksum is %.80s and was %.80s", now.Checksum, f.Checksum), true
	}
	return jjm.FileReady, "", true
}
