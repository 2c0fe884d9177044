package wire

import (
	"slices"

	"jjm"
)

// VerbCat shows a file of a local job. Its bytes follow the answer.
func VerbCat() Verb[CatRequest, CatAnswer] {
	return Verb[CatRequest, CatAnswer]{About{Name: "cat", MaxBytes: maxShort,
		Help: "A file of a local job, to its end or as long as it grows."}}
}

// CatRequest names one local job and a file.
type CatRequest struct {
	Head
	One
	// File is one of Files.
	File string `json:"file,omitempty"`
	// Follow asks for what is written to the file until the local job is over.
	Follow bool `json:"follow,omitempty"`
}

// Files lists what "cat" can show of a local job.
func Files() []string { return []string{"stdout", "stderr", "script", "glf"} }

// Check implements Request.
func (r CatRequest) Check() error {
	if !slices.Contains(Files(), r.File) {
		return jjm.Errorf(jjm.Invalid, "file %.40q: want one of %v", r.File, Files())
	}
	return r.one("cat")
}

// CatAnswer comes before the bytes of the file.
type CatAnswer struct {
	Reply
	Follows
}
