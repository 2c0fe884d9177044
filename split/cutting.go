package split

import (
	"maps"

	"jjm"
)

// Cutting is work that is being cut. It is used by one goroutine.
//
// Cutting in pieces makes the same parts as cutting at once. So does going on
// after a restart: Start with the carry of the last committed piece and the
// files that were not done then, in the same order; except for the splitters
// that docs/SPLITTERS.md says cut in cycles.
type Cutting struct {
	cutter cutter
	unit   string
	run    uint32 // of generated parts
	carry  Carry
	// ahead is a part made to learn whether there are more.
	ahead *jjm.Part
	done  []int32
	// expect is about how many parts a cut without a limit makes, 0 = not known.
	expect int64
	// whole says that the parts of a cut must be committed together.
	whole bool
	// binder gives parts without a place one, nil where nobody asks for places.
	binder *binder

	inputs arena[jjm.PartInput]
	events arena[jjm.EventRange]
	lumis  arena[jjm.FileLumis]
	words  arena[string]
}

// cutter is one way of cutting.
type cutter interface {
	// next makes the next part; false at the end. It numbers nothing: the
	// Cutting does.
	next(*Cutting) (jjm.Part, bool)
	// checkpoint describes the point between the last part and the next.
	checkpoint() *Checkpoint
	// left adds what the cut leaves, once it came to its end.
	left(*Left)
}

// pauser is a cutter whose work may come to wait in the middle of a file.
type pauser interface {
	// pause returns where it then goes on, nil for the beginning of a file.
	pause() *Checkpoint
}

// pause returns where a cut goes on that came to its end for now.
func (c *Cutting) pause() *Checkpoint {
	if p, ok := c.cutter.(pauser); ok {
		return p.pause()
	}
	return nil
}

// Next returns at most limits.MaxParts parts, what they left, and the carry.
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

// take numbers the next part.
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

// next makes the next part, at its place.
func (c *Cutting) next() (jjm.Part, bool) {
	part, ok := c.cutter.next(c)
	if ok && c.binder != nil {
		c.binder.bind(&part)
	}
	return part, ok
}

// ended says what is left at the end of a cut.
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

// finish says that a file is cut to its end.
func (c *Cutting) finish(file int32) { c.done = append(c.done, file) }

// part starts a part that reads files at a place.
func (c *Cutting) part(p *place, files []string, count int64) jjm.Part {
	in := &c.inputs.take(1)[0]
	in.Files, in.Place, in.Group = files, p.where, p.group
	in.Mask.Run = c.run
	return jjm.Part{Unit: c.unit, Count: count, Input: in}
}

// more returns the rare things of a part.
func more(in *jjm.PartInput) *jjm.PartMore {
	if in.More == nil {
		in.More = new(jjm.PartMore)
	}
	return in.More
}

// arena makes small slices without an allocation for each.
type arena[T any] struct{ free []T }

// chunk is how many elements an arena allocates at once: few enough that a part
// that outlives its neighbours keeps little of them.
const chunk = 128

// take returns a slice of n zero elements; appending to it never overwrites
// another.
func (a *arena[T]) take(n int) []T {
	if n > chunk/4 {
		return make([]T, n)
	}
	if len(a.free) < n {
		a.free = make([]T, chunk)
	}
	out := a.free[:n:n]
	a.free = a.free[n:]
	return out
}
