package split

import (
	"maps"

	"jjm/internal/jjm"
)

// Cutting is a cut in progress. Only one goroutine may use it.
//
// Several short cuts make the same parts as one long cut. This also holds after a restart, if Start gets the carry of
// the last committed cut and the files that were not done then, in the same order. The exceptions are the splitters
// that cut in cycles (docs/SPLITTERS.md).
type Cutting struct {
	cutter cutter
	unit   string
	run    uint32 // the run of generated parts, otherwise 0
	carry  Carry
	// ahead is a part that was made only to check whether there are more parts; it is the next part.
	ahead *jjm.Part
	done  []int32
	// expect is the estimated number of parts of a cut without a limit, 0 = unknown.
	expect int64
	// whole is set if all parts of a cut must be committed together, regardless of the limit.
	whole bool
	// binder sets the places of parts without a place; nil if the caller does not request places.
	binder *binder

	inputs arena[jjm.PartInput]
	events arena[jjm.EventRange]
	lumis  arena[jjm.FileLumis]
	words  arena[string]
}

// cutter is the algorithm of one splitter.
type cutter interface {
	// next returns the next part, or false if no part is left. The Cutting sets the serial numbers.
	next(*Cutting) (jjm.Part, bool)
	// checkpoint returns the position between the last part and the next part.
	checkpoint() *Checkpoint
	// left adds to l the work that the cut leaves. It is called at the end of the cut.
	left(*Left)
}

// pauser is a cutter that may have to wait for input in the middle of a file.
type pauser interface {
	// pause returns the position where the cut will continue, nil for the beginning of a file.
	pause() *Checkpoint
}

// pause returns the position where a cut that has no more work for now will continue.
func (c *Cutting) pause() *Checkpoint {
	if p, ok := c.cutter.(pauser); ok {
		return p.pause()
	}
	return nil
}

// Next returns at most limits.MaxParts parts, the work that is left, and the carry to commit together with the parts.
func (c *Cutting) Next(limits Limits) ([]jjm.Part, Left, Carry) {
	var parts []jjm.Part
	if c.whole {
		limits.MaxParts = 0
	}
	if limits.MaxParts > 0 {
		parts = make([]jjm.Part, 0, min(limits.MaxParts, 4096))
	} else {
		parts = make([]jjm.Part, 0, min(c.expect, MaxParts))
	}
	for limits.MaxParts <= 0 || len(parts) < limits.MaxParts {
		part, ok := c.take()
		if !ok {
			return parts, c.ended(), c.snapshot(c.pause())
		}
		parts = append(parts, part)
	}
	carry := c.snapshot(c.cutter.checkpoint())
	done := c.done
	c.done = nil
	if part, ok := c.next(); ok {
		c.ahead = &part
		return parts, Left{More: true, Done: done}, carry
	}
	left := c.ended()
	left.Done = append(done, left.Done...)
	return parts, left, c.snapshot(c.pause())
}

// take returns the next part with its serial number.
func (c *Cutting) take() (jjm.Part, bool) {
	part, ok := jjm.Part{}, true
	if c.ahead != nil {
		part, c.ahead = *c.ahead, nil
	} else if part, ok = c.next(); !ok {
		return part, false
	}
	c.carry.Serial++
	part.Serial = c.carry.Serial
	part.First += c.carry.Next
	c.carry.Next += part.Count
	return part, true
}

// next returns the next part with its place.
func (c *Cutting) next() (jjm.Part, bool) {
	part, ok := c.cutter.next(c)
	if ok && c.binder != nil {
		c.binder.bind(&part)
	}
	return part, ok
}

// ended returns the work that is left at the end of a cut.
func (c *Cutting) ended() Left {
	left := Left{Done: c.done}
	c.done = nil
	c.cutter.left(&left)
	return left
}

func (c *Cutting) snapshot(at *Checkpoint) Carry {
	carry := c.carry
	carry.Checkpoint = at
	carry.Cursors = maps.Clone(carry.Cursors)
	return carry
}

// finish notes that no later part will own any units of a file.
func (c *Cutting) finish(file int32) { c.done = append(c.done, file) }

// part returns a new part of count units that reads files at a place.
func (c *Cutting) part(p *place, files []string, count int64) jjm.Part {
	in := &c.inputs.take(1)[0]
	in.Files, in.Place, in.Group = files, p.where, p.group
	in.Mask.Run = c.run
	return jjm.Part{Unit: c.unit, Count: count, Input: in}
}

// more returns the rarely used fields of a part, which it allocates if necessary.
func more(in *jjm.PartInput) *jjm.PartMore {
	if in.More == nil {
		in.More = new(jjm.PartMore)
	}
	return in.More
}

// arena makes small slices with few allocations.
type arena[T any] struct{ free []T }

// arenaSize is how many elements an arena allocates together. The number is small, because one part in use keeps all
// these elements in memory.
const arenaSize = 128

// take returns a slice of n zero elements without spare capacity, so that appending to it
// overwrites no other slice.
func (a *arena[T]) take(n int) []T {
	if n > arenaSize/4 {
		return make([]T, n)
	}
	if len(a.free) < n {
		a.free = make([]T, arenaSize)
	}
	out := a.free[:n:n]
	a.free = a.free[n:]
	return out
}
