// Package intake processes files that others left in folders: requests that gatekeepers left in the spool while the
// daemon did not answer, and fragments of records from programs outside jjm in the drop folder. The files cannot be
// trusted. Therefore the entries of an account act only with the rights of this account, and their number is limited.
package intake

import (
	"context"
	"sync/atomic"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/xmldb"
)

// Rooms holds the functions of other rooms (sub-packages of package engine) that Intake needs.
type Rooms struct {
	Submit func(context.Context, wire.Caller, wire.SubmitRequest) (wire.SubmitAnswer, error)
	Kill   func(context.Context, wire.Caller, wire.KillRequest) (wire.KillAnswer, error)
	// AddFragment adds a fragment to a record.
	AddFragment func(context.Context, xmldb.Fragment) error
}

// Intake carries out the requests in the spool, and adds the fragments in the drop folder to records.
type Intake struct {
	b     *base.Base
	s     *state.State
	rooms Rooms
	box   boxes
	// fragments describes the fragments that the last scan left in the drop folder.
	fragments atomic.Pointer[fragments]
}

// New returns an Intake. The caller starts its goroutines; see Loops.
func New(s *state.State, rooms Rooms) *Intake { return &Intake{b: s.B, s: s, rooms: rooms} }

// Loops returns the loops to run until the engine stops.
func (it *Intake) Loops() []func(context.Context) {
	return []func(context.Context){it.dropLoop, it.intakeLoop}
}
