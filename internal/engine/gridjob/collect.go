package gridjob

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/outputs"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/store"
	"jjm/internal/sys/acl"
	"jjm/sandbox"
)

// collect makes the output tar of a grid job whose local jobs have all ended, and then commits the final status. If the
// grid job is not live, collect does nothing. If the grid job is killed meanwhile, collect commits nothing, and the
// next step collects again.
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
	if err := ar.RemoveTars(id, pastTars(&final)...); err != nil {
		return fmt.Errorf("collect grid job %s: remove an earlier tar: %w", id, err)
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
			return nil // the grid job was killed meanwhile
		}
		overtaken = false
		from := g.Status.String()
		g.Status, g.Reason = final.Status, final.Reason
		g.Counts, g.Exit, g.Usage, g.Causes, g.Proof = final.Counts, final.Exit, final.Usage, final.Causes, final.Proof
		g.Tar, g.TarBytes, g.TarSHA256 = name, info.Bytes, info.SHA256
		g.Ended = final.Ended
		cause := fmt.Sprintf("tar of %s, %s, %d absent", jjm.Count(info.Files, "file"),
			jjm.Count(info.Bytes, "byte"), info.Absent)
		if final.Reason != "" {
			cause = final.Reason + "; " + cause
		}
		c.Note(id, from, final.Status.String(), cause, "")
		return clearAway(c, g)
	})
	if err == nil && !overtaken {
		js.rooms.Records.PublishNow(ctx, id)
		js.b.Log.Info("grid job has ended", "job", id, "status", final.Status, "reason", final.Reason)
	}
	return err
}

// pastTars returns the names of the tars of past generations.
func pastTars(job *jjm.GridJob) (names []string) {
	for _, e := range job.Endings {
		if e.Tar != "" {
			names = append(names, e.Tar)
		}
	}
	return names
}

// markAll notes that the whole record of a grid job must be written again.
func (js *Jobs) markAll(id jjm.GridID) {
	js.s.Adjust(func(a *state.Memo) { a.MarkWhole(id) })
}

// finalRow returns the row of a grid job with its final status, except Usage, which TarEntries sets. It also sets
// facts.Causes.
func (js *Jobs) finalRow(id jjm.GridID, facts *plan.GridFacts) jjm.GridJob {
	v := js.s.View()
	defer v.Close()
	g := v.Grid(id)
	job := g.Job
	facts.Causes = g.Causes()
	if job.Status, job.Reason = plan.Final(*facts); job.Status == jjm.Done {
		job.Proof = facts.Proof
	}
	job.Causes = facts.Causes
	job.Counts, job.Ended = g.Counts, jjm.At(js.b.Now())
	exit := plan.ExitFacts{Status: job.Status, Locals: len(g.Locals), Exit: -1,
		NotDone: js.b.Conf().ExitNotDone}
	if len(g.Locals) == 1 {
		exit.Exit = g.Locals[0].Exit
	}
	job.Exit = plan.ExitCode(exit)
	return job
}

// errEnough stops the iteration over results when the reader of the tar entries wants no more entries.
var errEnough = errors.New("enough")

// TarEntries returns the entries of the output tar, in this order: the files of each local job's last attempt, jjm's
// own log of the grid job, its report, and the record. While the entries are read, it counts in facts the recorded
// outputs, the lost outputs and the outputs left out, and sets job.Usage. After all outputs it calls counted, which may
// change job, so that log, report and record show the final status.
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
			if err := addUsage(ctx, js.b.Store, job, &l, ev); err != nil {
				return err
			}
			entries, err := js.collected(ctx, job, &l, ev, retracted)
			if err != nil {
				return err
			}
			for _, left := range outputs.LeftOut(&l, ev, retracted) {
				facts.LeftOut.Add(left)
			}
			if note, some := givenBack(job, &l, ev); some {
				entries = append(entries, note)
			}
			for _, entry := range entries {
				entry.LeftOut = func(reason jjm.LeftReason, why string) {
					facts.LeftOut.Add(jjm.LeftOut{What: "output", N: 1, Reason: reason, Why: why,
						Such: fmt.Sprintf("%.200q", entry.Name)})
				}
				if l.State.IsCompleted() && entry.SHA256 != "" {
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
			err = sumUp(job, facts, yield)
		}
		if err == nil {
			counted()
			err = js.ownEntries(ctx, job, yield)
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(sandbox.TarEntry{}, err)
		}
	}
}

// addUsage adds the usage of all attempts of a local job to job.Usage. ev is the evidence of the attempt that ended
// last.
func addUsage(ctx context.Context, st *store.Store, job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence) error {
	state.AddUsage(job, l, ev)
	if l.Attempt == 0 || ev == nil {
		return nil
	}
	attempts, err := st.Attempts(ctx, l.ID)
	if err != nil {
		return err
	}
	attempts = slices.DeleteFunc(attempts, func(a store.Attempt) bool { return a.Evidence == nil })
	for _, earlier := range attempts[:max(len(attempts)-1, 0)] {
		job.Usage.Add(earlier.Evidence, 0, earlier.Ended)
	}
	return nil
}

// collected returns the entries of one local job. If the local job's outputs are lost or in merged files, or if its
// work was given back, it returns only the entries of logs. retracted holds the local jobs of the grid job whose
// outputs are lost.
func (js *Jobs) collected(ctx context.Context, job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence,
	retracted map[int32]string) (entries []sandbox.TarEntry, err error) {
	report, err := js.createFailed(ctx, outputs.Stem(job), l)
	if err != nil {
		return nil, err
	}
	if report != nil {
		entries = append(entries, *report)
	}
	if _, lost := retracted[l.ID.N]; lost || l.Phase == jjm.GivenBack {
		ev = logsOnly(job, l, ev)
	}
	return append(entries, localEntries(job, l, withoutMerged(job, l, ev))...), nil
}

// CollectedOf returns a local job, and its entries in the tar of its grid job. If the tar does not exist yet, it
// returns the entries that the tar would have now. The error is of kind Gone if the local job does not exist.
func (js *Jobs) CollectedOf(ctx context.Context, job *jjm.GridJob, n int32) (jjm.LocalJob, []sandbox.TarEntry,
	error) {
	l, ev, err := js.b.Store.ResultOf(ctx, jjm.LocalID{Grid: job.ID, N: n})
	if err != nil {
		return l, nil, err
	}
	retracted, err := js.b.Store.Retracted(ctx, job.ID)
	if err != nil {
		return l, nil, err
	}
	entries, err := js.collected(ctx, job, &l, ev, retracted)
	return l, entries, err
}

// sumUp adds lines to the manifest about outputs without which local jobs completed, and about outputs left out.
func sumUp(job *jjm.GridJob, facts *plan.GridFacts, yield func(sandbox.TarEntry, error) bool) error {
	var lines []string
	for _, w := range job.Warnings {
		if w.Kind == jjm.NoOutput {
			lines = append(lines, w.Line(job.ID))
		}
	}
	for _, left := range facts.LeftOut {
		if left.Reason != jjm.LeftNotMade { // the warnings name these outputs
			lines = append(lines, left.String())
		}
	}
	for _, line := range lines {
		if !yield(sandbox.TarEntry{Name: "*", Absent: line, Sums: true}, nil) {
			return errEnough
		}
	}
	return nil
}

// withoutMerged returns the evidence of a local job without the outputs that are in
// merged files.
func withoutMerged(job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence) *jjm.Evidence {
	if !outputs.Merged(job, l) {
		return ev
	}
	return logsOnly(job, l, ev)
}

// givenBack returns a line of the manifest that replaces the outputs of a local job whose work other local jobs do
// again. The outputs are not in the tar, because a reader of all files would count the work twice. some is false if
// there are no such outputs.
func givenBack(job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence) (line sandbox.TarEntry, some bool) {
	if l.Phase != jjm.GivenBack || ev == nil || ev.Result == nil {
		return line, false
	}
	n, names := 0, outputs.Names(&job.Spec, l)
	for _, o := range ev.Result.Outputs {
		if o.Absent == "" && !names[o.Name].Log {
			n++
		}
	}
	return sandbox.TarEntry{
		Name: sandbox.OutputName(outputs.Stem(job), l.ID, "*"), Sums: true,
		Absent: fmt.Sprintf("%s of a local job whose work was given back: another local job did it again", jjm.Count(int64(n), "output")),
	}, n > 0
}

// logsOnly returns the evidence of a local job without its outputs, except for logs.
func logsOnly(job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence) *jjm.Evidence {
	if ev == nil || ev.Result == nil {
		return ev
	}
	less, result, names := *ev, *ev.Result, outputs.Names(&job.Spec, l)
	result.Outputs = slices.DeleteFunc(slices.Clone(result.Outputs), func(o jjm.Output) bool { return !names[o.Name].Log })
	less.Result = &result
	return &less
}

// localEntries returns the entries of one local job: its standard output, standard error and log, and the outputs of
// its result. For a local job that never started, it returns one absent entry with the reason. For a local job that has
// not ended and is not held, see liveEntries.
func localEntries(job *jjm.GridJob, l *jjm.LocalJob, ev *jjm.Evidence) []sandbox.TarEntry {
	stem := outputs.Stem(job)
	id := outputs.LastAttempt(l)
	if ev != nil && ev.Result != nil {
		id.Attempt = ev.Result.Attempt
	}
	if !l.Over() && l.State != jjm.Held {
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

// liveEntries returns the entries of a local job that has not ended, for a partial tar.
func liveEntries(stem string, l *jjm.LocalJob) []sandbox.TarEntry {
	if l.State == jjm.Running || l.State == jjm.Completing {
		return plainEntries(stem, l.AttemptID())
	}
	return []sandbox.TarEntry{{Name: sandbox.OutputName(stem, l.ID, "stdout"), Absent: "not ended: " + l.State.String()}}
}

// plainEntries returns the entries of the files that every attempt has.
func plainEntries(stem string, id jjm.AttemptID) []sandbox.TarEntry {
	dir := sandbox.AttemptDir(id)
	var entries []sandbox.TarEntry
	for _, name := range []string{"stdout", "stderr", "job.glf"} {
		entries = append(entries, sandbox.TarEntry{Name: sandbox.OutputName(stem, id.LocalID, name), Path: dir + "/" + name})
	}
	return entries
}

// ownEntries yields jjm's log, the report, and the record as it will be published.
func (js *Jobs) ownEntries(ctx context.Context, job *jjm.GridJob, yield func(sandbox.TarEntry, error) bool) error {
	lines, err := js.LogLines(ctx, job.ID)
	if err != nil {
		return err
	}
	text := strings.Join(append(lines, ""), "\n")
	if !yield(sandbox.TarEntry{Name: "jjm.log", Content: []byte(text)}, nil) {
		return errEnough
	}
	if page, err := js.report(ctx, job); err != nil {
		js.b.Log.Warn("the output tar has no report", "job", job.ID, "error", err)
	} else if !yield(sandbox.TarEntry{Name: "report.html", Content: page}, nil) {
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

// LogLines returns jjm's own log of a grid job, made from the journal, without line ends.
func (js *Jobs) LogLines(ctx context.Context, id jjm.GridID) ([]string, error) {
	entries, err := js.b.Store.History(ctx, jjm.Ref{Grid: id}, -1)
	if err != nil {
		return nil, err
	}
	lines := make([]string, len(entries))
	for i, en := range entries {
		lines[i] = en.LogLine()
	}
	return lines, nil
}

// retire publishes the record of a final grid job, removes the folders of its bulks, moves its rows to the history and
// drops the grid job from memory. It returns the time after which to try again, 0 if all is done or ctx has ended.
func (js *Jobs) retire(ctx context.Context, id jjm.GridID) time.Duration {
	js.rooms.Records.PublishNow(ctx, id)
	if js.rooms.Records.Behind(id) {
		return 5 * time.Second // the record of a forgotten grid job would never be written
	}
	js.sweep(ctx, id)
	job := js.s.JobOf(id)
	js.dropCredentials(&job)
	js.remote.Forget(&job)
	if js.b.Crash("retire.swept") != nil {
		return 0
	}
	for ctx.Err() == nil {
		more, err := js.b.Store.Archive(ctx, id, js.b.Chunk())
		if err != nil {
			if ctx.Err() == nil {
				js.b.Log.Error("grid job could not be moved to the history, will try again", "job", id, "error", err)
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

// sweep removes the folders of the bulks of an ended grid job, except folders that other live grid jobs use. It must
// run before the move to the history: after a crash in between, the next start finds the owner in the grid job's row
// and sweeps the remaining folders.
func (js *Jobs) sweep(ctx context.Context, id jjm.GridID) {
	js.s.Mark(func(m *state.Marks) { m.Sweep(id) })
	js.sweeper.SweepUnused(ctx, js.s.JobOf(id).Owner.UID)
}

// shareTar sets access lists that let the owner and the administrators read a tar in the work area even while the
// daemon is down. If the file system has no access lists, they can get the tar only from the daemon.
func (js *Jobs) shareTar(ar *areas.Area, job *jjm.GridJob, path string) {
	err := ar.Share(path, append([]int{job.Owner.UID}, js.b.Deps.Readers...)...)
	switch {
	case errors.Is(err, acl.ErrUnsupported): // logged once, not for each grid job
		js.b.Complain(slog.LevelWarn, "share", "output tars are readable through the daemon only", "work", js.b.Deps.Work,
			"error", acl.ErrUnsupported)
	case err != nil:
		js.b.Log.Warn("an output tar is readable through the daemon only", "job", job.ID, "error", err)
	}
}
