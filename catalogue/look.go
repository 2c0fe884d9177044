package catalogue

import (
	"fmt"
	"path"
	"strings"

	"jjm"
)

// Look is what a source has at one moment: a folder, or what a program lists.
type Look struct {
	// Files are those there, by LFN, with what the source says of them.
	Files map[string]jjm.File
	// Unsettled are those of them that may still be written.
	Unsettled map[string]bool
	// Sized says that the source knows all sizes: 0 is one.
	Sized bool
	// Covers reports whether the source would list a file, were it there.
	Covers func(lfn string) bool
}

// LookInto returns what a listing of a folder says of files that a pattern matches.
// Files that changed after settled may still be written.
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

// Judge compares a file as its dataset has it with what the source has now:
// jjm.FileReady if they agree, lost if the source has it no more, broken if it has
// another size or checksum, and why. Sizes and checksums that one of both does not
// know are not compared. ok is false where nothing can be said: the file is not the
// source's, or it may still be written.
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
