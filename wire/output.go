package wire

// VerbOutput fetches the tar of a grid job. The bytes of the tar follow the answer.
func VerbOutput() Verb[OutputRequest, OutputAnswer] {
	return Verb[OutputRequest, OutputAnswer]{About{Name: "output", MaxBytes: maxShort,
		Help: "The tar of the outputs of a grid job."}}
}

// OutputRequest names one grid job.
type OutputRequest struct {
	Head
	One
	// Partial asks for what there is of a grid job that is not over.
	Partial bool `json:"partial,omitempty"`
}

// Check implements Request.
func (r OutputRequest) Check() error { return r.one("output") }

// OutputAnswer describes the bytes that follow.
type OutputAnswer struct {
	Reply
	Output *Output `json:"output,omitempty"`
	Follows
}

// Check implements Answer.
func (a OutputAnswer) Check() error { return present("output", a.Output != nil) }

// Follows is in the answers that bytes follow.
type Follows struct {
	// Bytes is how many follow; -1 means until the connection closes.
	Bytes int64 `json:"bytes,omitempty"`
}

// Size is how many bytes follow, -1 for all until the connection closes.
func (f Follows) Size() int64 { return f.Bytes }

// Output describes the tar that follows.
type Output struct {
	Name    string `json:"name"`
	SHA256  string `json:"sha256,omitempty"`
	Partial bool   `json:"partial,omitempty"`
	Path    string `json:"path,omitempty"` // on the daemon's side
}
