package gate

import (
	"context"
	"errors"

	"jjm"
	"jjm/wire"
)

// refs reads the references of a request, handles included; the first that
// means nothing is an error of the whole. With grid set, only whole grid jobs
// will do.
func (c *session) refs(ctx context.Context, req *wire.Request, grid bool) ([]jjm.Ref, error) {
	named, err := c.resolve(ctx, req)
	if err != nil {
		return nil, err
	}
	for _, n := range named {
		if n.err != nil {
			return nil, n.err
		}
	}
	return req.ParsedRefs(grid)
}

// named is a reference that was made with a handle.
type named struct {
	handle jjm.Handle
	err    error
}

// resolve replaces the handles in a request by the ids of their grid jobs. What
// it gives has an entry per reference, or is nil if none was a handle; where
// err is set the reference is left as 1.
func (c *session) resolve(ctx context.Context, req *wire.Request) ([]named, error) {
	var out []named
	for i, ref := range req.Refs {
		h, rest, ok := jjm.CutHandle(ref)
		if !ok {
			continue
		}
		if out == nil {
			out = make([]named, len(req.Refs))
		}
		id, err := c.service.Resolve(ctx, c.caller, h)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			id = 1
		}
		out[i] = named{handle: h, err: err}
		req.Refs[i] = id.String() + rest
	}
	return out, nil
}

// lookup answers for each reference, in order.
func (c *session) lookup(ctx context.Context, req *wire.Request) ([]wire.Lookup, error) {
	names, refs, err := c.each(ctx, req, true)
	if err != nil {
		return nil, err
	}
	ids := make([]jjm.GridID, 0, len(refs))
	for i, r := range refs {
		if names == nil || names[i].err == nil {
			ids = append(ids, r.Grid)
		}
	}
	found := c.service.Lookup(ctx, c.caller, ids)
	if len(found) != len(ids) {
		return nil, jjm.Errorf(jjm.Internal, "lookup: %d answers for %d ids", len(found), len(ids))
	}
	if names == nil {
		return found, nil
	}
	out := make([]wire.Lookup, len(refs))
	for i, n := range names {
		if n.err != nil {
			out[i] = unresolved(n)
			continue
		}
		out[i], found = found[0], found[1:]
		out[i].Handle = n.handle
	}
	return out, nil
}

// unresolved is the answer for a handle without a grid job. What was refused
// after it was accepted on behalf of the daemon has failed.
func unresolved(n named) wire.Lookup {
	var r *wire.Refused
	if !errors.As(n.err, &r) {
		return wire.Lookup{Handle: n.handle, Error: wire.ErrorOf(n.err)}
	}
	return wire.Lookup{Handle: n.handle, Status: jjm.Broken.String(), GRAM: jjm.GRAMFailed,
		Code: jjm.GRAMExecutionFailed, Message: r.Error(), Master: "failed", Exit: 1}
}

// kill answers for each reference, in order.
func (c *session) kill(ctx context.Context, req *wire.Request) ([]wire.Killed, error) {
	asked := append([]string(nil), req.Refs...)
	names, refs, err := c.each(ctx, req, false)
	if err != nil {
		return nil, err
	}
	known := make([]jjm.Ref, 0, len(refs))
	for i, r := range refs {
		if names == nil || names[i].err == nil {
			known = append(known, r)
		}
	}
	killed := c.service.Kill(ctx, c.caller, known)
	if len(killed) != len(known) {
		return nil, jjm.Errorf(jjm.Internal, "kill: %d answers for %d ids", len(killed), len(known))
	}
	if names == nil {
		return killed, nil
	}
	out := make([]wire.Killed, len(refs))
	for i, n := range names {
		var r *wire.Refused
		switch {
		case errors.As(n.err, &r):
			out[i].NoChange = true
		case n.err != nil:
			out[i].Error = wire.ErrorOf(n.err)
		default:
			out[i], killed = killed[0], killed[1:]
		}
		out[i].Ref = asked[i]
	}
	return out, nil
}

// each resolves handles and reads references.
func (c *session) each(ctx context.Context, req *wire.Request, grid bool) ([]named, []jjm.Ref, error) {
	names, err := c.resolve(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	refs, err := req.ParsedRefs(grid)
	return names, refs, err
}
