package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/formats/shellwords"
	"jjm/internal/jjm"
)

// submit submits a grid job and prints its id.
type submit struct {
	secrets
	File   string   `arg:"" name:"FILE" help:"The job file; - is standard input. Or the id of a kept grid job."`
	Key    string   `placeholder:"KEY" help:"Request key: the same key means the same grid job."`
	Anew   bool     `name:"anew-after-cancel" help:"If the grid job of the key was cancelled, make a new one."`
	DryRun bool     `help:"Decide and explain, and store nothing."`
	After  []string `sep:"," placeholder:"ID" help:"Begin once these grid jobs have ended, as --after-end says."`
	End    string   `name:"after-end" placeholder:"HOW" help:"How: ok, any or failed; ok unless told."`
	Wait   bool     `help:"Wait for the end, showing progress; exit 0 if it is done."`
	Keep   bool     `help:"If it cannot be prepared or cut, keep it, to be submitted again."`
	Going  *bool    `name:"keep-going" negatable:"" help:"After a refusal submit the other local jobs, or do not; see keep_going."`
	JSON   bool     `name:"json" help:"Answer as one line of JSON."`

	place
}

// Help returns the text of --help below the usage.
func (*submit) Help() string {
	return "If the job file has problems, all are shown at once and nothing is stored. With --key, a call whose " +
		"answer was lost can be repeated: it prints the id of the existing grid job.\n\n" +
		"Some errors show only later, when the inputs are packed or the work is cut. Then the grid job ends as broken. " +
		"With --wait it is removed instead, the error is printed, and the exit code is 5, as for a wrong job file. With " +
		"--keep it stays as registered, with the reason in jjm status: jjm submit ID submits it again under its id, " +
		"jjm copy ID copies it, and jjm remove ID removes it. A FILE that is a number is such an id; a file of that " +
		"name is ./17. Once a local job is made, a failure no longer rolls the grid job back with --keep.\n\n" +
		"--keep-going and --no-keep-going replace keep_going of the job file. If a cluster that takes local jobs one by " +
		"one refuses a local job, the others are submitted with --keep-going. Else they stay new: jjm resubmit ID " +
		"submits them. If all stay new, the grid job ends as broken, is removed with --wait, or kept with --keep."
}

// Run carries out jjm submit.
func (s *submit) Run(c *cli) error {
	req, name, err := s.request(c)
	if err != nil {
		return err
	}
	ctx, cancel := interruptible()
	defer cancel()
	a, err := client.Call(ctx, s.client(c), wire.VerbSubmit(), wire.SubmitRequest{Submit: &req})
	if err != nil {
		return refused(name, err)
	}
	switch {
	case s.JSON:
		err = c.printJSON(a.Submit)
	case s.DryRun:
		err = c.printPlan(a.Submit.Plan)
	default:
		_, err = fmt.Fprintln(c.out, a.Submit.ID)
	}
	if err != nil || s.DryRun {
		return err
	}
	if a.Submit.Existed {
		c.say("the request key is that of grid job %v, which was there already", a.Submit.ID)
	}
	if !s.Wait {
		return nil
	}
	return waitNew(ctx, c, s.client(c), name, a.Submit)
}

// waitNew waits for the end of a grid job that was just submitted or copied, and shows its progress. name is the name
// of the submitted thing for messages. If the grid job is rolled back, the error is about that.
func waitNew(ctx context.Context, c *cli, daemon *client.Client, name string, made *wire.Submitted) error {
	if err := c.out.Flush(); err != nil {
		return err
	}
	w := &waiter{c: c, client: daemon, refs: []string{made.ID.String()}, last: c.err}
	err := w.run(ctx)
	if made.Existed {
		return err
	}
	return w.rolledBack(ctx, name, err)
}

// request returns the request of the command line, and the name of the job file, or of the kept grid job, for messages.
// The error says what is wrong with the command line.
func (s *submit) request(c *cli) (req wire.Submit, name string, err error) {
	if kept, err := jjm.ParseRef(s.File); err == nil && kept.Grid.String() == s.File {
		if s.Key+s.End+s.Proxy+s.Token != "" || s.Anew || s.DryRun || s.Keep || s.Going != nil || len(s.After) > 0 {
			return req, "", usage("submit %s submits that grid job again as it is: only --wait and --json go with an id "+
				"(a job file of this name is ./%[1]s)", s.File)
		}
		return wire.Submit{Again: kept.Grid}, "grid job " + s.File, nil
	}
	text, name, base, err := s.read(c)
	if err != nil {
		return req, "", err
	}
	given, err := s.secrets.read()
	if err != nil {
		return req, "", err
	}
	after, err := s.after()
	if err != nil {
		return req, "", err
	}
	req = wire.Submit{Name: name, Text: text, BaseDir: base, Key: s.Key, Anew: s.Anew, DryRun: s.DryRun,
		Credentials: given, After: after, AfterEnd: s.End, KeepGoing: s.Going}
	switch {
	case s.Keep:
		req.Rollback = jjm.RollbackKeep
	case s.Wait:
		req.Rollback = jjm.RollbackRemove
	}
	return req, name, nil
}

// rolledBack returns the error of a command that waited for a new grid job. err is the error of the wait. If the grid
// job was rolled back while w waited, because it could not be prepared or cut, rolledBack returns an error with the
// reason and the exit code of a refused job file. Otherwise it returns err.
func (w *waiter) rolledBack(ctx context.Context, name string, err error) error {
	var e *exit
	ended := errors.As(err, &e) && e.code == exitNo && len(w.states) == 1
	if ended && w.states[0].Lookup.Status == jjm.Registered.String() {
		return &exit{exitRefused, fmt.Errorf("%s refused, kept as grid job %s: %s; submit it again: jjm submit %[2]s, "+
			"or remove it: jjm remove %[2]s", name, w.refs[0], plain.Printable(w.states[0].Lookup.Message))}
	}
	if jjm.KindOf(err) != jjm.Gone {
		return err
	}
	a, failed := client.Call(ctx, w.client, wire.VerbLookup(), wire.LookupRequest{Many: wire.Refs(w.refs...)})
	if failed != nil || len(a.Lookup) != 1 || a.Lookup[0].Status != jjm.Broken.String() {
		return err
	}
	return &exit{exitRefused, fmt.Errorf("%s refused: grid job %s: %s", name, w.refs[0],
		plain.Printable(a.Lookup[0].Message))}
}

// refused adds the exit code to the error of a submission: exitRefused if the job file is wrong, exitUnreachable if the
// daemon is too busy to check it, and exitInterrupted after an interruption. name is the name of the job file.
func refused(name string, err error) error {
	var ps jjm.Problems
	switch {
	case errors.Is(err, context.Canceled):
		return &exit{exitInterrupted, errors.New("interrupted; the grid job may have been accepted: see jjm list")}
	case errors.As(err, &ps) && jjm.KindOf(err) == jjm.Busy:
		return &exit{exitUnreachable, fmt.Errorf("%s not accepted for now, try again: %w", name, ps)}
	case errors.As(err, &ps) && strings.HasPrefix(ps.Error(), name+":"):
		return &exit{exitRefused, fmt.Errorf("refused: %w", ps)}
	case errors.As(err, &ps):
		return &exit{exitRefused, fmt.Errorf("%s refused: %w", name, ps)}
	case jjm.KindOf(err) == jjm.Invalid, jjm.KindOf(err) == jjm.Conflict:
		return &exit{exitRefused, fmt.Errorf("%s refused: %w", name, err)}
	}
	return err
}

// read reads the job file. It returns its text, its name, and the absolute folder at which relative paths of inputs
// begin.
func (s *submit) read(c *cli) (text, name, base string, err error) {
	var f io.Reader = c.in
	name, path := "stdin", "."
	if s.File != "-" {
		file, err := os.Open(s.File)
		if err != nil {
			return "", "", "", usage("job file: %w", err)
		}
		defer func() { _ = file.Close() }()
		f, name, path = file, filepath.Base(s.File), filepath.Dir(s.File)
	}
	if base, err = filepath.Abs(path); err != nil {
		return "", "", "", fmt.Errorf("job file %s: %w", name, err)
	}
	b, err := io.ReadAll(io.LimitReader(f, jjm.MaxJobFile+1))
	if err != nil {
		return "", "", "", usage("job file: %w", err)
	}
	if err := checkText(b); err != nil {
		return "", "", "", &exit{exitRefused, fmt.Errorf("%s refused: %w", name, err)}
	}
	return string(b), name, base, nil
}

// checkText returns an error if the text of a job file is too long, empty or not UTF-8.
func checkText(b []byte) error {
	switch {
	case len(b) > jjm.MaxJobFile:
		return fmt.Errorf("longer than %d bytes", jjm.MaxJobFile)
	case strings.TrimSpace(string(b)) == "":
		return errors.New("it is empty")
	}
	line := 1
	for rest := b; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 || r == 0 {
			return fmt.Errorf("line %d: byte 0x%02x: want UTF-8 text", line, rest[0])
		}
		if r == '\n' {
			line++
		}
		rest = rest[n:]
	}
	return nil
}

// planTable prints a line for each part: its number, its work, and the command of its local job.
func (c *cli) planTable(parts []jjm.Part, commands [][]string) error {
	rows := [][]string{{"LOCAL JOB", "WORK", "COMMAND"}}
	for i, part := range parts {
		var words []string
		if i < len(commands) {
			words = commands[i]
		}
		rows = append(rows, []string{fmt.Sprint(i), part.Units() + whereText(&part), shellwords.Join(words)})
	}
	return c.table(rows, "WORK", "COMMAND")
}

// printPlan prints how a grid job would be divided into local jobs, and why.
func (c *cli) printPlan(p *wire.Plan) error {
	if p == nil {
		return jjm.Errorf(jjm.Internal, "the daemon's answer holds no plan")
	}
	on := "cluster " + p.Cluster
	if len(p.Clusters) > 1 {
		on = "clusters " + strings.Join(p.Clusters, ", ")
	}
	jobs := jjm.Count(p.Jobs, "local job")
	if p.Jobs == 0 {
		jobs = "local jobs, whose number is known once their files are,"
	}
	_, _ = fmt.Fprintf(c.out, "%s would make %s on %s, cut by %s:\n", plain.Printable(p.Type), jobs, plain.Printable(on),
		plain.Printable(p.Splitter))
	for _, why := range p.Why {
		_, _ = fmt.Fprintf(c.out, "  %s\n", plain.Printable(why))
	}
	if p.Merge != nil {
		_, _ = fmt.Fprintf(c.out, "  %s\n", plain.Printable(p.Merge.Text))
	}
	if p.After != "" {
		_, _ = fmt.Fprintf(c.out, "  %s\n", plain.Printable(p.After))
	}
	for _, line := range p.Fetch {
		_, _ = fmt.Fprintf(c.out, "  %s\n", plain.Printable(line))
	}
	if len(p.Parts) == 0 {
		return nil
	}
	if err := c.planTable(p.Parts, p.Commands); err != nil {
		return err
	}
	if n := p.Jobs - len(p.Parts); n > 0 {
		_, _ = fmt.Fprintf(c.out, "and %d more\n", n)
	}
	return nil
}

// whereText returns the end of a line about a part: the reason why the part must not be submitted or, if it may be, the
// clusters that can read its files. It returns "" if all clusters can read them.
func whereText(p *jjm.Part) string {
	if f := p.Failure(); f != nil {
		return fmt.Sprintf(", createfailed %d: %s", f.Code, f.Reason)
	}
	if p.Input == nil || p.Input.Place == nil || len(p.Input.Place.Clusters) == 0 {
		return ""
	}
	return ", on " + strings.Join(p.Input.Place.Clusters, " ")
}
