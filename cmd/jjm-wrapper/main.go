package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"jjm/internal/jjm"
	"jjm/sandbox"
)

// The exit codes of the wrapper. The package comment in doc.go explains them.
const (
	exitOK     = 0
	exitUsage  = 2
	exitLost   = 91
	exitArea   = 92
	exitResult = 93
)

// The variables that the batch system's adapter sets for the wrapper.
const (
	indexEnv    = "JJM_INDEX"
	batchEnv    = "JJM_BATCH_ID"
	restartsEnv = "JJM_RESTARTS"
	spoolEndEnv = "JJM_SPOOL_END"
)

func main() {
	// The wrapper does nothing in parallel: further threads would cost time and have no work.
	runtime.GOMAXPROCS(1)
	os.Exit(dispatch(os.Args, os.Stdout, os.Stderr))
}

// dispatch runs the wrapper, or the helper whose name argv[0] is: the helpers are links to this program. It returns the
// exit code.
func dispatch(argv []string, stdout, stderr io.Writer) int {
	switch filepath.Base(argv[0]) {
	case sandbox.LogHelper:
		return logHelper(argv[1:], os.Getenv, stdout, stderr)
	case sandbox.ProgressHelper:
		return progressHelper(argv[1:], os.Getenv, stdout, stderr)
	case sandbox.RecordHelper:
		return recordHelper(argv[1:], os.Getenv, os.Stdin, stderr)
	}
	if len(argv) > 1 && (argv[1] == "--help" || argv[1] == "-h" || argv[1] == "help") {
		fmt.Fprint(stdout, help)
		return exitOK
	}
	switch {
	case len(argv) == 4 && argv[1] == "run":
		return runAs(jjm.Tag(argv[3]), stderr, func(at position) (int, error) { return run(argv[2], at) })
	case len(argv) == 3 && argv[1] == "carry":
		return runAs(jjm.Tag(argv[2]), stderr, carry)
	}
	fmt.Fprintf(stderr, "jjm-wrapper: want: jjm-wrapper run AREA TAG; see jjm-wrapper --help\n")
	return exitUsage
}

// runAs reads the position of this wrapper from the environment, runs the attempt with do, and returns the exit code.
// It prints errors to standard error. If JJM_SPOOL_END is set, it writes the end record to that file.
func runAs(tag jjm.Tag, stderr io.Writer, do func(position) (int, error)) int {
	started := jjm.At(now())
	code := exitUsage
	id, err := identity(tag)
	if err == nil {
		code, err = do(id)
	}
	if err != nil {
		fmt.Fprintf(stderr, "jjm-wrapper: %v\n", err)
	}
	if file := os.Getenv(spoolEndEnv); file != "" {
		if err := writeEnd(file, code, started); err != nil {
			fmt.Fprintf(stderr, "jjm-wrapper: write end record: %v\n", err)
		}
	}
	return code
}

// position is the place of the attempt: the tag of a bulk (the jobs of one submission to a batch system), and the
// position of the job in the bulk. batch is the batch system's id of the job, and restarts the number of times that the
// batch system started it before.
type position struct {
	tag      jjm.Tag
	pos      int32
	batch    string
	restarts int
}

// identity reads the position from the environment that the adapter of the batch system set. It returns an error if the
// tag or a variable is not valid.
func identity(tag jjm.Tag) (position, error) {
	p := position{tag: tag, batch: os.Getenv(batchEnv)}
	if !tag.Valid() {
		return p, fmt.Errorf("TAG %.40q: want a letter and at most 14 of a-z, 0-9", string(tag))
	}
	n, err := strconv.ParseUint(os.Getenv(indexEnv), 10, 31)
	if err != nil {
		return p, fmt.Errorf("%s=%.40q: want the position in the bulk, from 0", indexEnv, os.Getenv(indexEnv))
	}
	p.pos = int32(n)
	if s := os.Getenv(restartsEnv); s != "" {
		if p.restarts, err = strconv.Atoi(s); err != nil || p.restarts < 0 {
			return p, fmt.Errorf("%s=%.40q: want a number from 0", restartsEnv, s)
		}
	}
	return p, nil
}

const help = `jjm-wrapper runs one attempt of a local job of jjm on a worker.

  jjm-wrapper run AREA TAG        run the attempt at position $JJM_INDEX of bulk
                                  TAG in the work area AREA (an absolute path)
  jjm-wrapper carry TAG           the same on a worker that does not see the area: from
                                  box.tar in the current folder, into parcel.tar
  gbs_log KEYWORD words...        (as $GBS_LOG) append a record to the job's log:
                                  gbs_log --help explains the keywords
  jjm_progress PHASE DONE [TOTAL] (as $JJM_PROGRESS) report how far the job is
  jjm_record [FILE]               (as $JJM_RECORD) add XML elements, each with a
                                  name or id, to the job's record: of the file,
                                  or of the standard input

People do not call it: jjm submits it. Environment it reads:
  JJM_INDEX      position in the bulk, from 0
  JJM_BATCH_ID   the batch system's id of this job
  JJM_RESTARTS   how often the batch system started it before (default 0)
  JJM_SPOOL_END  file for the exit code, written last

Exit codes:
  0   the result was written, whatever became of the application
  2   wrong command line or environment
  91  another job holds the claim on this attempt: nothing was done
  92  area, assignment or claim not readable or writable: nothing was started
  93  the result could not be written
`
