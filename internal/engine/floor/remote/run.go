package remote

import (
	"context"
	"fmt"
	"time"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/sys/fetch"
	"jjm/sandbox"
)

// outcome is the result of a run. The zero value means that all inputs were fetched.
type outcome struct {
	waits   string        // what the grid job waits for
	again   time.Duration // time until the next run
	failure error         // a permanent error: the inputs will never be fetched
}

// These are the times until the next run if the cause of the wait is not a server.
const (
	soon     = 5 * time.Second  // the account's helper or work area does not answer
	fullDisk = 30 * time.Second // the disk is full, which a person must change
)

// run fetches inputs of one grid job until all were fetched, or until it has to wait. It returns the time until the
// next run, 0 if there is none.
func (is *Inputs) run(ctx context.Context, id jjm.GridID) time.Duration {
	is.mu.Lock()
	e := is.downloads[id]
	if e == nil || e.over || e.failure != nil {
		is.mu.Unlock()
		return 0
	}
	ctx, stop := context.WithCancel(ctx)
	e.stop = stop
	is.mu.Unlock()
	defer stop()
	out := is.fetchAll(ctx, e)
	if ctx.Err() != nil {
		return 0 // stopped; Bring starts it again
	}
	if out.failure != nil {
		is.b.Log.Warn("an input cannot be fetched", "job", id, "error", out.failure)
	}
	is.report(e, out)
	return out.again
}

// report stores an outcome, unless fetching was stopped meanwhile, and wakes the grid job.
func (is *Inputs) report(e *download, out outcome) {
	is.mu.Lock()
	if is.downloads[e.id] == e {
		e.waits, e.failure = out.waits, out.failure
		e.over = out.waits == "" && out.failure == nil
	}
	is.mu.Unlock()
	is.s.WakeGrid(e.id)
}

// fetchAll fetches, one after another, the inputs that are not in the work area yet. It stops at the first input that
// cannot be fetched now.
func (is *Inputs) fetchAll(ctx context.Context, e *download) outcome {
	ar, err := is.areas.Of(e.owner)
	if err == nil {
		err = ar.MakeFetched(e.id)
	}
	if err != nil {
		return outcome{waits: e.wanted[e.at].about(err.Error()), again: soon}
	}
	for ; e.at < len(e.wanted); e.at++ {
		w := &e.wanted[e.at]
		size, there, err := ar.FetchedSize(e.id, w.in.Path)
		if err != nil {
			return outcome{waits: w.about(err.Error()), again: soon}
		}
		if !there {
			var out outcome
			if size, out = is.fetch(ctx, ar, e, w); out != (outcome{}) {
				return out
			}
			e.tries = fetch.Tries{}
		}
		e.have += size
	}
	return outcome{}
}

// fetch fetches one input and returns its size in bytes. outcome is zero if the input was fetched.
func (is *Inputs) fetch(ctx context.Context, ar *areas.Area, e *download, w *want) (int64, outcome) {
	if full := is.noRoom(w); full != (outcome{}) {
		return 0, full
	}
	credential, err := is.credential(e.owner, e.base, &w.in)
	switch {
	case jjm.KindOf(err) == jjm.Busy:
		return 0, outcome{waits: w.about(err.Error()), again: soon}
	case err != nil:
		return 0, outcome{failure: jjm.Errorf(jjm.Invalid, "%s: %w", w.about("credential_file"), err)}
	}
	if e.tries == (fetch.Tries{}) && is.Waits(e.id) != w.about(underWay) {
		is.report(e, outcome{waits: w.about(underWay)})
	}
	r, err := is.child(ctx, e, is.order(ar, e, w, credential))
	switch {
	case err != nil:
		if full := is.noRoom(w); full != (outcome{}) { // the child was stopped because the disk is full
			return 0, full
		}
		return 0, outcome{waits: w.about(err.Error()), again: soon}
	case r.Done:
		is.b.Log.Info("an input was fetched", "job", e.id, "url", weburl.Shown(w.in.Path), "bytes", r.Bytes)
		return r.Bytes, outcome{}
	}
	return 0, is.retryOrFail(e, w, r)
}

// noRoom returns an outcome that waits for space if the disk is full, and otherwise the zero value.
func (is *Inputs) noRoom(w *want) outcome {
	low := is.s.Low()
	if low == "" {
		return outcome{}
	}
	return outcome{waits: w.about("waits for room on the disk: " + low), again: fullDisk}
}

const underWay = "it is being fetched"

// order returns the order for an input. Its size limit is the site's limit for one input, or the grid job's remaining
// input size if that is smaller.
func (is *Inputs) order(ar *areas.Area, e *download, w *want, credential string) fetch.Order {
	conf := is.b.Conf()
	o := conf.Fetch.Order(&w.in, credential)
	o.Root, o.File = ar.Root(), sandbox.Fetched(e.id, w.in.Path)
	if most := conf.MaxInputBytes; most > 0 {
		left := max(most-e.have, 1)
		if o.MaxBytes == 0 || left < o.MaxBytes {
			o.MaxBytes = left
		}
	}
	return o
}

// lookEvery is the time between two checks of the free space during a transfer.
const lookEvery = 5 * time.Second

// child runs the order in a child process of the owner, and stops the child if the disk gets full. An error means that
// something on this host failed; a failure of the server is in the report.
func (is *Inputs) child(ctx context.Context, e *download, o fetch.Order) (fetch.Report, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				if is.s.Low() != "" {
					stop()
				}
			}
		}
	}()
	return is.b.Deps.Fetch(is.areas.As(ctx, e.owner), o)
}

// retryOrFail decides whether an input, after a failed try, fails permanently or is tried again after a wait.
func (is *Inputs) retryOrFail(e *download, w *want, r fetch.Report) outcome {
	tries, vain := is.b.Conf().Fetch.Tries, e.tries.Add(r)
	switch {
	case !r.Again:
		return outcome{failure: jjm.Errorf(jjm.Invalid, "%s", w.about(r.Trouble))}
	case vain >= tries:
		return outcome{failure: jjm.Errorf(jjm.Invalid, "%s", w.about(fmt.Sprintf(
			"%d tries were in vain (engine.fetch.tries), the last one: %s", tries, r.Trouble)))}
	}
	pause := fetch.Pause(vain, r.Wait.D())
	came := ""
	if r.Bytes > 0 {
		came = fmt.Sprintf("%d bytes are there; ", r.Bytes)
	}
	next := jjm.At(is.b.Now().Add(pause)).Local()
	return outcome{again: pause, waits: w.about(fmt.Sprintf("%s; %stry %d of %d is at %s", r.Trouble, came, vain+1,
		tries, next))}
}

// credential reads the credential file of an input with the owner's rights.
func (is *Inputs) credential(owner jjm.Owner, base string, in *jjm.Input) (string, error) {
	if in.CredentialFile == "" {
		return "", nil
	}
	f, err := is.open(owner, base, in.CredentialFile)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := fetch.ReadCredential(f)
	if err != nil {
		return "", fmt.Errorf("%s %w", in.CredentialFile, err)
	}
	return text, nil
}
