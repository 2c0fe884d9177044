package adapters

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// Hook is the absolute path of a site's own program that runs before each submission; "" for none. It reads one line of
// JSON, a [HookQuestion], and prints options for the submission, one on each line. With any exit code except 0 it
// rejects the bulk; its standard error is the reason.
type Hook string

// HookQuestion is the JSON object that a hook reads. N is the number of jobs in the bulk.
type HookQuestion struct {
	Cluster string      `json:"cluster"`
	Tag     jjm.Tag     `json:"tag"`
	Owner   jjm.Owner   `json:"owner"`
	N       int         `json:"n"`
	Request jjm.Request `json:"request"`
}

// hookTime is the deadline of a hook. It is short because submissions wait for it.
const hookTime = 10 * time.Second

// Check returns an error of kind Invalid if the path is not absolute.
func (h Hook) Check() error {
	if h != "" && !filepath.IsAbs(string(h)) {
		return jjm.Errorf(jjm.Invalid, "%q: want the absolute path of a program", string(h))
	}
	return nil
}

// Ask runs the hook and returns the lines that it printed, without empty lines. If there is no hook, it returns no
// lines. After an error nothing must be submitted. The error is of kind Invalid if the hook rejected the bulk, and of
// kind Busy, marked by NotStarted, if the hook could not run.
func (h Hook) Ask(ctx context.Context, cluster string, b Bulk) ([]string, error) {
	if h == "" {
		return nil, nil
	}
	line, err := json.Marshal(HookQuestion{cluster, b.Tag, b.Owner, b.N, b.Request})
	if err != nil {
		return nil, jjm.Errorf(jjm.Internal, "hook: %w", err)
	}
	out, err := run.Run(ctx, run.Cmd{
		Argv: []string{string(h)}, Env: []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"},
		Stdin: append(line, '\n'), Deadline: hookTime,
	})
	switch {
	case err != nil:
		return nil, NotStarted(jjm.Errorf(jjm.Busy, "run the site's hook: %w", err))
	case out.Exit != 0:
		return nil, jjm.Errorf(jjm.Invalid, "the site's hook %s refuses the bulk: exit %d: %s", string(h), out.Exit,
			Brief(out.Stderr))
	}
	return Lines(string(out.Stdout)), nil
}

// Lines returns the lines of a text, trimmed, without empty ones.
func Lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// Brief returns the output of a command as one line of at most 300 bytes, for people.
func Brief(printed []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(printed[:min(len(printed), 1000)]), "?")), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "..."
	}
	if text == "" {
		return "it said nothing"
	}
	return text
}
