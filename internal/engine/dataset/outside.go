package dataset

import (
	"context"
	"errors"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/work/catalogue"
)

// outside lists folders and runs programs with the rights of the owners of grid jobs.
type outside struct {
	b     *base.Base
	areas *areas.Areas
}

// mayLook returns an error of kind Denied if the daemon cannot act with the owner's
// rights.
func (o outside) mayLook(owner jjm.Owner) error {
	if o.b.Deps.Users != nil || owner.UID == os.Geteuid() {
		return nil
	}
	return jjm.Errorf(
		jjm.Denied, "this daemon cannot act as %s: watched folders and programs need run_as = \"owner\"; list the files, or use jjm dataset add", owner.User)
}

// list returns the regular files of a folder, listed with the owner's rights.
func (o outside) list(ctx context.Context, owner jjm.Owner, folder string) ([]catalogue.Entry, error) {
	// GNU find(1): size, time of change, name, each entry ended by NUL. -H: the
	// folder itself may be a link.
	out, err := o.run(ctx, owner, "/",
		[]string{"find", "-H", folder, "-mindepth", "1", "-maxdepth", "1", "-type", "f", "-printf", `%s %T@ %f\0`})
	if err != nil {
		return nil, err
	}
	return listing(out)
}

// expand returns the files that a job file lists for a dataset, at most limit files in all. Each wildcard is replaced
// by the files that match it now. It returns the errors of [catalogue.Expand], the error of mayLook if the list has
// wildcards and the daemon cannot act with the owner's rights, and an error of kind Busy if a folder cannot be read
// now.
func (o outside) expand(ctx context.Context, owner jjm.Owner, d *jjm.DatasetInput, limit int) ([]jjm.File, error) {
	named, all := d.Named()
	if all || len(d.Files) == 0 {
		return named, nil
	}
	if err := o.mayLook(owner); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(o.areas.As(ctx, owner), sourceDeadline)
	defer cancel()
	return catalogue.Expand(d.Files, limit, func(folder string) ([]catalogue.Entry, error) {
		return o.list(ctx, owner, folder)
	})
}

// listing parses the output of find.
func listing(out []byte) ([]catalogue.Entry, error) {
	var entries []catalogue.Entry
	for text := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if text == "" {
			continue
		}
		words := strings.SplitN(text, " ", 3)
		if len(words) != 3 {
			return nil, jjm.Errorf(jjm.Busy, "find printed %.80q: want size, time and name", text)
		}
		size, err1 := strconv.ParseInt(words[0], 10, 64)
		changed, err2 := strconv.ParseFloat(words[1], 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, jjm.Errorf(jjm.Busy, "find printed %.80q: %w", text, err)
		}
		entries = append(entries, catalogue.Entry{Name: path.Base(words[2]), Size: size,
			Modified: jjm.At(time.UnixMilli(int64(changed * 1000)))})
	}
	return entries, nil
}

// run runs a command as an owner in a folder and returns its standard output. If the command fails, the error is of
// kind Busy and contains the end of the command's standard error. If the command prints too much, the error is of kind
// Busy too.
func (o outside) run(ctx context.Context, owner jjm.Owner, dir string, argv []string) ([]byte, error) {
	env := []string{"LC_ALL=C", "USER=" + owner.User, "LOGNAME=" + owner.User}
	for _, name := range []string{"PATH", "HOME", "TZ"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	out, err := run.Run(ctx, run.Cmd{Argv: argv, Dir: dir, Env: env, Deadline: sourceDeadline,
		MaxOutput: sourceOutput})
	switch {
	case err != nil:
		return nil, err
	case out.Exit != 0:
		words := strings.TrimSpace(string(out.Stderr))
		return nil, jjm.Errorf(jjm.Busy, "%s: exit %d: %s", argv[0], out.Exit, words[max(0, len(words)-500):])
	case out.Truncated:
		return nil, jjm.Errorf(jjm.Busy, "%s printed more than %d MiB: let it list only new files, and set incremental = true", argv[0],
			sourceOutput>>20)
	}
	return out.Stdout, nil
}
