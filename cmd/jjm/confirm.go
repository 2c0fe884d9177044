package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"jjm/internal/jjm"
)

// manyJobs is the greatest number of jobs that a command changes without a confirmation. It is also the greatest number
// of jobs in one request of such a command.
const manyJobs = 100

// confirm asks a person to confirm a change of more than manyJobs jobs, unless yes is set. word is the noun for these
// jobs. A program, which has no terminal, must pass --yes. If confirm returns an error, the command must change
// nothing.
func (c *cli) confirm(verb string, jobs int, word string, yes bool) error {
	if yes || jobs <= manyJobs {
		return nil
	}
	in, ok := c.in.(*os.File)
	if !ok || !isTerminal(in) || c.errFile == nil || !isTerminal(c.errFile) {
		return usage("%s %s: for more than %d say --yes; --dry-run shows what would be done", verb,
			jjm.Count(jobs, word), manyJobs)
	}
	if _, err := fmt.Fprintf(c.err, "%s %s? Type yes: ", verb, jjm.Count(jobs, word)); err != nil {
		return err
	}
	answer, _ := bufio.NewReader(in).ReadString('\n') // a missing answer is not a yes
	if strings.TrimSpace(answer) != "yes" {
		return usage("not confirmed: nothing was done")
	}
	return nil
}
