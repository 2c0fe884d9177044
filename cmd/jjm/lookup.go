package main

import (
	"context"
	"fmt"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// lookupPatience is how long jjm lookup waits for the daemon before it reads the records. Gatekeepers wait at most
// 30 s.
const lookupPatience = 12 * time.Second

// lookupAtOnce is the greatest number of ids in one request.
const lookupAtOnce = 1000

// lookup prints the status of grid jobs in a form for programs.
type lookup struct {
	JSON bool     `name:"json" help:"One JSON object per line."`
	IDs  []string `arg:"" name:"ID" help:"Grid jobs, or gatekeepers' handles of them."`

	place
}

// Help returns the text of --help below the usage.
func (*lookup) Help() string {
	return "Each line is: ID STATUS GRAM gram=N code=N exit=N master=WORD expected=N total=N new=N submitting=N " +
		"submitted=N running=N completing=N completed=N failed=N killed=N held=N stale=0|1 asof=TIME error=KIND " +
		"tar=PATH message=TEXT. If no daemon answers, it shows the last record, with stale=1."
}

// Run carries out jjm lookup.
func (l *lookup) Run(c *cli) error {
	var err error
	if l.IDs, err = l.named(c, "lookup", l.IDs, true, true); err != nil {
		return err
	}
	answers, err := l.ask(c)
	if client.IsUnreachable(err) {
		answers, err = l.fromRecords(c, err)
	}
	if err != nil {
		return err
	}
	var first error
	for _, a := range answers {
		if a.Error != nil && first == nil {
			first = a.Error.Err()
		}
		if l.JSON {
			err = c.printJSON(a)
		} else {
			_, err = c.out.WriteString(lookupLine(a))
		}
		if err != nil {
			return err
		}
	}
	return first
}

func (l *lookup) ask(c *cli) ([]wire.Lookup, error) {
	daemon := l.client(c)
	daemon.Timeout = lookupPatience
	var answers []wire.Lookup
	for ids := l.IDs; len(ids) > 0; {
		now := ids[:min(len(ids), lookupAtOnce)]
		ids = ids[len(now):]
		a, err := client.Call(context.Background(), daemon, wire.VerbLookup(),
			wire.LookupRequest{Many: wire.Refs(now...)})
		if err != nil {
			return nil, err
		}
		answers = append(answers, a.Lookup...)
	}
	return answers, nil
}

// fromRecords returns the last known states of the jobs from the records. down is the error because no daemon answers.
// If a record is missing, the job may still exist, because the daemon may have accepted the job and not yet written its
// record. If there are several ids, the entry of this job then has an error of kind Busy; if there is only one,
// fromRecords returns this error.
func (l *lookup) fromRecords(c *cli, down error) ([]wire.Lookup, error) {
	o := l.offline(c, "lookup", down)
	answers := make([]wire.Lookup, len(l.IDs))
	for i, id := range l.IDs {
		grid, handle, err := gridOf(o.dir, id)
		var h head.Head
		if err == nil {
			h, err = head.Read(o.dir, grid)
		}
		switch {
		case err == nil:
			answers[i] = client.FromRecord(h)
		case len(l.IDs) == 1:
			return nil, o.unknown(err)
		default:
			answers[i] = wire.Lookup{ID: grid, Error: wire.ErrorOf(o.unknown(err))}
		}
		answers[i].Handle = handle
	}
	c.say("jjm lookup: %v", down)
	c.say("answered from the records in %s: the last known state, of the time after asof=", o.dir)
	return answers, nil
}

// gridOf returns the grid job that an id or a handle means, and the handle. The error is of kind Gone if no record has
// the handle.
func gridOf(dir, id string) (jjm.GridID, jjm.Handle, error) {
	h, _, ok := jjm.CutHandle(id)
	if !ok {
		return gridID(id), "", nil
	}
	grid, err := head.ByHandle(dir, h)
	return grid, h, err
}

// lookupLine returns the status of one grid job as a line in the form that the package comment in doc.go documents.
func lookupLine(l wire.Lookup) string {
	status, kind, message := field(l.Status), "", l.Message
	if l.Error != nil {
		status, kind, message = "error", l.Error.Kind.String(), l.Error.Text
	}
	if message = plain.Printable(message); message == "" {
		message = "-"
	}
	stale := 0
	if l.Stale {
		stale = 1
	}
	n := l.Counts
	id := l.ID.String()
	if l.ID == 0 && l.Handle != "" {
		id = string(l.Handle)
	}
	return fmt.Sprintf(
		"%s %s %s gram=%d code=%d exit=%d master=%s expected=%d total=%d new=%d submitting=%d submitted=%d "+
			"running=%d completing=%d completed=%d failed=%d killed=%d held=%d stale=%d asof=%s error=%s tar=%s message=%s\n",
		id, status, l.GRAM, l.GRAM, l.Code, l.Exit, field(l.Master), n.Expected, n.Total, n.New, n.Submitting, n.Submitted,
		n.Running, n.Completing, n.Completed, n.Failed, n.Killed, n.Held, stale, field(l.AsOf.String()), field(kind),
		field(l.Tar), message)
}
