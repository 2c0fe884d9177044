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
	in := c.person()
	if in == nil {
		return usage("%s %s: for more than %d say --yes; --dry-run shows what would be done", verb,
			jjm.Count(jobs, word), manyJobs)
	}
	return c.askPerson(in, fmt.Sprintf("%s %s", verb, jjm.Count(jobs, word)))
}

// person returns the terminal on which a person types answers to questions, nil if no person can answer them.
func (c *cli) person() *os.File {
	in, ok := c.in.(*os.File)
	if !ok || !isTerminal(in) || c.errFile == nil || !isTerminal(c.errFile) {
		return nil
	}
	return in
}

// askPerson asks whether a command may do something. It returns an error unless the answer is yes.
func (c *cli) askPerson(in *os.File, what string) error {
	if _, err := fmt.Fprintf(c.err, "%s? Type yes: ", what); err != nil {
		return err
	}
	answer, _ := bufio.NewReader(in).ReadString('\n') // a missing answer is not a yes
	if strings.TrimSpace(answer) != "yes" {
		return usage("not confirmed: nothing was done")
	}
	return nil
}
