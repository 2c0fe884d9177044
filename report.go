package jjm

// BatchState is what a batch system says about one of its jobs, in words that
// all of them share (decision R4).
type BatchState uint8

// The batch states. The zero value means that nothing is known.
const (
	BatchUnknown BatchState = iota
	BatchQueued
	BatchHold
	BatchStarting
	BatchRunning
	BatchSuspended
	BatchEndedOK     // exit 0
	BatchEndedFailed // exit != 0, or a signal
	BatchOOM
	BatchTimeout
	BatchAborted   // by the system: node failure, preemption, eviction
	BatchCancelled // by someone
)

var batchWords = [...]string{"UNKNOWN", "QUEUED", "HELD", "STARTING", "RUNNING", "SUSPENDED",
	"OK", "FAILED", "OOM", "TIMEOUT", "ABORTED", "CANCELLED"}

func (s BatchState) String() string { return word(batchWords[:], int(s)) }

// MarshalText writes the word.
func (s BatchState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word.
func (s *BatchState) UnmarshalText(b []byte) error {
	n, err := index(batchWords[:], "batch state", string(b))
	*s = BatchState(n)
	return err
}

// Ended reports whether the job is over in the batch system.
func (s BatchState) Ended() bool { return s >= BatchEndedOK }

// Alive reports whether the job is known and not over.
func (s BatchState) Alive() bool { return s != BatchUnknown && !s.Ended() }

// Report is what a batch system says about one job. Identity is cluster + Tag +
// Index + ID + Submitted: ids alone are recycled.
type Report struct {
	Tag   Tag        `json:"tag"`
	Index int32      `json:"index"`
	ID    string     `json:"id"`
	State BatchState `json:"state"`
	// Exit is the exit code, Signal the signal that ended the job, if any;
	// both only when State is an ended one.
	Exit   int `json:"exit,omitempty"`
	Signal int `json:"signal,omitempty"`
	// Host is where it runs or ran.
	Host string `json:"host,omitempty"`
	// Reason is the batch system's own text: why pending, why held, why over.
	Reason string `json:"reason,omitempty"`
	// Hold is the batch system's code of a hold, "13/2", where it has one.
	Hold string `json:"hold,omitempty"`
	// Starts is when the batch system expects a waiting job to start; 0 when
	// it does not say.
	Starts Time `json:"starts,omitempty"`
	// Source names what said all this: "squeue", "sacct", "condor_history".
	Source    string `json:"source,omitempty"`
	Submitted Time   `json:"submitted,omitempty"`
	Started   Time   `json:"started,omitempty"`
	Ended     Time   `json:"ended,omitempty"`
	// Restarts counts how often the batch system itself started it anew.
	Restarts int `json:"restarts,omitempty"`
	// CPU, in milliseconds (user + system), and RSS, in KiB at the peak, as
	// the batch system accounts them; 0 when it does not say.
	CPUms int64 `json:"cpu_ms,omitempty"`
	RSSKB int64 `json:"rss_kb,omitempty"`
}
