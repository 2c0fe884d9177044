package trace

import (
	"context"
	"errors"
	"fmt"
	"os"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// until waits until the grid job has reached a stage. The error is a *Fault if the job cannot reach the stage without
// help, if no daemon answers, or if the time is over.
func (t *tracer) until(ctx context.Context, want stage) (string, error) {
	for {
		if t.seen.stage() >= want {
			return t.seen.found(want), nil
		}
		err := t.look(ctx)
		switch {
		case client.IsUnreachable(err):
			return "", t.down(err)
		case jjm.KindOf(err) == jjm.Gone && !t.spooled():
			return "", t.elsewhere(err)
		case err == nil && t.seen.stage() < want:
			if f := t.seen.stops(); f != nil {
				return "", f
			}
		}
		if !wait(ctx, lookPause) {
			f := t.seen.waits("not within " + jjm.HowLong(t.Timeout) + ": ")
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				f.Text += "; " + err.Error()
			}
			return "", f
		}
	}
}

// look requests the state of the grid job from the daemon, and the cause if the job makes no progress. As soon as the
// local job exists, the same call also requests the local job, because a short job can be over at the first call.
func (t *tracer) look(ctx context.Context) error {
	ref, st := string(t.handle), wire.Status{}
	for range 2 {
		a, err := client.Call(ctx, t.daemon, wire.VerbStatus(), wire.StatusRequest{Many: wire.Refs(ref)})
		if err != nil {
			return err
		}
		if len(a.Status) != 1 {
			return jjm.Errorf(jjm.Internal, "status %s: %d answers", ref, len(a.Status))
		}
		if st = a.Status[0]; st.Lookup.Error != nil {
			return st.Lookup.Error.Err()
		}
		if len(st.Locals) > 0 || st.Lookup.Counts.Total == 0 {
			break
		}
		ref = st.Lookup.ID.String() + ".0"
	}
	t.seen.Status, t.seen.cause = st, wire.Cause{}
	b, err := client.Call(ctx, t.daemon, wire.VerbWhy(), wire.WhyRequest{Many: wire.Refs(ref)})
	if err != nil || len(b.Why) != 1 || b.Why[0].Error != nil {
		return nil // the cause is only for people
	}
	switch w := b.Why[0]; {
	case w.Unfinished > 0 && len(w.Causes) > 0:
		t.seen.cause = w.Causes[0]
	case w.Grid != nil:
		t.seen.cause = *w.Grid
	}
	return nil
}

// down returns the fault of a trace if the daemon does not answer.
func (t *tracer) down(err error) *Fault {
	f := &Fault{Tried: "ask the daemon for " + string(t.handle), On: t.daemon.Socket, Text: err.Error(),
		Remedy: "systemctl status jjm tells why; start it with: systemctl start jjm"}
	if t.spooled() {
		f.Text += "; the submission waits in spool " + t.spool.Spool
	}
	return f
}

// elsewhere returns the fault of a trace if the daemon does not know the submitted job.
func (t *tracer) elsewhere(err error) *Fault {
	return &Fault{Tried: "ask the daemon for " + string(t.handle), On: t.daemon.Socket, Text: err.Error(),
		Remedy: "the scripts of " + t.Via + " use another daemon: its state folder must be in their configuration, " +
			"docs/GATEKEEPERS.md"}
}

// spooled reports whether the submission waits in the spool.
func (t *tracer) spooled() bool {
	l := t.spool.LastKnown(string(t.handle))
	return l.Error == nil && l.ID == 0
}

// clean kills and removes the grid job, and removes the folder of the job.
func (t *tracer) clean(ctx context.Context) (string, error) {
	text, err := "nothing was left", error(nil)
	if t.submitted {
		text, err = t.cleanJob(ctx)
	}
	if t.folder != "" {
		err = errors.Join(err, os.RemoveAll(t.folder))
	}
	return text, err
}

// cleanJob kills and removes the grid job. If no daemon answers, cleanJob removes the submission from the spool.
func (t *tracer) cleanJob(ctx context.Context) (string, error) {
	err := t.look(ctx)
	switch {
	case client.IsUnreachable(err):
		return t.withdraw(ctx, err)
	case jjm.KindOf(err) == jjm.Gone && !t.spooled():
		return "there is no grid job", nil
	case err == nil && t.seen.over():
		return t.remove(ctx)
	}
	if err := t.cancel(ctx); err != nil {
		return "", err
	}
	for !t.seen.over() {
		if !wait(ctx, lookPause) {
			return "", t.left("it is killed, and not over yet: " + t.seen.cause.Text)
		}
		if err := t.look(ctx); client.IsUnreachable(err) {
			return "", t.left(err.Error())
		}
	}
	return t.remove(ctx)
}

// withdraw removes the submission from the spool. If the daemon has already taken the submission, withdraw leaves a
// kill in the spool.
func (t *tracer) withdraw(ctx context.Context, down error) (string, error) {
	n, err := t.spool.Withdraw(t.handle)
	if err != nil {
		return "", err
	}
	switch err := t.look(ctx); {
	case err == nil: // a daemon was started meanwhile, and took the submission
		return t.cleanJob(ctx)
	case n > 0:
		return "the submission was taken out of the spool", nil
	case t.seen.Lookup.ID == 0:
		return "no submission waits in the spool", nil
	}
	if err := t.cancel(ctx); err != nil {
		return "", err
	}
	return "", t.left(down.Error() + "; a kill waits in the spool")
}

// remove removes the grid job, which must be over.
func (t *tracer) remove(ctx context.Context) (string, error) {
	id := t.seen.Lookup.ID.String()
	a, err := client.Call(ctx, t.daemon, wire.VerbRemove(), wire.RemoveRequest{Many: wire.Refs(id), Force: true})
	if err != nil {
		return "", t.left(err.Error())
	}
	for _, r := range a.Remove {
		if r.Error != nil {
			return "", t.left(r.Error.Text)
		}
	}
	return fmt.Sprintf("grid job %s was removed", id), nil
}

// left returns the fault of a trace if the grid job could not be removed.
func (t *tracer) left(text string) *Fault {
	ref := string(t.handle)
	if id := t.seen.Lookup.ID; id != 0 {
		ref = id.String()
	}
	return &Fault{Tried: "remove grid job " + ref, On: t.daemon.Socket, Text: text,
		Remedy: "once it is over: jjm remove --force " + ref}
}
