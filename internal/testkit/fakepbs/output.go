package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// openSpool opens the files that a task writes to: files in the spool, which are delivered
// at its end, or /dev/null where that is the destination.
func (c *complex) openSpool(j *job, t *task) (out, errs *os.File, err error) {
	open := func(kind string) (*os.File, error) {
		return os.OpenFile(c.spoolPath(j, t, kind), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	}
	if out, err = open("OU"); err != nil {
		return nil, nil, err
	}
	if errs, err = open("ER"); err != nil {
		out.Close()
	}
	return out, errs, err
}

func (c *complex) spoolPath(j *job, t *task, kind string) string {
	if j.destination(t, kind) == os.DevNull {
		return os.DevNull
	}
	return filepath.Join(c.dir, "spool", j.taskID(t)+"."+kind)
}

// destination returns where output goes: the path of -o, in a folder a file with the job's
// id, or else <name>.o<number> in the folder of qsub.
func (j *job) destination(t *task, kind string) string {
	to, letter := j.output, "o"
	if kind == "ER" {
		to, letter = j.error, "e"
	}
	if _, path, ok := strings.Cut(to, ":"); ok {
		to = path
	}
	switch {
	case to == "" && j.array:
		return filepath.Join(j.dir, fmt.Sprintf("%s.%s%d.%d", j.name, letter, j.seq, t.index))
	case to == "":
		return filepath.Join(j.dir, fmt.Sprintf("%s.%s%d", j.name, letter, j.seq))
	case strings.HasSuffix(to, "/"):
		return filepath.Join(to, j.taskID(t)+"."+kind)
	}
	return to
}

// deliver copies a task's output to its destination. Output that cannot be delivered stays
// in the spool, and no command reports that.
func (c *complex) deliver(j *job, t *task) bool {
	good := true
	for _, kind := range []string{"OU", "ER"} {
		from, to := c.spoolPath(j, t, kind), j.destination(t, kind)
		if from == os.DevNull {
			continue
		}
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		if err != nil {
			good = false
			continue
		}
		_ = os.Remove(from)
	}
	return good
}
