package main

import (
	"fmt"
	"strconv"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
)

// maxListed is the maximum length of the list of output names in a SUCCEEDED record, in bytes. It is well below the
// maximum length of a line in a log.
const maxListed = 4 << 10

// conclude appends the record of how the job ended, if the job reports by its exit code and did not write such a record
// itself (decision R1): SUCCEEDED with the outputs, "-" if there are none, or FAILED exit=<n>.
func (a *attempt) conclude(said glf.Log, names []wanted) {
	if a.job.Result != jjm.ResultExit && !a.assign.Merge || len(said.Terminals) > 0 {
		return
	}
	if a.result.Exit != 0 {
		a.logLine(glf.Failed, "exit="+strconv.Itoa(a.result.Exit))
		return
	}
	var list []string
	size := 0
	for _, w := range names {
		if w.absent == "" {
			size += len(w.name) + 3
			if size > maxListed {
				a.logLine(glf.Info, fmt.Sprintf("the outputs are %d; the record lists the first %d", len(names), len(list)))
				break
			}
			list = append(list, w.inWork())
		}
	}
	if len(list) == 0 {
		list = []string{"-"}
	}
	a.logLine(glf.Succeeded, glf.JoinArgs(list))
}
