package wire

import (
	"jjm"
	"jjm/cover"
)

// VerbVerify proves or refutes that the work of a grid job was done exactly once.
func VerbVerify() Verb[VerifyRequest, VerifyAnswer] {
	return Verb[VerifyRequest, VerifyAnswer]{About{Name: "verify", MaxBytes: maxShort,
		Help: "Was the work done exactly once? With a job file for the rest."}}
}

// VerifyRequest names one grid job.
type VerifyRequest struct {
	Head
	One
	// Recovery is the name of the job file to make if something is missing; "" = none is wanted.
	Recovery string `json:"recovery,omitempty"`
}

// Check implements Request.
func (r VerifyRequest) Check() error {
	if err := r.one("verify"); err != nil {
		return err
	}
	return checkRecovery("recovery", r.Recovery)
}

// VerifyAnswer answers verify.
type VerifyAnswer struct {
	Reply
	Verify *Verified `json:"verify,omitempty"`
}

// Check implements Answer.
func (a VerifyAnswer) Check() error { return present("verify", a.Verify != nil) }

// Verified answers verify.
type Verified struct {
	ID jjm.GridID `json:"id"`
	cover.Report
	// Merge is the report of its second step, nil if it has none: was every output
	// merged once? The verdict above is the worse of both.
	Merge *cover.Report `json:"merge,omitempty"`
	// Recovery is the job file that does what is missing, and RecoveryFiles the
	// list of files that belongs beside it, under the name FilesOf; "" where nothing
	// is missing, or there is no list.
	Recovery      string `json:"recovery,omitempty"`
	RecoveryFiles string `json:"recovery_files,omitempty"`
	// RecoveryRanges is the list of ranges that belongs beside it, under the name
	// RangesOf; "" if there is none.
	RecoveryRanges string `json:"recovery_ranges,omitempty"`
	// Anew are the local jobs that processed less than they own, and whose parts the
	// recovery does anew: what they made is not to be used with what it makes.
	Anew []string `json:"anew,omitempty"`
	// Recoveries are the grid jobs that do, or did, what this one did not; the
	// report is of all of them together.
	Recoveries []Recovery `json:"recoveries,omitempty"`
}

// Recovery is a grid job that does what another one did not.
type Recovery struct {
	ID     jjm.GridID `json:"id"`
	Status string     `json:"status"`
	// Units is how many units it processed of those that the other one had to.
	Units int64 `json:"units"`
	// Apart says why it is not counted, "" if it is.
	Apart string `json:"apart,omitempty"`
	// Replaces are local jobs of others, which processed less than they own, whose
	// parts it took over: what they made is not to be used.
	Replaces []string `json:"replaces,omitempty"`
}

// FilesOf is the name of the list of files that belongs beside a recovery's job
// file.
func FilesOf(recovery string) string { return recovery + ".files.jsonl" }

// RangesOf is the name of the list of ranges.
func RangesOf(recovery string) string { return recovery + ".ranges" }
