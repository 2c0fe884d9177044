package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"jjm"
	"jjm/wire"
)

// verify proves that the work of a grid job was done exactly once, or tells what
// is wrong.
type verify struct {
	place
	ID       string
	Recovery string
	JSON     bool
}

func (v *verify) flags(fs *flag.FlagSet) {
	v.place.flags(fs)
	fs.StringVar(&v.Recovery, "recovery", "", "If something is missing, write a job file that does exactly that to this `FILE`, which must not exist.")
	fs.BoolVar(&v.JSON, "json", false, "Answer as one line of JSON.")
}

func (v *verify) take(words []string) { v.ID = words[0] }

func verifyCommand() command {
	return command{
		name: "verify", args: "ID", min: 1, max: 1, summary: "Was every event, row, file, section done exactly once?",
		detail: "It holds what the grid job had to do against the cover ledger, which says what each local job owns, and against how they " +
			"ended and what their applications say that they processed. Its exit codes are its own: 0 proven, 1 something is missing, " +
			"2 something is owned or was processed twice, 3 undecidable - not over yet, or the applications do not say how much they " +
			"processed (docs/JOB-TYPES.md); 8 if the question could not be answered.",
		example: "jjm verify 17 --recovery missing.json",
		make:    func() verb { return &verify{} },
	}
}

func (v *verify) run(c *cli) error {
	if err := checkRefs([]string{v.ID}, true); err != nil {
		return err
	}
	req := wire.Request{Verb: wire.VerbVerify, Refs: []string{v.ID}}
	if v.Recovery != "" {
		req.Recovery = filepath.Base(v.Recovery)
		if _, err := os.Lstat(v.Recovery); err == nil {
			return &exit{exitInternal, fmt.Errorf("%s exists: name another file, or remove it", v.Recovery)}
		}
	}
	a, err := v.ask(c, req)
	if k := jjm.KindOf(err); k == jjm.Gone || k == jjm.Conflict {
		return &exit{exitInternal, err} // 3 means something else here
	}
	if err != nil {
		return err
	}
	if a.Verify == nil {
		return jjm.Errorf(jjm.Internal, "the daemon's answer holds no report")
	}
	if err := v.write(a.Verify); err != nil {
		return &exit{exitInternal, err}
	}
	if v.JSON {
		err = c.printJSON(a.Verify)
	} else {
		err = c.printReport(a.Verify, v.Recovery)
	}
	if code := a.Verify.Verdict.Exit(); err == nil && code != 0 {
		return &exit{code: code}
	}
	return err
}

// write writes the recovery and its list of files; neither may be there.
func (v *verify) write(a *wire.Verified) error {
	if a.Recovery == "" || v.Recovery == "" {
		return nil
	}
	if a.RecoveryFiles != "" {
		if err := writeNew(wire.FilesOf(v.Recovery), a.RecoveryFiles); err != nil {
			return err
		}
	}
	return writeNew(v.Recovery, a.Recovery)
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

// printReport tells the verdict, the sums, and the first findings.
func (c *cli) printReport(v *wire.Verified, recovery string) error {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format, args...) }
	p("grid job %s: %s: %s\n", v.ID, v.Verdict, printable(v.Why))
	p("  expected %d, proven %d, assumed %d, missing %d, pending %d", v.Expected, v.Proven, v.Assumed, v.Missing, v.Pending)
	if v.LeftOut > 0 {
		p(", left out %d (%s)", v.LeftOut, printable(v.LeavesOut))
	}
	p("\n  local jobs %d, completed %d, of which %d report no count\n", v.Jobs, v.Completed, v.Silent)
	if v.Files > 0 || v.Dropped > 0 {
		p("  files %d, passed over %d\n", v.Files, v.Dropped)
	}
	if m := v.Merge; m != nil {
		p("  merging: %s: %s; local jobs %d, completed %d\n", m.Verdict, printable(m.Why), m.Jobs, m.Completed)
		v.Findings = append(v.Findings, m.Findings...)
	}
	for _, f := range v.Findings {
		p("  %-11s %s%s\n", f.Kind, printable(f.Why), localsText(v.ID, f.Locals))
	}
	if v.Recovery != "" {
		c.say("%s does what is missing: jjm submit %s", recovery, recovery)
	}
	return nil
}

// localsText names local jobs: " (17.3, 17.4)".
func localsText(grid jjm.GridID, locals []int32) string {
	text := ""
	for i, n := range locals {
		sep := ", "
		if i == 0 {
			sep = " ("
		}
		text += sep + jjm.LocalID{Grid: grid, N: n}.String()
	}
	if text != "" {
		text += ")"
	}
	return text
}
