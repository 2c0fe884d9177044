package wire

import (
	"fmt"
	"strings"

	"jjm/internal/jjm"
)

// Attempt is one attempt of a local job: where and how long it ran, and the resources that it used. After its end it
// also has the evidence and the verdict.
type Attempt struct {
	Attempt int32  `json:"attempt"`
	Batch   string `json:"batch,omitempty"` // the batch system's id
	Host    string `json:"host,omitempty"`
	// Started and Ended are 0 if they are not known.
	Started jjm.Time `json:"started,omitempty"`
	Ended   jjm.Time `json:"ended,omitempty"`
	// Exit is the exit code of the application, or else of the batch job; -1 if neither is known.
	Exit int `json:"exit"`
	// Used, Evidence and Verdict are nil until the attempt has ended.
	Used     *jjm.Usage   `json:"used,omitempty"`
	Evidence *Evidence    `json:"evidence,omitempty"`
	Verdict  *jjm.Verdict `json:"verdict,omitempty"`
}

// Wasted reports whether no later attempt continues the work of attempt i of a local job (jjm.Verdict.Wasted). It
// depends on the retry arguments with which the next attempt began, because a release may have replaced the arguments
// that the application requested. args are the present retry arguments of the local job.
func Wasted(attempts []Attempt, i int, args []string) bool {
	v := attempts[i].Verdict
	if v == nil {
		return false
	}
	if i+1 < len(attempts) {
		if next := attempts[i+1].Verdict; next != nil && next.Basis != nil {
			args = next.Basis.RetryArgs
		} else if next != nil {
			args = v.RetryArgs // a refused submission has no basis
		}
	}
	judged := *v
	judged.RetryArgs = args
	return judged.Wasted()
}

// Evidence is a summary of the evidence on which an attempt was judged.
type Evidence struct {
	// Batch is the last state in the batch system: OK, FAILED, OOM, TIMEOUT, ABORTED, CANCELLED, or UNKNOWN if the batch
	// system reported no state. The next fields are its exit code and signal, its reason, and the source of the report.
	Batch       string `json:"batch"`
	BatchExit   int    `json:"batch_exit,omitempty"`
	BatchSignal int    `json:"batch_signal,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Source      string `json:"source,omitempty"`
	// Result is set if the wrapper left a result. Exit and Signal are the exit code and the signal of the application.
	// Error is the error that prevented the wrapper's work.
	Result bool   `json:"result,omitempty"`
	Exit   int    `json:"exit,omitempty"`
	Signal int    `json:"signal,omitempty"`
	Error  string `json:"error,omitempty"`
	// Log is the content of the GBS log file: "start" and "end" for the records of the wrapper, and the keywords of the
	// application. "FAILED by the wrapper" is the record that the wrapper writes if the application reports only by its
	// exit code.
	Log []string `json:"log,omitempty"`
	// Claim is the holder of the attempt's claim: "wrapper", "daemon", or "" if the attempt is unclaimed.
	Claim string `json:"claim,omitempty"`
	// OwnHost is the worker's own name, "" if it is not known or the batch system has the same name for the worker.
	OwnHost string `json:"own_host,omitempty"`
}

// Text returns the evidence as one line.
func (e *Evidence) Text() string {
	texts := []string{"batch system " + e.batch()}
	switch {
	case e.Result:
		texts = append(texts, "result of the wrapper: "+e.result())
	case e.Claim == jjm.HolderWrapper:
		texts = append(texts, "a wrapper claimed it and left no result")
	default:
		texts = append(texts, "no wrapper started")
	}
	if e.OwnHost != "" {
		texts = append(texts, "the host's own name is "+e.OwnHost)
	}
	if len(e.Log) > 0 {
		texts = append(texts, "log: "+strings.Join(e.Log, ", "))
	}
	return strings.Join(texts, "; ")
}

func (e *Evidence) batch() string {
	s := e.Batch
	switch {
	case e.BatchSignal != 0:
		s += fmt.Sprintf(", signal %d", e.BatchSignal)
	case e.BatchExit != 0:
		s += fmt.Sprintf(", exit code %d", e.BatchExit)
	}
	if e.Reason != "" {
		s += ", " + e.Reason
	}
	if e.Source != "" {
		s += " (" + e.Source + ")"
	}
	return s
}

func (e *Evidence) result() string {
	s := fmt.Sprintf("exit code %d", e.Exit)
	if e.Signal != 0 {
		s += fmt.Sprintf(", signal %d", e.Signal)
	}
	if e.Error != "" {
		s += ", " + e.Error
	}
	return s
}
