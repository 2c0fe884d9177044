package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver, which the store uses too

	"jjm/internal/jjm"
)

// arcGroup holds the commands that only jjm's scripts for A-REX run.
type arcGroup struct {
	Delegations arcDelegations `cmd:"" help:"List which delegated credentials A-REX keeps for which jobs."`
}

// arcDelegations is the command "arc delegations", which prints the credentials that A-REX keeps for jobs. It reads
// them from A-REX's own list, and not from the files job.ID.local, because users can write these files.
type arcDelegations struct {
	Control string `arg:"" help:"A-REX's control folder."`
}

// Help returns the text of --help below the usage.
func (arcDelegations) Help() string {
	return `It prints JOB DELEGATION, a line each, from delegations/list, which A-REX
keeps with delegationdb = sqlite and which it alone writes.

Example:
  $ jjm-daemon arc delegations /var/spool/arc/jobstatus`
}

// delegationsTime is the longest time to read the list.
const delegationsTime = 10 * time.Second

// lockedFor is the SQL query for the jobs and their credentials. A-REX stores such a row when a job takes a credential,
// after it verified that the job's user owns the credential (tables rec and lock of A-REX's class FileRecordSQLite).
const lockedFor = "SELECT lock.lockid, rec.uid FROM lock JOIN rec ON rec.uid = lock.uid ORDER BY 1, 2"

// Run prints a line for each credential of a job: the job and the id of the credential, both quoted.
func (a *arcDelegations) Run(stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), delegationsTime)
	defer cancel()
	path := filepath.Join(a.Control, "delegations", "list")
	fail := func(err error) error {
		return jjm.Errorf(jjm.Invalid,
			"A-REX's list of delegations, %s: %w (it is read as SQLite: set delegationdb = sqlite in arc.conf)", path, err)
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro&_busy_timeout=2000"}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return fail(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, lockedFor)
	if err != nil {
		return fail(err)
	}
	defer rows.Close()
	for rows.Next() {
		var job, delegation string
		if err := rows.Scan(&job, &delegation); err != nil {
			return fail(err)
		}
		if _, err := fmt.Fprintf(stdout, "%q %q\n", job, delegation); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fail(err)
	}
	return nil
}
