package main

import (
	"fmt"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
)

// maxListed is the greatest length, in bytes, of the list of output names in a SUCCEEDED record. It is far below the
// greatest length of a line in a log.
const maxListed = 4 << 10

// conclude appends to the log the record of how the attempt ended, if the job reports by its exit code and its log has
// no such record (decision R1). The record is SUCCEEDED with the names of the outputs, or "-" if there are none, after
// exit code 0, and otherwise FAILED exit=<n>.
func (a *attempt) conclude(said glf.Log, names []wanted) {
	if a.job.Result != jjm.ResultExit && !a.assign.Merge || len(said.Terminals) > 0 {
		return
	}
	if a.result.Exit != 0 {
		a.logLine(glf.Failed, glf.FailedData(a.result.Exit))
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
