package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"jjm/internal/jjm"
	"jjm/sandbox"
	"jjm/xmldb"
)

// recordHelper is the program jjm_record, which applications find in $JJM_RECORD. It adds XML elements to the record of
// the job that calls it, and returns the exit code.
func recordHelper(args []string, getenv func(string) string, stdin io.Reader, stderr io.Writer) int {
	if len(args) > 1 {
		fmt.Fprintln(stderr, "jjm_record: want: jjm_record [FILE]; without a file it reads the standard input")
		return exitUsage
	}
	text, err := elements(args, stdin)
	if err == nil {
		err = putElements(text, getenv)
	}
	switch {
	case err == nil:
		return exitOK
	case jjm.KindOf(err) == jjm.Invalid:
		fmt.Fprintf(stderr, "jjm_record: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(stderr, "jjm_record: %v\n", err) // this error must not fail the job
	return exitOK
}

// elements reads the XML elements to add, from the file in args or from stdin. It returns an error of kind Invalid if
// the file cannot be opened.
func elements(args []string, stdin io.Reader) ([]byte, error) {
	if len(args) == 1 {
		f, err := os.Open(args[0])
		if err != nil {
			return nil, jjm.Errorf(jjm.Invalid, "%w", err)
		}
		defer f.Close()
		stdin = f
	}
	return io.ReadAll(io.LimitReader(stdin, jjm.MaxFragment+1))
}

// putElements adds the elements to the fragment of the attempt: the elements that the application has added so far. The
// error is of kind Invalid if text is not well-formed XML, or is for another job.
func putElements(text []byte, getenv func(string) string) error {
	id := getenv("JJM_JOBID")
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("<fragment")) {
		text = fmt.Appendf(nil, "<fragment job=%q>%s</fragment>", id, text)
	}
	f, err := xmldb.ParseFragment(text)
	if err != nil {
		return err
	}
	if f.Ref() != id {
		return jjm.Errorf(jjm.Invalid, "it is for job %s, and this is job %s", f.Ref(), id)
	}
	if err := f.CheckKeys(); err != nil {
		return err
	}
	area, at, err := callerPlace(getenv)
	if err != nil {
		return err
	}
	defer area.Close()
	return addFragment(area, at, f)
}

func addFragment(area *sandbox.Area, at position, f xmldb.Fragment) error {
	text, err := area.ReadFragment(at.tag, at.pos)
	if err != nil {
		return err
	}
	if before, err := xmldb.ParseFragment(text); err == nil && before.Ref() == f.Ref() {
		if f, err = before.With(f); err != nil {
			return err
		}
	}
	return area.PutFragment(at.tag, at.pos, f.XML())
}
