package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"jjm"
	"jjm/glf"
	"jjm/sandbox"
)

// logHelper is $GBS_LOG.
func logHelper(args []string, getenv func(string) string, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprintln(
			stderr, "gbs_log: want: gbs_log KEYWORD words...; keywords: SUCCEEDED FAILED RETRY HOLD INFO RETURN_FILE")
		return exitUsage
	}
	file := getenv(glfEnv)
	if file == "" {
		fmt.Fprintf(
			stderr, "gbs_log: %s is not set: this is not a job of jjm, or its environment was cleared; nothing was logged\n",
			glfEnv)
		return exitOK
	}
	keyword, data := args[0], recordData(args[0], args[1:])
	if err := appendLine(plainFiles{}, filepath.Clean(file), glf.FormatLine(now(), keyword, data)); err != nil {
		fmt.Fprintf(stderr, "gbs_log: %v\n", err)
	}
	if !glf.Known(keyword) {
		fmt.Fprintf(stderr, "gbs_log: keyword %.40q is not known: logged as INFO\n", keyword)
		return exitUsage
	}
	return exitOK
}

// recordData joins words: where the data is a list, so that the words are found
// again; else as a text.
func recordData(keyword string, words []string) string {
	switch keyword {
	case glf.Succeeded, glf.Retry, glf.Hold:
		return glf.JoinArgs(words)
	}
	return strings.Join(words, " ")
}

// plainFiles opens files as the application itself would.
type plainFiles struct{}

func (plainFiles) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// progressHelper is $JJM_PROGRESS.
func progressHelper(args []string, getenv func(string) string, stderr io.Writer) int {
	p, err := parseProgress(args)
	if err != nil {
		fmt.Fprintf(stderr, "jjm_progress: %v\n", err)
		return exitUsage
	}
	if err := putProgress(p, getenv); err != nil {
		fmt.Fprintf(stderr, "jjm_progress: %v\n", err)
		if jjm.KindOf(err) == jjm.Invalid {
			return exitUsage
		}
	}
	return exitOK
}

// parseProgress reads PHASE DONE [TOTAL].
func parseProgress(args []string) (p jjm.Progress, err error) {
	if len(args) < 2 || len(args) > 3 {
		return p, fmt.Errorf("want: jjm_progress PHASE DONE [TOTAL]")
	}
	p.Phase = args[0]
	if p.Done, err = strconv.ParseInt(args[1], 10, 64); err != nil {
		return p, fmt.Errorf("DONE %.40q: want a whole number", args[1])
	}
	if len(args) == 3 {
		if p.Total, err = strconv.ParseInt(args[2], 10, 64); err != nil {
			return p, fmt.Errorf("TOTAL %.40q: want a whole number", args[2])
		}
	}
	return p, nil
}

// putProgress publishes it in the bulk of the job.
func putProgress(p jjm.Progress, getenv func(string) string) error {
	area, at, err := ownPlace(getenv)
	if err != nil {
		return err
	}
	defer area.Close()
	return area.PutProgress(at.tag, at.pos, p, jjm.At(now()))
}

// ownPlace opens the work area of the job that calls a helper; at is its bulk and position.
func ownPlace(getenv func(string) string) (area *sandbox.Area, at position, err error) {
	root, err := os.OpenRoot(getenv(areaEnv))
	if err != nil {
		return nil, at, fmt.Errorf("open the work area %s=%q: %w", areaEnv, getenv(areaEnv), err)
	}
	pos, err := strconv.ParseInt(getenv(indexEnv), 10, 32)
	if err != nil {
		return nil, at, errors.Join(fmt.Errorf("%s=%.40q: want a position", indexEnv, getenv(indexEnv)), root.Close())
	}
	return sandbox.NewArea(getenv(areaEnv), root), position{tag: jjm.Tag(getenv(tagEnv)), pos: int32(pos)}, nil
}
