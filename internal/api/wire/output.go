package wire

import (
	"jjm/internal/jjm"
)

// VerbOutput is the verb "output": it fetches the tar of a grid job's outputs, or one file of the outputs. The bytes
// follow the answer.
func VerbOutput() Verb[OutputRequest, OutputAnswer] {
	return Verb[OutputRequest, OutputAnswer]{About{Name: "output", MaxBytes: maxShort,
		Help: "The tar of the outputs of a grid job, or one file of it."}}
}

// OutputRequest names one grid job, or, with File or List, possibly one local job.
type OutputRequest struct {
	Head
	One
	Wanted
	// List requests the names that File can be, and no bytes.
	List bool `json:"list,omitempty"`
}

// Wanted selects the outputs to fetch; the zero value means the newest tar.
type Wanted struct {
	// Generation is the generation whose tar is fetched; 0 means the newest generation that has a tar.
	Generation int `json:"generation,omitempty"`
	// Partial requests the outputs that exist so far if the grid job is not over.
	Partial bool `json:"partial,omitempty"`
	// File requests one file of a local job that is over; the grid job may still run. File is the file's name in the
	// tar. If the reference is to a local job, it may also be the file's own name.
	File string `json:"file,omitempty"`
}

// maxFileName is the longest name of a file, in bytes (PATH_MAX of Linux).
const maxFileName = 4096

// Check requires exactly one reference.
func (r OutputRequest) Check() error {
	if len(r.File) > maxFileName {
		return jjm.Errorf(jjm.Invalid, "file %.40q...: %d bytes are too long for a name", r.File, len(r.File))
	}
	if r.File != "" && (r.Partial || r.Generation != 0) {
		return jjm.Errorf(jjm.Invalid, "partial, generation: one file is whole: ask for it alone")
	}
	if r.List && r.Wanted != (Wanted{}) {
		return jjm.Errorf(jjm.Invalid, "list: want no file, partial or generation with it")
	}
	if r.Generation < 0 || r.Partial && r.Generation != 0 {
		return jjm.Errorf(jjm.Invalid, "generation %d: want 1 or more, and a whole tar", r.Generation)
	}
	return r.one("output")
}

// OutputAnswer describes the bytes that follow it.
type OutputAnswer struct {
	Reply
	Output *Output `json:"output,omitempty"`
	// Files are the listed files. More is set if there are more files than listed.
	Files []OutputFile `json:"files,omitempty"`
	More  bool         `json:"more,omitempty"`
	Follows
}

// OutputFile is a file that can be fetched one by one.
type OutputFile struct {
	Name string `json:"name"`
	// Bytes is the size of the file, or -1 if it is not known.
	Bytes int64 `json:"bytes"`
}

// Check requires the member output.
func (a OutputAnswer) Check() error { return present("output", a.Output != nil) }

// Follows is embedded in answers that are followed by bytes.
type Follows struct {
	// Bytes is the number of bytes that follow, or -1 for all bytes until the connection closes.
	Bytes int64 `json:"bytes,omitempty"`
}

// Size returns Bytes.
func (f Follows) Size() int64 { return f.Bytes }

// Output describes the tar, or the file.
type Output struct {
	Name    string `json:"name"`
	SHA256  string `json:"sha256,omitempty"`
	Partial bool   `json:"partial,omitempty"`
	// Generation is the generation of the tar, if the grid job was reopened.
	Generation int    `json:"generation,omitempty"`
	Path       string `json:"path,omitempty"` // the tar's path on the daemon's machine
}
