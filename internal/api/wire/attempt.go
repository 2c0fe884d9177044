package wire

import (
	"fmt"
	"strings"

	"jjm/internal/jjm"
)

// Attempt is one attempt of a local job: where and how long it ran, what it used, and once it has
// ended on what evidence it was judged, and how.
type Attempt struct {
	Attempt int32  `json:"attempt"`
	Batch   string `json:"batch,omitempty"` // the batch system's id
	Host    string `json:"host,omitempty"`
	// Started and Ended are 0 as long as they are not known.
	Started jjm.Time `json:"started,omitempty"`
	Ended   jjm.Time `json:"ended,omitempty"`
	// Exit is the exit code of the application, else of the batch job; -1 if neither is known.
	Exit int `json:"exit"`
	// Used, Evidence and Verdict are nil of one that has not ended.
	Used     *jjm.Usage   `json:"used,omitempty"`
	Evidence *Evidence    `json:"evidence,omitempty"`
	Verdict  *jjm.Verdict `json:"verdict,omitempty"`
}

// Evidence is on what an attempt was judged, in short.
type Evidence struct {
	// Batch is the batch system's last word: OK, FAILED, OOM, TIMEOUT, ABORTED, CANCELLED, or
	// UNKNOWN if it said none; with its exit code and signal, its reason, and what said so.
	Batch       string `json:"batch"`
	BatchExit   int    `json:"batch_exit,omitempty"`
	BatchSignal int    `json:"batch_signal,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Source      string `json:"source,omitempty"`
	// Result is set if the wrapper left a result, with the exit code and signal of the
	// application, and what kept the wrapper from its work.
	Result bool   `json:"result,omitempty"`
	Exit   int    `json:"exit,omitempty"`
	Signal int    `json:"signal,omitempty"`
	Error  string `json:"error,omitempty"`
	// Log is what the GBS log file has: "start", "end" for the records of the wrapper, and the
	// keywords of the application.
	Log []string `json:"log,omitempty"`
	// Claim is who took the attempt: "wrapper", "daemon", or "" if nobody did.
	Claim string `json:"claim,omitempty"`
}

// Text tells the evidence in a line.
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
