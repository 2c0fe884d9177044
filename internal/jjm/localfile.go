package jjm

import "io/fs"

// JobFile describes a file of a local job, or a folder, link or other thing with a name.
type JobFile struct {
	// Name is relative to the folder in which the application runs or ran.
	Name string `json:"name"`
	// From is the place of the file: FromWork.
	From string `json:"from,omitempty"`
	// Bytes is the size of a regular file. Kind is set for anything else, see [FileKind]; the content of a folder is
	// not listed.
	Bytes    int64  `json:"bytes"`
	Kind     string `json:"kind,omitempty"`
	Modified Time   `json:"modified,omitempty"`
}

// FromWork is the place of files in the work folder of an attempt.
const FromWork = "work folder"

// FileKind returns the kind of a file for people: "file", "folder", "link", "fifo", "socket" or "device".
func FileKind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "folder"
	case m&fs.ModeSymlink != 0:
		return "link"
	case m&fs.ModeNamedPipe != 0:
		return "fifo"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}
