package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// openSpool opens the files that a task writes to: files in the spool, which are copied at
// its end; with keep "oed" the final files; /dev/null where that is the destination.
func (c *complex) openSpool(j *job, t *task) (out, errs *os.File, err error) {
	open := func(kind string) (*os.File, error) {
		path := c.spoolPath(j, t, kind)
		return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, j.mode())
	}
	if out, err = open("OU"); err != nil {
		return nil, nil, err
	}
	if j.join == "oe" {
		errs, err = open("OU")
	} else {
		errs, err = open("ER")
	}
	if err != nil {
		out.Close()
	}
	return out, errs, err
}

func (c *complex) spoolPath(j *job, t *task, kind string) string {
	to := c.destination(j, t, kind)
	if to == "/dev/null" || strings.HasSuffix(j.keep, "d") {
		return to
	}
	return filepath.Join(c.dir, "spool", j.taskID(t)+"."+kind)
}

func (j *job) mode() os.FileMode {
	if strings.HasSuffix(j.umask, "022") {
		return 0o644
	}
	return 0o600
}

// destination returns where output goes: the path of -o, in a folder a file with the job's
// id, or else <name>.o<number> in the folder of qsub.
func (c *complex) destination(j *job, t *task, kind string) string {
	to, letter := j.output, "o"
	if kind == "ER" {
		to, letter = j.error, "e"
	}
	if _, path, ok := strings.Cut(to, ":"); ok {
		to = path
	}
	name := fmt.Sprintf("%s.%s%d", j.name, letter, j.seq)
	if j.array {
		name += fmt.Sprintf(".%d", t.index)
	}
	switch {
	case to == "":
		return filepath.Join(j.dir, name)
	case strings.HasSuffix(to, "/") && j.array:
		return filepath.Join(to, j.taskID(t)+"."+kind)
	case strings.HasSuffix(to, "/"):
		return filepath.Join(to, j.id()+"."+kind)
	}
	return to
}

// copyOut delivers a task's output. Output that cannot be delivered stays in the spool, and
// no command reports that.
func (c *complex) copyOut(j *job, t *task) bool {
	good := true
	for _, kind := range []string{"OU", "ER"} {
		from, to := c.spoolPath(j, t, kind), c.destination(j, t, kind)
		if from == to {
			continue
		}
		if _, err := os.Stat(from); err != nil {
			continue
		}
		if err := copyFile(from, to, j.mode()); err != nil {
			good = false
			continue
		}
		_ = os.Remove(from)
	}
	return good
}

func copyFile(from, to string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
