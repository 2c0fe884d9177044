package condor

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// transferLines returns the lines of a submit description that name a job's files.
//
// If a folder is named without a slash at its end, HTCondor sends the folder itself, with modes, and not only its
// content. The schedd's side writes the returned files, in the account of the jobs' owner, before the job counts as
// completed (JobStatus 4; until then it is 6). A failed transfer puts the job on hold: code 13 for input, 12 for
// output, with errno(3) as the subcode.
func transferLines(t *adapters.Transfer) []string {
	if t == nil {
		return []string{"should_transfer_files = NO"}
	}
	out := []string{"should_transfer_files = YES", "when_to_transfer_output = ON_EXIT"}
	in := t.In
	if t.Each != "" {
		in = append(in[:len(in):len(in)], t.Each+"/$(Process)")
	}
	if len(in) > 0 {
		out = append(out, "transfer_input_files = "+strings.Join(in, ","))
	}
	if t.Proxy != "" {
		out = append(out, "x509userproxy = "+t.Proxy) // the shadow sends a newer proxy to the running job
	}
	if t.Out == "" {
		// Without this line HTCondor would return all new files to initialdir.
		return append(out, `transfer_output_files = ""`)
	}
	return append(out, "transfer_output_files = "+t.Out,
		fmt.Sprintf(`transfer_output_remaps = "%s=%s/$(Process)"`, t.Out, t.Back))
}

// transferOf returns the files to carry for a bulk, or nil if workers see the work area. A bulk without Transfer occurs
// in tests only; transferOf then returns an empty Transfer, because the bulk's Dir does not exist on the worker. It
// returns an error for a bulk with a log, because the workers do not see the log.
func (c Config) transferOf(b adapters.Bulk) (*adapters.Transfer, error) {
	switch {
	case c.SharedFS:
		return nil, nil
	case b.Log != "":
		return nil, jjm.Errorf(jjm.Invalid, "log %.200q: the workers of this cluster do not see it", b.Log)
	case b.Transfer == nil:
		return &adapters.Transfer{}, nil
	}
	return b.Transfer, checkTransfer(*b.Transfer)
}

// outName matches names of files that need no quoting.
var outName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// checkTransfer returns an error for files that would not arrive under their names, because submit descriptions cannot
// quote a separator.
func checkTransfer(t adapters.Transfer) error {
	seen := map[string]bool{}
	bring := func(field, path string) error {
		if problem := pathProblem(path); problem != "" {
			return jjm.Errorf(jjm.Invalid, "transfer.%s %.200q: %s", field, path, problem)
		}
		name := filepath.Base(path)
		if seen[name] || name == t.Out {
			return jjm.Errorf(jjm.Invalid, "transfer.%s %.200q: the job's folder already has another %q", field, path, name)
		}
		seen[name] = true
		return nil
	}
	for _, path := range t.In {
		if err := bring("in", path); err != nil {
			return err
		}
	}
	if problem := pathProblem(t.Each); t.Each != "" && problem != "" {
		return jjm.Errorf(jjm.Invalid, "transfer.each %.200q: %s", t.Each, problem)
	}
	if t.Proxy != "" {
		if err := bring("proxy", t.Proxy); err != nil {
			return err
		}
	}
	switch {
	case t.Out == "" && t.Back == "":
		return nil
	case !outName.MatchString(t.Out):
		return jjm.Errorf(jjm.Invalid, "transfer.out %.200q: want the name of a file, of letters, digits and . _ -", t.Out)
	}
	if problem := pathProblem(t.Back); problem != "" {
		return jjm.Errorf(jjm.Invalid, "transfer.back %.200q: %s", t.Back, problem)
	}
	return nil
}

// pathProblem returns the reason why HTCondor cannot carry a path, or "" if it can.
func pathProblem(path string) string {
	odd := func(r rune) bool {
		return r == unicode.ReplacementChar || unicode.IsSpace(r) || !unicode.IsPrint(r) ||
			strings.ContainsRune("\"'`,;=$\\*?[]{}", r)
	}
	switch {
	case !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/":
		return "want an absolute path without a slash at its end"
	case strings.ContainsFunc(path, odd):
		return "HTCondor cannot carry a path with blanks, quotes or any of , ; = $ \\ * ? [ ] { }"
	}
	return ""
}
