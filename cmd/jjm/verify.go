package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/work/cover"
)

// verify checks that all work of a grid job was done exactly once, and shows what is wrong.
type verify struct {
	ID       string `arg:"" name:"ID" help:"The grid job."`
	Recovery string `placeholder:"FILE" help:"If something is missing, write a job file that does exactly that to this file, which must not exist; long lists go beside it."`
	JSON     bool   `name:"json" help:"Answer as one line of JSON."`

	place
}

// Help returns the text of --help below the usage.
func (*verify) Help() string {
	return "It compares what the grid job had to do with the cover ledger (what each local job owns), with how the " +
		"local jobs ended, and with what their applications report. Grid jobs that recover it (recovers = ID in " +
		"their job files, as --recovery writes) are counted with it, and it shows what each did. If local jobs failed, " +
		"jjm resubmit comes first: it runs them again in the same grid job, whose next tar has everything. A recovery " +
		"is for what that cannot do: grid jobs that merge, inputs that were corrected, work that no local job got. " +
		"Rows of commands " +
		"that count nothing are proven by their exit codes; with --json the member proof says what a proof is " +
		"based on. It has exit codes of its own: 0 proven, 1 something is missing, 2 something is owned or was " +
		"processed twice, 3 undecidable (not over yet, or the applications do not report how much they processed; " +
		"docs/JOB-TYPES.md); 8 if there is no answer."
}

// noVerdict changes the exit code of an error of kind Gone or Conflict to 8, because the exit codes 3 and 1 of these
// kinds are verdicts of jjm verify.
func noVerdict(err error) error {
	if k := jjm.KindOf(err); k == jjm.Gone || k == jjm.Conflict {
		return &exit{exitInternal, err}
	}
	return err
}

// Run carries out jjm verify.
func (v *verify) Run(c *cli) error {
	var err error
	if v.ID, err = v.one(c, "verify", v.ID, true, false); err != nil {
		return noVerdict(err)
	}
	req := wire.VerifyRequest{One: wire.OneRef(v.ID)}
	if v.Recovery != "" {
		req.Recovery = filepath.Base(v.Recovery)
		if _, err := os.Lstat(v.Recovery); err == nil {
			return &exit{exitInternal, fmt.Errorf("%s exists: name another file, or remove it", v.Recovery)}
		}
	}
	a, err := ask(c, v.place, wire.VerbVerify(), req)
	if err != nil {
		return noVerdict(err)
	}
	if err := writeRecovery(v.Recovery, a.Verify.Recovery, a.Verify.RecoveryFiles, a.Verify.RecoveryRanges); err != nil {
		return &exit{exitInternal, err}
	}
	if v.JSON {
		err = c.printJSON(a.Verify)
	} else {
		err = c.printReport(a.Verify, v.Recovery)
	}
	if err != nil {
		return err
	}
	if code := a.Verify.Verdict.Exit(); code != 0 {
		return &exit{code: code}
	}
	return nil
}

// writeRecovery writes the job file of a recovery, and the lists that belong to it, to new files. It returns an error
// if one of these files exists. It does nothing if path or job is "".
func writeRecovery(path, job, files, ranges string) error {
	if path == "" || job == "" {
		return nil
	}
	for _, list := range []struct{ path, text string }{{wire.FilesOf(path), files}, {wire.RangesOf(path), ranges}} {
		if list.text == "" {
			continue
		}
		if err := writeNew(list.path, list.text); err != nil {
			return err
		}
	}
	return writeNew(path, job)
}

func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write the recovery: %w", err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the recovery: %w", err)
	}
	return nil
}

// printReport prints the verdict, the sums and the findings. recovery is the path of the job file that was written.
func (c *cli) printReport(v *wire.Verified, recovery string) error {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format, args...) }
	p("grid job %s: %s: %s\n", v.ID, v.Verdict, plain.Printable(v.Why))
	p("  expected %d, proven %d, assumed %d, missing %d, pending %d", v.Expected, v.Proven, v.Assumed, v.Missing,
		v.Pending)
	if v.Short > 0 {
		p(", short %d", v.Short)
	}
	if v.LeftOut > 0 {
		p(", left out %d", v.LeftOut)
	}
	p("\n  local jobs %d, completed %d%s\n", v.Jobs, v.Completed, toldText(&v.Report))
	if v.Files > 0 || v.Dropped > 0 {
		p("  files %d, passed over %d\n", v.Files, v.Dropped)
	}
	for _, l := range v.Left {
		p("  %s%s\n", plain.Printable(l.String()), map[bool]string{true: "; the job file asks for it"}[l.Asked])
	}
	if m := v.Merge; m != nil {
		p("  merging: %s: %s; local jobs %d, completed %d\n", m.Verdict, plain.Printable(m.Why), m.Jobs, m.Completed)
		v.Findings = append(v.Findings, m.Findings...)
	}
	for i := range v.Recoveries {
		p("  %s\n", recoveryText(&v.Recoveries[i]))
	}
	for _, f := range v.Findings {
		p("  %-11s %s%s\n", f.Kind, plain.Printable(f.Why), localsText(v.ID, &f))
	}
	if v.Silent > 0 {
		c.say(`a command says how much it processed by "$GBS_LOG" INFO processed=N`)
	}
	for _, remedy := range remedies(v, recovery) {
		c.say("%s", remedy)
	}
	if len(v.Anew) > 0 {
		c.say("%s processed less than they own, and it does their parts anew: do not use what they made", some(v.Anew))
	}
	return nil
}

// remedies returns lines with the commands that process the missing work, the best command first. That is to run local
// jobs again in the same grid job, because its next tar then has all outputs; a recovery is a grid job with a tar of
// its own. recovery is the path of the job file that was written.
func remedies(v *wire.Verified, recovery string) (lines []string) {
	unfinished := slices.ContainsFunc(v.Findings, func(f cover.Finding) bool {
		return f.Kind == cover.Missing && len(f.Locals) > 0
	})
	if v.LostInputs > 0 && v.Verdict == cover.Gap {
		lines = append(lines, fmt.Sprintf("%s: jjm status %s names them, and how they come back",
			jjm.Count(v.LostInputs, "lost input"), v.ID))
	}
	first := v.Verdict == cover.Gap && v.Merge == nil && len(v.Recoveries) == 0 && unfinished && v.Failed+v.Killed > 0
	switch {
	case first && v.Failed == 0:
		lines = append(lines, fmt.Sprintf("jjm resubmit %s --all runs again what was killed: in the same grid job, with one "+
			"tar of all", v.ID))
	case first:
		lines = append(lines, fmt.Sprintf("jjm resubmit %s runs again what failed, with --all also what was killed: "+
			"in the same grid job, with one tar of all", v.ID))
	}
	switch {
	case v.Recovery != "" && first:
		lines = append(lines, fmt.Sprintf("or %s does what is missing, as a grid job with a tar of its own: jjm submit %s",
			recovery, recovery))
	case v.Recovery != "":
		lines = append(lines, fmt.Sprintf("%s does what is missing: jjm submit %s", recovery, recovery))
	}
	return lines
}

// toldText returns how many of the completed local jobs have other proofs of their work than a reported count, by the
// kind of proof, and how many have no proof.
func toldText(r *cover.Report) string {
	text := ""
	for _, told := range []struct {
		n   int64
		how string
	}{{r.ByExit, "by exit code 0"}, {r.ByType, "by the word of their job type"}, {r.Silent, "not at all"}} {
		if told.n > 0 {
			text += fmt.Sprintf(", %d told %s", told.n, told.how)
		}
	}
	return text
}

// recoveryText returns the line about a recovery: how many units it processed, and which local jobs it replaces, or why
// it is not counted.
func recoveryText(r *wire.Recovery) string {
	if r.Apart != "" {
		return fmt.Sprintf("grid job %s recovers it, and is not counted: %s", r.ID, plain.Printable(r.Apart))
	}
	text := fmt.Sprintf("grid job %s (%s) recovers it and did %d", r.ID, r.Status, r.Units)
	if len(r.Replaces) > 0 {
		text += "; do not use what these made, whose parts it did anew: " + some(r.Replaces)
	}
	return text
}

// some returns the first 20 names of local jobs, and the number of the remaining names.
func some(names []string) string {
	const enough = 20
	if len(names) > enough {
		return strings.Join(names[:enough], " ") + fmt.Sprintf(" and %d more", len(names)-enough)
	}
	return strings.Join(names, " ")
}

// localsText returns the names of the local jobs of a finding: " (17.3, 17.4)".
func localsText(grid jjm.GridID, f *cover.Finding) string {
	var names []string
	for _, n := range f.Locals {
		names = append(names, jjm.LocalID{Grid: grid, N: n}.String())
	}
	if names = append(names, f.Others...); len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}
