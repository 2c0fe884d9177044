// Package intake takes in what others left in folders: what gatekeepers wished while the
// daemon was away, and fragments of records from outside programs.
package intake

import (
	"context"

	"jjm"
	"jjm/engine/base"
	"jjm/engine/state"
	"jjm/wire"
	"jjm/xmldb"
)

// Rooms carry out what was left.
type Rooms struct {
	Submit func(context.Context, wire.Caller, wire.Submit) (wire.Submitted, error)
	Kill   func(context.Context, wire.Caller, []jjm.Ref) []wire.Killed
	// AddFragment takes a fragment of a record.
	AddFragment func(context.Context, xmldb.Fragment) error
}

// Intake does so.
type Intake struct {
	b     *base.Base
	s     *state.State
	rooms Rooms
	box   boxes
}

// New returns one. It starts nothing: the loops do.
func New(s *state.State, rooms Rooms) *Intake { return &Intake{b: s.B, s: s, rooms: rooms} }

// Loops are what is to be run until the end.
func (it *Intake) Loops() []func(context.Context) {
	return []func(context.Context){it.dropLoop, it.intakeLoop}
}
