package wire

// VerbLog is the verb "log": it reads jjm's own log of a grid job.
func VerbLog() Verb[LogRequest, LogAnswer] {
	return Verb[LogRequest, LogAnswer]{About{Name: "log", MaxBytes: maxShort, Grids: true,
		Help: "jjm's own log of a grid job."}}
}

// LogRequest names the grid job whose log is read.
type LogRequest struct {
	Head
	One
}

// Check requires exactly one reference.
func (r LogRequest) Check() error { return r.one("log") }

// LogAnswer contains the lines of the log.
type LogAnswer struct {
	Reply
	Log []string `json:"log,omitempty"`
}
