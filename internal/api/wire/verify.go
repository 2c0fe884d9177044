package wire

import (
	"jjm/internal/jjm"
	"jjm/internal/work/cover"
)

// VerbVerify is the verb "verify": it checks from the records whether all work of a grid
// job was done exactly once.
func VerbVerify() Verb[VerifyRequest, VerifyAnswer] {
	return Verb[VerifyRequest, VerifyAnswer]{About{Name: "verify", MaxBytes: maxShort, Grids: true,
		Help: "Was all work done exactly once? With a job file for what is missing."}}
}

// VerifyRequest names the grid job to verify.
type VerifyRequest struct {
	Head
	One
	// Recovery is the name of the job file to write if work is missing. "" means that no job file is wanted.
	Recovery string `json:"recovery,omitempty"`
}

// Check requires exactly one reference and a valid name of a recovery.
func (r VerifyRequest) Check() error {
	if err := r.one("verify"); err != nil {
		return err
	}
	return checkRecovery("recovery", r.Recovery)
}

// VerifyAnswer is the answer of "verify".
type VerifyAnswer struct {
	Reply
	Verify *Verified `json:"verify,omitempty"`
}

// Check requires the member verify.
func (a VerifyAnswer) Check() error { return present("verify", a.Verify != nil) }

// Verified is the result of the check.
type Verified struct {
	ID jjm.GridID `json:"id"`
	cover.Report
	// Merge is the report of the merge step, nil if there is no merge step: was every output merged exactly once? The
	// verdict of the whole grid job is the worse of both verdicts.
	Merge *cover.Report `json:"merge,omitempty"`
	// Recovery is the text of a job file that processes the missing units. RecoveryFiles is the list of files that the
	// job file reads, to be saved in the same folder under the name that [FilesOf] returns. Each is "" if it is not
	// needed.
	Recovery      string `json:"recovery,omitempty"`
	RecoveryFiles string `json:"recovery_files,omitempty"`
	// RecoveryRanges is the list of ranges that the job file reads, to be saved in the same folder under the name that
	// [RangesOf] returns. It is "" if no list is needed.
	RecoveryRanges string `json:"recovery_ranges,omitempty"`
	// Anew are the local jobs that processed only a part of the work that they own. The recovery processes their whole
	// parts again, so their outputs must not be combined with the outputs of the recovery.
	Anew []string `json:"anew,omitempty"`
	// Recoveries are the grid jobs that process, or processed, the work that this grid job left out. The report covers all
	// these grid jobs together.
	Recoveries []Recovery `json:"recoveries,omitempty"`
	// Failed and Killed count the local jobs that a resubmission may run again: local jobs that gave their work back are
	// not counted. LostInputs is the number of files that cannot be read and were not processed.
	Failed     int `json:"failed,omitempty"`
	Killed     int `json:"killed,omitempty"`
	LostInputs int `json:"lost_inputs,omitempty"`
}

// Recovery is a grid job that processes the work that another grid job left out.
type Recovery struct {
	ID     jjm.GridID `json:"id"`
	Status string     `json:"status"`
	// Units is the number of units of the other grid job that the recovery processed.
	Units int64 `json:"units"`
	// Apart is the reason why this recovery is not counted, "" if it is counted.
	Apart string `json:"apart,omitempty"`
	// Replaces are local jobs of other grid jobs that processed only a part of the work that they own, and whose parts
	// this recovery processes again. Their outputs must not be used.
	Replaces []string `json:"replaces,omitempty"`
}

// FilesOf returns the name of the list of files for a recovery's job file.
func FilesOf(recovery string) string { return recovery + ".files.jsonl" }

// RangesOf returns the name of the list of ranges for a recovery's job file.
func RangesOf(recovery string) string { return recovery + ".ranges" }
