package wire

import "jjm/internal/jjm"

// VerbRemark is the verb "remark": it adds an observation of a gatekeeper to the history of
// a grid job.
func VerbRemark() Verb[RemarkRequest, RemarkAnswer] {
	return Verb[RemarkRequest, RemarkAnswer]{About{Name: "remark", MaxBytes: maxShort, Grids: true,
		Help: "Add an observation of a gatekeeper to a grid job's history."}}
}

// MaxRemark is the longest remark, in bytes.
const MaxRemark = 500

// RemarkRequest names one grid job, and contains the text to add.
type RemarkRequest struct {
	Head
	One
	Remark string `json:"remark,omitempty"`
}

// Check requires one reference and a text of 1 to MaxRemark bytes.
func (r RemarkRequest) Check() error {
	if err := r.one("remark"); err != nil {
		return err
	}
	if n := len(r.Remark); n == 0 || n > MaxRemark {
		return jjm.Errorf(jjm.Invalid, "remark: member remark has %d bytes: want 1 to %d", n, MaxRemark)
	}
	return nil
}

// RemarkAnswer is the answer of "remark".
type RemarkAnswer struct {
	Reply
	// News is set if the text differs from the last remark. An equal text is not stored again.
	News bool `json:"news,omitempty"`
}
