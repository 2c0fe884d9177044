package wire

import "jjm"

// VerbRemark puts something that a gatekeeper noticed into the history of a grid job.
func VerbRemark() Verb[RemarkRequest, RemarkAnswer] {
	return Verb[RemarkRequest, RemarkAnswer]{About{Name: "remark", MaxBytes: maxShort,
		Help: "Put what a gatekeeper noticed into a grid job's history."}}
}

// MaxRemark is the longest remark, in bytes.
const MaxRemark = 500

// RemarkRequest names one grid job and what was noticed.
type RemarkRequest struct {
	Head
	One
	Remark string `json:"remark,omitempty"`
}

// Check implements Request.
func (r RemarkRequest) Check() error {
	if err := r.one("remark"); err != nil {
		return err
	}
	if n := len(r.Remark); n == 0 || n > MaxRemark {
		return jjm.Errorf(jjm.Invalid, "remark: member remark has %d bytes: want 1 to %d", n, MaxRemark)
	}
	return nil
}

// RemarkAnswer answers remark.
type RemarkAnswer struct {
	Reply
	// News says that it is not what the last remark said.
	News bool `json:"news,omitempty"`
}
