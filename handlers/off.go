package handlers

import (
	"fmt"
	"slices"

	"jjm/internal/jjm"
)

// Off describes a job type that is off: the type accepts no new jobs. Jobs that were planned before continue, with the
// exception in [MayPack].
type Off struct {
	// Type is the name of the type. If the file names no type, or names the type of another file, Type is the name of
	// the file.
	Type string
	// File is the path of the file or program to repair.
	File string
	// Restart is set if the daemon reads the repaired file only after a restart.
	Restart bool
	// Distrusted is set if other accounts can change the file, the program, or a file that the type may send along with
	// jobs.
	Distrusted bool
	// Why contains all mistakes, at least one.
	Why jjm.Problems
}

// Switched is implemented by handlers whose types may be off.
type Switched interface {
	// Off returns the reason why the type is off, nil if it is on. It returns without waiting.
	Off() *Off
}

// OffOf returns the reason why a type is off, nil if it is on.
func OffOf(h Handler) *Off {
	if s, ok := h.(Switched); ok {
		return s.Off()
	}
	return nil
}

// AllOff returns the types in a registry that are off, sorted by name, followed by more.
func (r Registry) AllOff(more ...Off) (all []Off) {
	for _, name := range r.Types() {
		if off := OffOf(r[name]); off != nil {
			all = append(all, *off)
		}
	}
	return append(all, slices.Clone(more)...)
}

// Short returns the first mistake and the number of the other mistakes, in one line.
func (o *Off) Short() string {
	text := o.Why[0].String()
	if more := len(o.Why) - 1; more > 0 {
		text += ", and " + jjm.Count(more, "more mistake")
	}
	return text
}

// Remedy returns what the administrator should do, as a text for people.
func (o *Off) Remedy() string {
	text := "mend " + o.File
	if o.Restart {
		text += " and start the daemon again"
	}
	return text
}

// MayPack returns an error of kind Busy if the files that a type sends along with a job must not be trusted: the type
// is off because other accounts can change its files. The job's files are then not packed until the type works again.
// Without such files MayPack returns nil.
func MayPack(h Handler, spec *jjm.Spec, site Site) error {
	off := OffOf(h)
	if off == nil || !off.Distrusted {
		return nil
	}
	if added, err := Added(h, spec, site); err != nil || len(added) == 0 {
		return err
	}
	return jjm.Errorf(jjm.Busy, "%s is off, and its files are not packed: %s: the site's administrator has to %s",
		off.Type, off.Short(), off.Remedy())
}

// Refusal returns the problem for a new job of the type.
func (o *Off) Refusal() jjm.Problems {
	return jjm.Problems{{Field: "type", Text: fmt.Sprintf("%s is off: %s: ask the site's administrator to %s",
		o.Type, o.Short(), o.Remedy())}}
}
