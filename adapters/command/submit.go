package command

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// Submit runs the verb submit. If no outcome matches the answer, the error is of kind Ambiguous.
func (a *Adapter) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	fail := func(err error) (adapters.Receipt, error) {
		return adapters.Receipt{}, fmt.Errorf("%s: submit %s with tag %s: %w", a.name, jjm.Count(b.N, "job"), b.Tag, err)
	}
	if err := adapters.CheckBulk(b, a.Capabilities()); err != nil {
		return fail(err)
	}
	if err := a.Check(b.Request); err != nil {
		return fail(err)
	}
	directives, err := a.directives(ctx, b)
	if err != nil {
		return fail(adapters.NotStarted(err))
	}
	b.Request = a.config.Fill(b.Request)
	script := a.d.script.write(b, a.d.ids, directives)
	v := a.d.submitValues(b)
	stdin := []byte(script)
	if a.d.submit.argument {
		path, err := a.spool(script)
		if err != nil {
			return fail(adapters.NotStarted(err))
		}
		defer os.Remove(path)
		stdin, v.words["SCRIPT"] = nil, path
	}
	out, err := a.run(ctx, stdin, a.d.submit.command.argv(v))
	if err != nil {
		if out.Wall > 0 { // the command ran, and was stopped or printed too much
			err = jjm.Errorf(jjm.Ambiguous, "%w", err)
		}
		return fail(err)
	}
	id, err := a.d.submitted(out, v)
	if err != nil {
		return fail(err)
	}
	return adapters.Receipt{ID: id}, nil
}

// directives returns the directives for a script, from the site, the job and the hook.
func (a *Adapter) directives(ctx context.Context, b adapters.Bulk) ([]string, error) {
	all := append([]string{}, a.config.Directives...)
	all = append(all, adapters.Lines(b.Request.Directives)...)
	if a.config.Hook == "" {
		return all, nil
	}
	b.Request = a.config.Fill(b.Request)
	more, err := a.config.Hook.Ask(ctx, a.name, b)
	if err != nil {
		return nil, err
	}
	for _, line := range more {
		if err := a.d.script.checkDirective(line); err != nil {
			return nil, jjm.Errorf(jjm.Invalid, "the site's hook %s: %w", a.config.Hook, err)
		}
	}
	return append(all, more...), nil
}

// spool writes the script to a file that the batch system's command can read in any account.
func (a *Adapter) spool(script string) (string, error) {
	f, err := os.CreateTemp(a.env.State, "script-*")
	if err != nil {
		return "", jjm.Errorf(jjm.Busy, "write the script: %w", err)
	}
	_, err = f.WriteString(script)
	if err == nil {
		err = f.Chmod(0o755)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(f.Name())
		return "", jjm.Errorf(jjm.Busy, "write the script: %w", err)
	}
	return f.Name(), nil
}

// submitValues returns the values for the templates of a submission.
func (d *Description) submitValues(b adapters.Bulk) values {
	v := values{words: ownerValues(b.Owner), lists: map[string][]string{}}
	for name, value := range d.submit.optionValues(b.Request) {
		v.words[name] = value
	}
	v.words["EXCLUDE"] = strings.Join(b.Exclude, ",")
	v.words["TAG"] = string(b.Tag)
	v.words["COUNT"] = strconv.Itoa(b.N)
	v.words["FIRST_INDEX"] = strconv.FormatInt(d.ids.first, 10)
	v.words["LAST_INDEX"] = strconv.FormatInt(d.ids.first+int64(b.N)-1, 10)
	v.lists["OPTIONS"] = d.submit.optionWords(v)
	return v
}

// submitted returns the id in the answer to a submission, or the error for the outcome that matches the answer. If no
// outcome matches, the error is of kind Ambiguous.
func (d *Description) submitted(out run.Output, v values) (string, error) {
	got, err := d.submit.outcomes.judge(out, v)
	switch {
	case err != nil:
		return "", jjm.Errorf(jjm.Ambiguous, "%s", failure("run the command", out, err.Error()+", see [[submit.outcome]]"))
	case got.word == wordTooMany:
		return "", adapters.TooMany(jjm.Errorf(jjm.Busy, "%s", failure("run the command", out, got.message)))
	case got.word != wordOK:
		return "", jjm.Errorf(got.word.kind(), "%s", failure("run the command", out, got.message))
	case !d.ids.bulk.MatchString(got.id):
		return "", jjm.Errorf(jjm.Ambiguous, "%s",
			failure("run the command", out, fmt.Sprintf("id %.60q is not of the form of ids.bulk", got.id)))
	}
	return got.id, nil
}
