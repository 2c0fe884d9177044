package engine_test

import (
	"bytes"
	"context"
	"io"
	"slices"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
)

// asked is an engine whose verbs can be called like methods. Each method builds the request from its arguments, and
// returns the parts of the answer.
type asked struct{ *engine.Engine }

type (
	ctx    = context.Context
	caller = wire.Caller
)

// call carries out the request of a verb for a caller, and returns the answer.
func call[Req wire.Request, Ans wire.Answer](c ctx, e *asked, v wire.Verb[Req, Ans], by caller, req Req) (Ans, error) {
	return serve.Ask(c, e.Verbs(), v, by, req)
}

// names returns references as the part of a request that names jobs.
func names(refs []jjm.Ref) wire.Many {
	texts := make([]string, len(refs))
	for i, ref := range refs {
		texts[i] = ref.String()
	}
	return wire.Refs(texts...)
}

func oneJob(ref jjm.Ref) wire.One    { return wire.OneRef(ref.String()) }
func oneGrid(id jjm.GridID) wire.One { return wire.OneRef(id.String()) }

// of returns the value that p points to, the zero value for nil.
func of[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func (e *asked) Submit(c ctx, by caller, s wire.Submit) (wire.Submitted, error) {
	a, err := call(c, e, wire.VerbSubmit(), by, wire.SubmitRequest{Submit: &s})
	return of(a.Submit), err
}

func (e *asked) Copy(c ctx, by caller, id jjm.GridID, how wire.CopyHow) (wire.Copied, error) {
	a, err := call(c, e, wire.VerbCopy(), by, wire.CopyRequest{One: oneGrid(id), CopyHow: how})
	return of(a.Copied), err
}

func (e *asked) Renew(c ctx, by caller, id jjm.GridID, given []jjm.Credential) (renewal, error) {
	a, err := call(c, e, wire.VerbRenew(), by, wire.RenewRequest{One: oneGrid(id), Credentials: given})
	return renewal{a.Renewed, a.NotReached, a.Notes}, err
}

// renewal is the answer of Renew.
type renewal struct{ Kinds, NotReached, Notes []string }

func (e *asked) Kill(c ctx, by caller, refs []jjm.Ref, how wire.KillHow) []wire.Killed {
	a, err := call(c, e, wire.VerbKill(), by, wire.KillRequest{Many: names(refs), KillHow: how})
	if err != nil {
		return slices.Repeat([]wire.Killed{{Error: wire.ErrorOf(err)}}, len(refs))
	}
	return a.Kill
}

func (e *asked) Hold(c ctx, by caller, refs []jjm.Ref, how wire.HoldHow) []wire.Held {
	a, err := call(c, e, wire.VerbHold(), by, wire.HoldRequest{Many: names(refs), HoldHow: how})
	if err != nil {
		return slices.Repeat([]wire.Held{{Error: wire.ErrorOf(err)}}, len(refs))
	}
	return a.Hold
}

func (e *asked) Set(c ctx, by caller, refs []jjm.Ref, how wire.SetHow) []wire.Changed {
	a, err := call(c, e, wire.VerbSet(), by, wire.SetRequest{Many: names(refs), SetHow: how})
	if err != nil {
		return slices.Repeat([]wire.Changed{{Error: wire.ErrorOf(err)}}, len(refs))
	}
	return a.Set
}

func (e *asked) Release(c ctx, by caller, refs []jjm.Ref, how wire.ReleaseHow) []wire.Released {
	a, err := call(c, e, wire.VerbRelease(), by, wire.ReleaseRequest{Many: names(refs), ReleaseHow: how})
	if err != nil {
		return slices.Repeat([]wire.Released{{Error: wire.ErrorOf(err)}}, len(refs))
	}
	return a.Release
}

func (e *asked) Resubmit(c ctx, by caller, refs []jjm.Ref, how wire.ResubmitHow) []wire.Resubmitted {
	a, err := call(c, e, wire.VerbResubmit(), by, wire.ResubmitRequest{Many: names(refs), ResubmitHow: how})
	if err != nil {
		return slices.Repeat([]wire.Resubmitted{{Error: wire.ErrorOf(err)}}, len(refs))
	}
	return a.Resubmit
}

func (e *asked) Resplit(c ctx, by caller, refs []jjm.Ref, how wire.ResplitHow) []wire.Resplit {
	a, err := call(c, e, wire.VerbResplit(), by, wire.ResplitRequest{Many: names(refs), ResplitHow: how})
	if err != nil {
		return slices.Repeat([]wire.Resplit{{Error: wire.ErrorOf(err)}}, len(refs))
	}
	return a.Resplit
}

func (e *asked) Remove(c ctx, by caller, refs []jjm.Ref, force, dry bool) []wire.Removed {
	a, err := call(c, e, wire.VerbRemove(), by, wire.RemoveRequest{Many: names(refs), Force: force, DryRun: dry})
	if err != nil {
		return slices.Repeat([]wire.Removed{{Error: wire.ErrorOf(err)}}, len(refs))
	}
	return a.Remove
}

func (e *asked) Remark(c ctx, by caller, id jjm.GridID, text string) (bool, error) {
	a, err := call(c, e, wire.VerbRemark(), by, wire.RemarkRequest{One: oneGrid(id), Remark: text})
	return a.News, err
}

func (e *asked) Select(c ctx, by caller, req wire.SelectRequest) (wire.Selected, error) {
	a, err := call(c, e, wire.VerbSelect(), by, req)
	return of(a.Select), err
}

func (e *asked) Dataset(c ctx, by caller, d wire.Dataset) (wire.Datasets, error) {
	a, err := call(c, e, wire.VerbDataset(), by, wire.DatasetRequest{Dataset: &d})
	return of(a.Datasets), err
}

func (e *asked) Retract(c ctx, by caller, id jjm.GridID, w wire.Retract) (wire.Retracted, error) {
	a, err := call(c, e, wire.VerbRetract(), by, wire.RetractRequest{One: oneGrid(id), Retract: &w})
	return of(a.Retracted), err
}

func (e *asked) Verify(c ctx, by caller, id jjm.GridID, recovery string) (wire.Verified, error) {
	a, err := call(c, e, wire.VerbVerify(), by, wire.VerifyRequest{One: oneGrid(id), Recovery: recovery})
	return of(a.Verify), err
}

func (e *asked) Replay(c ctx, by caller, id jjm.GridID) (wire.Replayed, error) {
	a, err := call(c, e, wire.VerbReplay(), by, wire.ReplayRequest{One: oneGrid(id)})
	return of(a.Replay), err
}

func (e *asked) Order(c ctx, by caller, o *wire.Order) ([]jjm.Order, error) {
	a, err := call(c, e, wire.VerbOrder(), by, wire.OrderRequest{Order: o})
	return a.Orders, err
}

func (e *asked) Ban(c ctx, by caller, b *wire.Ban) (wire.Banned, error) {
	a, err := call(c, e, wire.VerbBan(), by, wire.BanRequest{Ban: b})
	return of(a.Banned), err
}

func (e *asked) Exclude(c ctx, by caller, x *wire.Exclude) (wire.Excluded, error) {
	a, err := call(c, e, wire.VerbExclude(), by, wire.ExcludeRequest{Exclude: x})
	return of(a.Excluded), err
}

func (e *asked) Reset(c ctx, by caller, cluster string) error {
	_, err := call(c, e, wire.VerbReset(), by, wire.ResetRequest{Cluster: cluster})
	return err
}

func (e *asked) Lookup(c ctx, by caller, ids []jjm.GridID) []wire.Lookup {
	var many wire.Many
	for _, id := range ids {
		many.Refs = append(many.Refs, id.String())
	}
	a, err := call(c, e, wire.VerbLookup(), by, wire.LookupRequest{Many: many})
	if err != nil {
		return slices.Repeat([]wire.Lookup{{Error: wire.ErrorOf(err)}}, len(ids))
	}
	return a.Lookup
}

func (e *asked) Status(c ctx, by caller, refs []jjm.Ref) ([]wire.Status, error) {
	a, err := call(c, e, wire.VerbStatus(), by, wire.StatusRequest{Many: names(refs)})
	return a.Status, err
}

func (e *asked) List(c ctx, by caller, l wire.List) ([]wire.Status, error) {
	a, err := call(c, e, wire.VerbList(), by, wire.ListRequest{List: &l})
	return a.Status, err
}

func (e *asked) Watch(c ctx, by caller, refs []jjm.Ref, send func([]wire.Status) error) error {
	return stream(c, e, wire.VerbWait(), by, wire.WaitRequest{Many: names(refs)}, &sent{
		line: func(a wire.Answer, last bool) error {
			if last {
				return nil
			}
			return send(a.(wire.StatusAnswer).Status)
		}})
}

func (e *asked) Record(c ctx, by caller, id jjm.GridID, path string) ([]string, error) {
	a, err := call(c, e, wire.VerbRecord(), by, wire.RecordRequest{One: oneGrid(id), Path: path})
	return a.Record, err
}

func (e *asked) Records(c ctx, by caller, path string, of wire.Selection, send func(wire.Found) error) error {
	return stream(c, e, wire.VerbRecords(), by, wire.RecordsRequest{Path: path, Of: of}, &sent{
		line: func(a wire.Answer, last bool) error {
			if last {
				return nil
			}
			return send(*a.(wire.RecordsAnswer).Found)
		}})
}

func (e *asked) Output(c ctx, by caller, ref jjm.Ref, want wire.Wanted) (io.ReadCloser, int64, wire.Output, error) {
	if want.File == "" {
		ref = jjm.Ref{Grid: ref.Grid}
	}
	s := &sent{}
	err := stream(c, e, wire.VerbOutput(), by, wire.OutputRequest{One: oneJob(ref), Wanted: want}, s)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	a := s.first.(wire.OutputAnswer)
	return io.NopCloser(&s.bytes), a.Bytes, *a.Output, nil
}

// Cat returns the present content of a file, and a function that reports whether the file may still grow. If Cat
// returns an error, the function is nil unless the file may still be made.
func (e *asked) Cat(c ctx, by caller, ref jjm.Ref, file wire.CatFile) (io.ReadCloser, func() bool, error) {
	live := func() bool { // Follow makes the request wait as long as the file may still grow
		short, stop := context.WithTimeout(c, serve.Poll/2)
		defer stop()
		req := wire.CatRequest{One: oneJob(ref), CatFile: file, Follow: true}
		_ = stream(short, e, wire.VerbCat(), by, req, &sent{})
		return short.Err() != nil
	}
	s := &sent{}
	err := stream(c, e, wire.VerbCat(), by, wire.CatRequest{One: oneJob(ref), CatFile: file}, s)
	if err != nil && !live() {
		return nil, nil, err
	}
	return io.NopCloser(&s.bytes), live, err
}

func (e *asked) ListFiles(c ctx, by caller, ref jjm.Ref, attempt *int32) ([]jjm.JobFile, bool, error) {
	req := wire.CatRequest{One: oneJob(ref), List: true}
	req.Attempt = attempt
	a, err := call(c, e, wire.VerbCat(), by, req)
	return a.Files, a.More, err
}

func (e *asked) History(c ctx, by caller, ref jjm.Ref, limit int) ([]jjm.JournalEntry, error) {
	req := wire.HistoryRequest{Many: names([]jjm.Ref{ref}), Limit: limit}
	if ref == (jjm.Ref{}) {
		req = wire.HistoryRequest{Orders: true, Limit: limit}
	}
	a, err := call(c, e, wire.VerbHistory(), by, req)
	return a.History, err
}

func (e *asked) Log(c ctx, by caller, id jjm.GridID) ([]string, error) {
	a, err := call(c, e, wire.VerbLog(), by, wire.LogRequest{One: oneGrid(id)})
	return a.Log, err
}

func (e *asked) Why(c ctx, by caller, refs []jjm.Ref) ([]wire.Why, error) {
	a, err := call(c, e, wire.VerbWhy(), by, wire.WhyRequest{Many: names(refs)})
	return a.Why, err
}

// Resolve returns the grid job of a handle, as lookups find it.
func (e *asked) Resolve(c ctx, by caller, h jjm.Handle) (jjm.GridID, error) {
	a, err := call(c, e, wire.VerbWhy(), by, wire.WhyRequest{Many: wire.Refs(string(h))})
	if err != nil {
		return 0, err
	}
	return a.Why[0].ID, nil
}

// stream carries out the request of a verb whose answer is a stream, and writes the answer to s.
func stream[Req wire.Request, Ans wire.Answer](c ctx, e *asked, v wire.Verb[Req, Ans], by caller, req Req,
	s *sent) error {
	all := e.Verbs()
	i := slices.IndexFunc(all, func(one serve.Verb) bool { return one.Name == v.Name })
	return all[i].Do(c, by, req, s)
}

// sent keeps the first line of an answer and its bytes, and passes later lines to a function.
type sent struct {
	line  func(wire.Answer, bool) error
	first wire.Answer
	bytes bytes.Buffer
}

func (s *sent) Line(a wire.Answer, last bool) error { return s.line(a, last) }

func (s *sent) Begin(a wire.Answer) error {
	s.first = a
	return nil
}

func (s *sent) Write(b []byte) (int, error) { return s.bytes.Write(b) }
