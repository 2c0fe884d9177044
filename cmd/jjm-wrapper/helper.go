package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// logHelper is the program gbs_log, which applications find in $GBS_LOG. It returns the exit code.
func logHelper(args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		fmt.Fprint(stdout, logHelp())
		return exitOK
	}
	if len(args) == 0 {
		fmt.Fprintf(stderr, "gbs_log: want: gbs_log KEYWORD words...; keywords: %s; see gbs_log --help\n", glf.Names())
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
	switch {
	case !glf.Known(keyword):
		fmt.Fprintf(stderr, "gbs_log: keyword %.40q is not known: logged as INFO; known are %s\n", keyword, glf.Names())
		return exitUsage
	case glf.Terminal(keyword) && strings.TrimSpace(data) == "":
		fmt.Fprintf(stderr, "gbs_log: %s without words does not count: see gbs_log --help\n", keyword)
	case keyword == glf.Info && glf.Miscounted(data) != "":
		fmt.Fprintf(stderr, "gbs_log: %s\n", glf.Miscounted(data))
	}
	return exitOK
}

// logHelp returns the text of gbs_log --help. It has the same texts about the keywords as docs/JOB-TYPES.md.
func logHelp() string {
	var text strings.Builder
	text.WriteString(`gbs_log says how a local job ends, where the job file or its type has result = "glf".

  "$GBS_LOG" KEYWORD words...

The command says exactly one of SUCCEEDED, FAILED, RETRY and HOLD, with words behind it,
and ends with exit code 0. Else its attempt has failed and is tried again, within the
limits of retries.

`)
	for _, w := range glf.Words() {
		fmt.Fprintf(&text, "  %-11s  %s.\n", w.Keyword, strings.ReplaceAll(w.Data, "`", ""))
		for _, line := range folded(strings.ReplaceAll(w.Effect, "`", "")+".", 72) {
			fmt.Fprintf(&text, "  %-11s  %s\n", "", line)
		}
	}
	text.WriteString("\nExamples:\n")
	for _, w := range glf.Words() {
		fmt.Fprintf(&text, "  \"$GBS_LOG\" %s %s\n", w.Keyword, w.Example)
	}
	text.WriteString(`  "$GBS_LOG" SUCCEEDED -         # it has no output files

Exit codes: 0, also where nothing could be logged; 2 for no keyword or an unknown one,
which is logged as INFO.
`)
	return text.String()
}

// folded breaks a text into lines of at most width bytes, between words.
func folded(text string, width int) (lines []string) {
	for _, word := range strings.Fields(text) {
		if n := len(lines) - 1; n >= 0 && len(lines[n])+1+len(word) <= width {
			lines[n] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

// recordData returns the words of a command line as the data of a log record. For a keyword whose data are a list, the
// words are quoted so that a reader gets the same words; for other keywords the data are the text of the words.
func recordData(keyword string, words []string) string {
	switch keyword {
	case glf.Succeeded, glf.Retry, glf.Hold:
		return glf.JoinArgs(words)
	}
	return strings.Join(words, " ")
}

// plainFiles opens files by their paths, without protection against links.
type plainFiles struct{}

func (plainFiles) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// progressHelper is the program jjm_progress, which applications find in $JJM_PROGRESS. It returns the exit code.
func progressHelper(args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		fmt.Fprint(stdout, progressHelp)
		return exitOK
	}
	if len(args) > 0 && getenv(areaEnv) == "" {
		fmt.Fprintf(stderr,
			"jjm_progress: %s is not set: this is not a job of jjm, or its environment was cleared; nothing was told\n", areaEnv)
		return exitOK
	}
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

// progressHelp is the text of jjm_progress --help.
const progressHelp = `jjm_progress says how far a local job is; jjm status and the record show it.

  "$JJM_PROGRESS" PHASE DONE [TOTAL]

  PHASE   what the job does now, one word
  DONE    how much of it is done, a whole number from 0 on
  TOTAL   how much there is to do; without it none is shown

Example:
  "$JJM_PROGRESS" simulate 117 250

Exit codes: 0, also where nothing could be told; 2 for wrong arguments.
`

// parseProgress parses the arguments PHASE DONE [TOTAL].
func parseProgress(args []string) (p jjm.Progress, err error) {
	if len(args) < 2 || len(args) > 3 {
		return p, fmt.Errorf("want: jjm_progress PHASE DONE [TOTAL]")
	}
	p.Phase = args[0]
	for i, to := range []*int64{&p.Done, &p.Total}[:len(args)-1] {
		if *to, err = strconv.ParseInt(args[i+1], 10, 64); err != nil || *to < 0 {
			return p, fmt.Errorf("%s %.40q: want a whole number from 0 on", []string{"DONE", "TOTAL"}[i], args[i+1])
		}
	}
	return p, nil
}

// putProgress stores the progress in the work area, at the position of the attempt that calls the helper.
func putProgress(p jjm.Progress, getenv func(string) string) error {
	area, at, err := callerPlace(getenv)
	if err != nil {
		return err
	}
	defer area.Close()
	return area.PutProgress(at.tag, at.pos, p, jjm.At(now()))
}

// callerPlace opens the work area of the attempt that calls a helper, and returns the attempt's position, from the
// environment variables that the wrapper set. The caller must close the area.
func callerPlace(getenv func(string) string) (area *sandbox.Area, at position, err error) {
	root, err := openFolder(getenv(areaEnv))
	if err != nil {
		return nil, at, fmt.Errorf("open the work area %s=%q: %w", areaEnv, getenv(areaEnv), err)
	}
	pos, err := strconv.ParseInt(getenv(indexEnv), 10, 32)
	if err != nil {
		return nil, at, errors.Join(fmt.Errorf("%s=%.40q: want a position", indexEnv, getenv(indexEnv)), root.Close())
	}
	return sandbox.NewArea(getenv(areaEnv), root), position{tag: jjm.Tag(getenv(tagEnv)), pos: int32(pos)}, nil
}
