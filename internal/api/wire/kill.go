package wire

import "errors"

// VerbKill is the verb "kill": it ends jobs. The answer is sent after the request is stored; the jobs end later.
func VerbKill() Verb[KillRequest, KillAnswer] {
	return Verb[KillRequest, KillAnswer]{About{Name: "kill", MaxBytes: maxWithRefs, Each: true, Spooled: true,
		Help: "End grid jobs or local jobs."}}
}

// KillRequest names the jobs to end.
type KillRequest struct {
	Head
	Many
	KillHow
}

// KillHow contains the options of a kill.
type KillHow struct {
	// First is set by gatekeepers, for which a grid job is over after its first generation. The kill of a reopened grid
	// job then changes nothing.
	First bool `json:"first,omitempty"`
	// DryRun changes nothing; the answer shows the jobs that would be killed.
	DryRun bool `json:"dry_run,omitempty"`
	// Stop ends the command at the first reference that fails. All later references have the error that they were not
	// attempted.
	Stop bool `json:"stop,omitempty"`
}

// Check checks the references.
func (r KillRequest) Check() error { return checkRefs("kill", r.Refs) }

// KillAnswer has a result for each reference, in order.
type KillAnswer struct {
	Reply
	Kill []Killed `json:"kill,omitempty"`
}

func (a *KillAnswer) entries() int { return len(a.Kill) }

// insert adds the entries of the references that could not be resolved. If a submission was refused, the entry says
// that the job is over.
func (a *KillAnswer) insert(all []Asked) {
	out, made := make([]Killed, len(all)), a.Kill
	for i, one := range all {
		var r *Refused
		switch {
		case errors.As(one.Err, &r):
			out[i].NoChange, out[i].Notes = true, []string{"its submission was " + r.Error()}
		case one.Err != nil:
			out[i].Error = ErrorOf(one.Err)
		default:
			out[i], made = made[0], made[1:]
		}
		out[i].Ref = one.Ref
	}
	a.Kill = out
}

// Killed is the result for one reference.
type Killed struct {
	Ref string `json:"ref"`
	// NoChange is set if the job was already over. This is a success. Notes say why nothing changed.
	NoChange bool     `json:"no_change,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	// Jobs is the number of local jobs that would be killed. It is set only with DryRun.
	Jobs  int    `json:"jobs,omitempty"`
	Error *Error `json:"error,omitempty"`
}
