package wire

import "jjm/internal/jjm"

// VerbRemove is the verb "remove": it removes grid jobs that are over.
func VerbRemove() Verb[RemoveRequest, RemoveAnswer] {
	return Verb[RemoveRequest, RemoveAnswer]{About{Name: "remove", MaxBytes: maxWithRefs, Grids: true,
		Help: "Remove grid jobs that are over, with all that is stored of them."}}
}

// RemoveRequest names the grid jobs. Force also removes grid jobs whose ends are not yet reported to their gatekeepers.
// With DryRun nothing is changed, and the answer shows the grid jobs that would be removed.
type RemoveRequest struct {
	Head
	Many
	Force  bool `json:"force,omitempty"`
	DryRun bool `json:"dry_run,omitempty"`
}

// Check checks the references.
func (r RemoveRequest) Check() error { return checkRefs("remove", r.Refs) }

// RemoveAnswer has a result for each grid job, in the order in which the references first name the grid jobs.
type RemoveAnswer struct {
	Reply
	Remove []Removed `json:"remove,omitempty"`
}

// Removed is the result for one grid job. If Error is not set, the removal is ordered: people no longer see the grid
// job, and its data is deleted as soon as possible.
type Removed struct {
	ID jjm.GridID `json:"id"`
	// Frees is the disk space that the removal frees, nil if Error is set.
	Frees *Space `json:"frees,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// Space is the disk space, in bytes, of what is stored of a grid job.
type Space struct {
	// WorkBytes is the size of the folder in the work area, without the tar of the latest generation; TarBytes is the size
	// of this tar, and RecordBytes the size of the record.
	WorkBytes   int64 `json:"work_bytes"`
	TarBytes    int64 `json:"tar_bytes"`
	RecordBytes int64 `json:"record_bytes"`
	// InputBytes is the size of the packed inputs. They are removed only if no other grid job of the account uses them.
	InputBytes int64 `json:"input_bytes,omitempty"`
	// Partial is set if the count was ended early, because it took long, or because files could not be counted. The
	// numbers are then lower bounds.
	Partial bool `json:"partial,omitempty"`
}

// Sum returns the bytes that are freed whatever other grid jobs use.
func (s *Space) Sum() int64 { return s.WorkBytes + s.TarBytes + s.RecordBytes }

// Removal contains who removed a grid job, when the removal was requested, and when all data was deleted.
type Removal struct {
	By   string   `json:"by"`
	Time jjm.Time `json:"time"`
	Done jjm.Time `json:"done,omitempty"`
}
