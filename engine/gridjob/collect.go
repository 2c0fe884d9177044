package gridjob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"jjm"
	"jjm/engine/areas"
	"jjm/engine/outputs"
	"jjm/engine/state"
	"jjm/internal/acl"
	"jjm/plan"
	"jjm/sandbox"
)

// collect makes the output tar of a grid job whose local jobs are all over and
// commits the final status together with it.
func (js *Jobs) collect(ctx context.Context, id jjm.GridID) error {
	facts, live := js.gridFacts(id)
	if !live {
		return nil
	}
	js.markAll(id)
	js.rooms.Records.PublishNow(ctx, id)
	final := js.finalRow(id, &facts)
	if err := js.rooms.Prover.CheckDone(ctx, &final, &facts); err != nil {
		return err
	}
	ar, err := js.areas.Of(final.Owner)
	if err != nil {
		return err
	}
	if err := ar.RemoveTars(id); err != nil {
		return fmt.Errorf("collect grid job %s: what was there before: %w", id, err)
	}
	name := outputs.TarName(&final)
	entries := js.TarEntries(ctx, &final, &facts, func() {
		used := final.Usage
		final = js.finalRow(id, &facts)
		final.Usage = used
	})
	info, err := ar.WriteTar(ctx, path.Join(sandbox.TarDir(id), name), outputs.Stem(&final), entries,
		js.b.Conf().MaxTarBytes)
	if err != nil {
		return fmt.Errorf("collect grid job %s: %w", id, err)
	}
	js.shareTar(ar, &final, info.Path)
	if err := js.b.Crash("collect.tarred"); err != nil {
		return err
	}
	overtaken := true
	err = js.s.Change(ctx, "collect", func(c *state.Change) error {
		g := c.Grid(id)
		if g == nil || g.Status.Final() || g.Kill != final.Kill {
			return nil // killed meanwhile: look again
		}
		overtaken = false
		from := g.Status.String()
		g.Status, g.Reason = final.Status, final.Reason
		g.Counts, g.Exit, g.Usage = final.Counts, final.Exit, final.Usage
		g.Tar, g.TarBytes, g.TarSHA256 = name, info.Bytes, info.SHA256
		g.Ended = final.Ended
		cause := fmt.Sprintf("tar of %d files, %d bytes, %d absent", info.Files, info.Bytes, info.Absent)
		if final.Reason != "" {
			cause = final.Reason + "; " + cause
		}
		c.Note(id, from, final.Status.String(), cause, "")
		return nil
	})
	if err == nil && !overtaken {
		js.rooms.Records.PublishNow(ctx, id)
		js.b.Log.Info("grid job is over", "job", id, "status", final.Status, "reason", final.Reason)
	}
	return err
}

// markAll makes the whole record be written once more.
func (js *Jobs) markAll(id jjm.GridID) {
	js.s.Adjust(func(a *state.Memo) { a.MarkWhole(id) })
}

// finalRow is the grid job as it will be once it is over.
func (js *Jobs) finalRow(id jjm.GridID, facts *plan.GridFacts) jjm.GridJob {
	v := js.s.View()
	defer v.Close()
	g := v.Grid(id)
	job := g.Job
	job.Status, job.Reason = plan.Final(*facts)
	job.Counts, job.Ended = g.Counts, jjm.At(js.b.Now())
	exit := plan.ExitFacts{Status: job.Status, Locals: len(g.Locals), Exit: -1,
		NotDone: js.b.Conf().ExitNotDone}
	if len(g.Locals) == 1 {
		exit.Exit = g.Locals[0].Exit
	}
	job.Exit = plan.ExitCode(exit)
	return job
}

// errEnough ends an iteration whose reader has enough.
var errEnough = errors.New("enough")

// TarEntries lists what goes into the tar: what each local job's last attempt
// left, jjm's own log of the grid job, and the record. It counts in facts what
// is lost; then counted is called, which may change job.
func (js *Jobs) TarEntries(ctx context.Context, job *jjm.GridJob, facts *plan.GridFacts,
	counted func()) iter.Seq2[sandbox.TarEntry, error] {
	return func(yield func(sandbox.TarEntry, error) bool) {
		facts.Recorded, facts.Lost, job.Usage = 0, 0, nil
		retracted, err := js.b.Store.Retracted(ctx, job.ID)
		if err != nil {
			yield(sandbox.TarEntry{}, err)
			return
		}
		err = js.b.Store.ResultsOf(ctx, job.ID, func(l jjm.LocalJob, ev *jjm.Evidence) error {
			state.AddUsage(job, &l, ev)
			if report, err := js.createFailed(ctx, outputs.Stem(job), &l); err != nil || report != nil && !yield(*report, nil) {
				return cmp.Or(err, errEnough)
			}
			if _, lost := retracted[l.ID.N]; lost {
				ev = logsOnly(job, &l, ev)
			}
			for _, entry := range localEntries(job, &l, leaveOut(job, &l, ev)) {
				if l.State == jjm.Completed && entry.SHA256 != "" {
					facts.Recorded++
					entry.Lost = func() { facts.Lost++ }
				}
				if !yield(entry, nil) {
					return errEnough
				}
			}
			return nil
		})
		if err == nil {
			counted()
			err = js.ownEntries(ctx, job, yield)
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(sandbox.TarEntry{}, err)
		}
	}
}

// leaveOut returns the evidence of a local job without the outputs that were merged.
func leaveOut(job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence) *jjm.Evidence {
	if !outputs.Merged(job, l) {
		return ev
	}
	return logsOnly(job, l, ev)
}

// logsOnly returns evidence that tells of no outputs but the log.
func logsOnly(job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence) *jjm.Evidence {
	if ev == nil || ev.Result == nil {
		return ev
	}
	less, result, names := *ev, *ev.Result, outputs.Names(&job.Spec, l)
	result.Outputs = slices.DeleteFunc(slices.Clone(result.Outputs), func(o jjm.Output) bool { return !names[o.Name].Log })
	less.Result = &result
	return &less
}

// localEntries lists the files of one local job.
func localEntries(job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence) []sandbox.TarEntry {
	stem := outputs.Stem(job)
	id := outputs.LastAttempt(l)
	if ev != nil && ev.Result != nil {
		id.Attempt = ev.Result.Attempt
	}
	if !l.State.Final() && l.State != jjm.Held {
		return liveEntries(stem, l)
	}
	if ev == nil || ev.Result == nil && !ev.HasGLF {
		why := "never started"
		if l.Message != "" {
			why += ": " + l.Message
		}
		return []sandbox.TarEntry{{Name: sandbox.OutputName(stem, l.ID, "stdout"), Absent: why}}
	}
	entries := plainEntries(stem, id)
	if ev.Result == nil {
		return entries
	}
	names := outputs.Names(&job.Spec, l)
	for _, o := range ev.Result.Outputs {
		entry := sandbox.TarEntry{Name: outputs.Name(stem, l.ID, o.Name, names), SHA256: o.SHA256, Bytes: o.Bytes,
			Absent: o.Absent}
		if o.Absent == "" {
			p, err := sandbox.OutputPath(id, o.Name)
			if err != nil {
				entry.Absent = err.Error()
			}
			entry.Path = p
		}
		entries = append(entries, entry)
	}
	return entries
}

// liveEntries lists what there is of a local job that is not over.
func liveEntries(stem string, l *jjm.LocalJob) []sandbox.TarEntry {
	if l.State == jjm.Running || l.State == jjm.Completing {
		return plainEntries(stem, l.AttemptID())
	}
	return []sandbox.TarEntry{{Name: sandbox.OutputName(stem, l.ID, "stdout"), Absent: "not over: " + l.State.String()}}
}

// plainEntries are the files that every attempt has.
func plainEntries(stem string, id jjm.AttemptID) []sandbox.TarEntry {
	dir := sandbox.AttemptDir(id)
	var entries []sandbox.TarEntry
	for _, name := range []string{"stdout", "stderr", "job.glf"} {
		entries = append(entries, sandbox.TarEntry{Name: sandbox.OutputName(stem, id.LocalID, name), Path: dir + "/" + name})
	}
	return entries
}

// ownEntries are jjm's log and the record, as it will be published.
func (js *Jobs) ownEntries(ctx context.Context, job *jjm.GridJob, yield func(sandbox.TarEntry, error) bool) error {
	lines, err := js.LogLines(ctx, job.ID)
	if err != nil {
		return err
	}
	text := strings.Join(append(lines, ""), "\n")
	if !yield(sandbox.TarEntry{Name: "jjm.log", Content: []byte(text)}, nil) {
		return errEnough
	}
	v := js.s.View()
	g := *v.Grid(job.ID)
	g.Job = *job
	head := js.rooms.Records.Head(v.Memory, &g)
	v.Close()
	if err := js.rooms.Records.FillHead(ctx, &head); err != nil {
		return err
	}
	for file, err := range js.b.Deps.Records.Files(head) {
		if err != nil {
			return err
		}
		if !yield(sandbox.TarEntry{Name: "record/" + file.Name, Content: file.Content}, nil) {
			return errEnough
		}
	}
	return nil
}

// LogLines is jjm's own log of a grid job, out of the journal.
func (js *Jobs) LogLines(ctx context.Context, id jjm.GridID) ([]string, error) {
	entries, err := js.b.Store.History(ctx, jjm.Ref{Grid: id}, -1)
	if err != nil {
		return nil, err
	}
	lines := make([]string, len(entries))
	for i, en := range entries {
		lines[i] = logLine(en)
	}
	return lines, nil
}

// logLine writes a journal entry for people.
func logLine(en jjm.JournalEntry) string {
	what := en.Grid.String()
	if en.First >= 0 {
		what = jjm.Ref{Grid: en.Grid, Locals: true, First: en.First, Last: en.Last}.String()
	}
	s := en.Time.String() + " " + what + " "
	if en.From != "" {
		s += en.From + " -> "
	}
	s += en.To
	if en.Cause != "" {
		s += ": " + en.Cause
	}
	if en.Actor != "" {
		s += " (" + en.Actor + ")"
	}
	return s
}

// retire publishes a final grid job's record, moves its rows to the history,
// removes the bulks that are done with, and forgets it.
func (js *Jobs) retire(ctx context.Context, id jjm.GridID) time.Duration {
	js.rooms.Records.PublishNow(ctx, id)
	if js.rooms.Records.Behind(id) {
		return 5 * time.Second // forgotten now, it would stay behind for ever
	}
	js.sweep(ctx, id)
	job := js.s.JobOf(id)
	js.dropCredentials(job.Owner, &job.Spec, id)
	if js.b.Crash("retire.swept") != nil {
		return 0
	}
	for ctx.Err() == nil {
		more, err := js.b.Store.Archive(ctx, id, js.b.Chunk())
		if err != nil {
			if ctx.Err() == nil {
				js.b.Log.Error("grid job could not be moved to the history, trying again", "job", id, "error", err)
			}
			return 5 * time.Second
		}
		if !more {
			break
		}
	}
	if ctx.Err() != nil {
		return 0
	}
	js.s.Adjust(func(a *state.Memo) { a.Forget(id) })
	return 0
}

// sweep removes the folders of the bulks of a grid job that is over, but those
// that other live grid jobs were in. It comes before the move to the history:
// after a crash in between the next start finds the rest by the grid job's
// owner.
func (js *Jobs) sweep(ctx context.Context, id jjm.GridID) {
	js.s.Mark(func(m *state.Marks) { m.Sweep(id) })
	js.sweeper.SweepUnused(ctx, js.s.JobOf(id).Owner.UID)
}

// shareTar lets the owner and the administrators read a tar where they see the
// work area, the daemon up or down. Without access lists they get it from the
// daemon alone.
func (js *Jobs) shareTar(ar *areas.Area, job *jjm.GridJob, path string) {
	err := ar.Share(path, append([]int{job.Owner.UID}, js.b.Deps.Readers...)...)
	switch {
	case errors.Is(err, acl.ErrUnsupported): // once, not for each grid job
		js.b.Complain(slog.LevelWarn, "share", "output tars can be read through the daemon only", "work", js.b.Deps.Work,
			"error", acl.ErrUnsupported)
	case err != nil:
		js.b.Log.Warn("an output tar can be read through the daemon only", "job", job.ID, "error", err)
	}
}
