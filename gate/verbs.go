package gate

import (
	"context"
	"errors"
	"slices"
	"time"

	"jjm"
	"jjm/wire"
)

// do carries out a request: the verbs that stream on their own, the others
// within the answer time.
func (c *session) do(stop, ctx context.Context, req *wire.Request) error {
	switch req.Verb {
	case wire.VerbWait:
		return c.watch(stop, ctx, req)
	case wire.VerbOutput:
		return c.output(ctx, req)
	case wire.VerbCat:
		return c.cat(stop, ctx, req)
	}
	limited, cancel := context.WithTimeout(ctx, c.cfg.AnswerTime.D())
	defer cancel()
	a, err := c.ask(limited, req)
	if err != nil {
		return c.explain(limited, req, err)
	}
	a.OK = true
	return c.answer(a)
}

// ask puts the request to the service.
func (c *session) ask(ctx context.Context, req *wire.Request) (wire.Answer, error) {
	switch req.Verb {
	case wire.VerbPing:
		return wire.Answer{Version: c.cfg.Version}, nil
	case wire.VerbSubmit:
		s, err := c.service.Submit(ctx, c.caller, *req.Submit)
		return wire.Answer{Submit: &s}, err
	case wire.VerbList:
		var l wire.List
		if req.List != nil {
			l = *req.List
		}
		st, err := c.service.List(ctx, c.caller, l)
		return wire.Answer{Status: st}, err
	case wire.VerbJobTypes:
		return wire.Answer{JobTypes: c.service.JobTypes()}, nil
	case wire.VerbClusters:
		return wire.Answer{Clusters: c.service.Clusters(ctx), Notes: c.service.Notes()}, nil
	case wire.VerbAdvertise:
		ad, err := c.service.Advertised(ctx, c.caller, req.Now)
		return wire.Answer{Advertised: &ad}, err
	case wire.VerbReset:
		return wire.Answer{}, c.service.Reset(ctx, c.caller, req.Cluster)
	case wire.VerbOrder:
		orders, err := c.service.Order(ctx, c.caller, req.Order)
		return wire.Answer{Orders: orders}, err
	case wire.VerbDataset:
		sets, err := c.service.Dataset(ctx, c.caller, *req.Dataset)
		return wire.Answer{Datasets: &sets}, err
	case wire.VerbBan:
		banned, err := c.service.Ban(ctx, c.caller, req.Ban)
		return wire.Answer{Banned: &banned}, err
	}
	switch req.Verb {
	case wire.VerbLookup:
		found, err := c.lookup(ctx, req)
		return wire.Answer{Lookup: found}, err
	case wire.VerbKill:
		killed, err := c.kill(ctx, req)
		return wire.Answer{Kill: killed}, err
	}
	refs, err := c.refs(ctx, req, slices.Contains([]string{wire.VerbRecord, wire.VerbLog, wire.VerbRenew, wire.VerbRemark, wire.VerbVerify, wire.VerbRetract}, req.Verb))
	if err != nil {
		return wire.Answer{}, err
	}
	return c.askAbout(ctx, req, refs)
}

// askAbout puts a request about jobs to the service.
func (c *session) askAbout(ctx context.Context, req *wire.Request, refs []jjm.Ref) (a wire.Answer, err error) {
	switch req.Verb {
	case wire.VerbRelease:
		a.Release = c.service.Release(ctx, c.caller, refs)
		if len(a.Release) != len(refs) {
			err = jjm.Errorf(jjm.Internal, "release: %d answers for %d ids", len(a.Release), len(refs))
		}
	case wire.VerbStatus:
		a.Status, err = c.service.Status(ctx, c.caller, refs)
	case wire.VerbRecord:
		a.Record, err = c.service.Record(ctx, c.caller, refs[0].Grid, req.Path)
	case wire.VerbHistory:
		var ref jjm.Ref // none: of the orders
		if !req.Orders {
			ref = refs[0]
		}
		a.History, err = c.service.History(ctx, c.caller, ref, req.Limit)
	case wire.VerbRenew:
		var r wire.Renewal
		r, err = c.service.Renew(ctx, c.caller, refs[0].Grid, req.Credentials)
		a.Renewed, a.NotReached = r.Kinds, r.NotReached
	case wire.VerbRemark:
		a.News, err = c.service.Remark(ctx, c.caller, refs[0].Grid, req.Remark)
	case wire.VerbVerify:
		var v wire.Verified
		v, err = c.service.Verify(ctx, c.caller, refs[0].Grid, req.Recovery)
		a.Verify = &v
	case wire.VerbRetract:
		var r wire.Retracted
		r, err = c.service.Retract(ctx, c.caller, refs[0].Grid, *req.Retract)
		a.Retracted = &r
	case wire.VerbLog:
		a.Log, err = c.service.Log(ctx, c.caller, refs[0].Grid)
	default:
		err = jjm.Errorf(jjm.Internal, "verb %s has no service", req.Verb)
	}
	return a, err
}

// explain tells an end of ctx from other errors: it says what the client can
// do. A submission that was cut off may have been stored.
func (c *session) explain(ctx context.Context, req *wire.Request, err error) error {
	if ctx.Err() == nil {
		return err
	}
	switch jjm.KindOf(err) {
	case jjm.Invalid, jjm.Denied, jjm.Gone, jjm.Conflict:
		return err
	}
	why := context.Cause(ctx)
	if errors.Is(why, context.DeadlineExceeded) {
		why = jjm.Errorf(jjm.Busy, "%s: no answer within %v: try again", req.Verb, c.cfg.AnswerTime.D().Round(time.Millisecond))
	}
	if req.Verb == wire.VerbSubmit && !req.Submit.DryRun {
		return jjm.Errorf(jjm.Ambiguous, "submit: the grid job may have been accepted (submit again with the same request key to learn its id): %w", why)
	}
	return why
}
