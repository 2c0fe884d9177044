package wire

import "strings"

// shown is implemented by requests that change jobs and that may be repeated without harm.
type shown interface {
	// Shown returns the command that shows whether the request was carried out; "" if the request changes nothing.
	Shown() string
}

// ShownBy returns the command with which people find out whether a request was carried out whose answer was lost. It
// returns "" if the request changes no jobs, or if [UnsureOf] describes what may have happened.
func ShownBy(r Request) string {
	if s, ok := r.(shown); ok {
		return s.Shown()
	}
	return ""
}

// shows returns the command that shows the jobs of references.
func (m Many) shows(dry bool) string {
	switch {
	case dry:
		return ""
	case len(m.Refs) == 1:
		grid, _, _ := strings.Cut(m.Refs[0], ".")
		return "jjm status " + grid
	}
	return "jjm list"
}

// Shown implements the optional interface that [ShownBy] reads.
func (r KillRequest) Shown() string { return r.shows(r.DryRun) }

// Shown implements the optional interface that [ShownBy] reads.
func (r HoldRequest) Shown() string { return r.shows(r.DryRun) }

// Shown implements the optional interface that [ShownBy] reads.
func (r ReleaseRequest) Shown() string { return r.shows(r.DryRun) }

// Shown implements the optional interface that [ShownBy] reads.
func (r FreezeRequest) Shown() string { return r.shows(r.DryRun) }

// Shown implements the optional interface that [ShownBy] reads.
func (r UnfreezeRequest) Shown() string { return r.shows(r.DryRun) }

// Shown implements the optional interface that [ShownBy] reads.
func (r ResubmitRequest) Shown() string { return r.shows(r.DryRun) }

// Shown implements the optional interface that [ShownBy] reads.
func (r ResplitRequest) Shown() string { return r.shows(r.DryRun) }

// Shown implements the optional interface that [ShownBy] reads.
func (r SetRequest) Shown() string { return r.shows(r.DryRun) }

// Shown implements the optional interface that [ShownBy] reads.
func (r RemoveRequest) Shown() string { return r.shows(r.DryRun) }

// Shown implements the optional interface that [ShownBy] reads.
func (r ForceStatusRequest) Shown() string { return r.shows(r.DryRun) }

// Shown implements the optional interface that [ShownBy] reads.
func (r RetractRequest) Shown() string {
	return r.shows(r.Retract == nil || r.Retract.DryRun)
}
