package answer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"jjm"
	"jjm/engine/outputs"
	"jjm/handlers"
	"jjm/wire"
)

// Cat opens a file of a local job's current attempt: stdout, stderr, glf, or
// "script", which tells what the attempt is given to run. live says whether
// more may come; beside an error it says whether the file may come yet.
func (an *Answers) Cat(ctx context.Context, caller wire.Caller, ref jjm.Ref, file string) (io.ReadCloser, func() bool,
	error) {
	if !ref.Locals || ref.First != ref.Last {
		return nil, nil, jjm.Errorf(jjm.Invalid, "%s: want one local job, such as %s.0", ref, ref.Grid)
	}
	s, err := an.status(ctx, caller, ref)
	if err != nil {
		return nil, nil, err
	}
	job, err := an.s.Find(ctx, caller, ref.Grid)
	if err != nil {
		return nil, nil, err
	}
	l := s.Locals[0]
	if file == "script" {
		if err := an.s.ReadInputs(ctx, s.Locals[:1]); err != nil {
			return nil, nil, err
		}
		text, err := an.script(&job, &s.Locals[0])
		return io.NopCloser(strings.NewReader(text)), func() bool { return false }, err
	}
	ar, err := an.areas.Of(job.Owner)
	if err != nil {
		return nil, nil, err
	}
	id := outputs.LastAttempt(&l)
	if l.Phase == jjm.RetryWait && id.Attempt > 0 {
		id.Attempt-- // the next one has not begun: show the last
	}
	live := func() bool {
		v := an.s.View()
		defer v.Close()
		return v.Current(l.AttemptID()) != nil
	}
	f, err := ar.OpenJobFile(id, file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && live():
		return nil, live, jjm.Errorf(jjm.Gone, "%s is %s and has no %s yet: follow it with -f", l.ID,
			jjm.StateWord(l.State, l.Phase), file)
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, jjm.Errorf(jjm.Gone, "%s is %s and left no %s", l.ID, jjm.StateWord(l.State, l.Phase), file)
	case err != nil:
		return nil, nil, fmt.Errorf("%s of %s (%s): %w", file, l.ID, jjm.StateWord(l.State, l.Phase), err)
	}
	return f, live, nil
}

// script shows the command line and the environment of a local job in a form
// that a shell could run.
func (an *Answers) script(job *jjm.GridJob, l *jjm.LocalJob) (string, error) {
	h, err := an.b.Deps.Types.Get(job.Spec.Type)
	if err != nil {
		return "", err
	}
	cmd, err := handlers.CommandOf(h, &job.Spec, l)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# local job %s, attempt %d: %ss %d to %d\n", l.ID, l.Attempt, l.Part.Unit, l.Part.First,
		l.Part.Last())
	env := maps.Clone(job.Spec.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, cmd.Env)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "export %s=%s\n", name, quote(env[name]))
	}
	words := make([]string, len(cmd.Argv))
	for i, w := range cmd.Argv {
		words[i] = quote(w)
	}
	b.WriteString(strings.Join(words, " ") + "\n")
	return b.String(), nil
}

// quote makes one shell word.
func quote(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./=:,+@%", r))
	}) < 0
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
