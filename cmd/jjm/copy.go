package main

import (
	"fmt"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// copyJob makes a new grid job from the request of an existing grid job, or from the part of one local job.
type copyJob struct {
	secrets
	ID   string   `arg:"" name:"ID" help:"The grid job, or one of its local jobs, such as 12.3."`
	Set  []string `sep:"none" placeholder:"KEY=VALUE" help:"Change a key of the job file; may be given again."`
	Key  string   `placeholder:"KEY" help:"Request key of the copy: the same key means the same copy."`
	Dry  bool     `name:"dry-run" help:"Decide and explain, and store nothing."`
	Wait bool     `help:"Wait for the end of the copy, showing progress; exit 0 if it is done."`
	JSON bool     `name:"json" help:"Answer as one line of JSON; with --dry-run it has the job file."`

	place
}

// Help returns the text of --help below the usage.
func (*copyJob) Help() string {
	return "The old grid job may be in any status, and stays as it is. The copy is a new grid job, as if the job file " +
		"were submitted again in the same folder: inputs are read as they are now. The request key is not copied; " +
		"--key sets one. Prints the id of the copy. Only the owner of a grid job may copy it. With --wait, a copy that " +
		"cannot be prepared or cut is removed, the error is printed, and the exit code is 5, as in jjm submit.\n\n" +
		"The copy of a local job, such as 12.3, is a grid job that processes only the part of that local job, with the " +
		"same serial number, seed and output names. Its outputs are not merged, and jjm verify does not count it " +
		"for the old grid job. To run a failed local job again in its own grid job, use jjm resubmit.\n\n" +
		"A KEY is a key of a job file, with dots for tables and brackets for elements: params.events, " +
		"datasets[0].name. A VALUE that is JSON, such as 500, true or [\"a\",\"b\"], is read as JSON; any other VALUE " +
		"is a text. In env, and if the key has a text already, every VALUE without double quotes is a text. An " +
		"empty VALUE removes the key. If the edited job file has problems, all are shown and nothing is stored."
}

// Run carries out jjm copy.
func (j *copyJob) Run(c *cli) error {
	id, err := j.one(c, "copy", j.ID, false, false)
	if err != nil {
		return err
	}
	what := "grid job " + id
	if ref, err := jjm.ParseRef(id); err == nil && ref.Locals {
		if err := oneLocal("copy", id); err != nil {
			return err
		}
		what = "local job " + id
	}
	given, err := j.secrets.read()
	if err != nil {
		return err
	}
	ctx, cancel := interruptible()
	defer cancel()
	how := wire.CopyHow{Set: j.Set, Key: j.Key, Credentials: given, DryRun: j.Dry}
	if j.Wait {
		how.Rollback = jjm.RollbackRemove
	}
	a, err := client.Call(ctx, j.client(c), wire.VerbCopy(), wire.CopyRequest{One: wire.OneRef(id), CopyHow: how})
	if err != nil {
		return refused("copy of "+what, err)
	}
	switch {
	case j.JSON:
		err = c.printJSON(a.Copied)
	case j.Dry:
		err = c.printPlan(a.Copied.Plan)
	default:
		_, err = fmt.Fprintln(c.out, a.Copied.ID)
	}
	if err != nil || j.Dry {
		return err
	}
	if a.Copied.Existed {
		c.say("the request key is that of grid job %v, which was there already", a.Copied.ID)
	}
	if !j.Wait {
		return nil
	}
	return waitNew(ctx, c, j.client(c), "copy of "+what, &a.Copied.Submitted)
}
