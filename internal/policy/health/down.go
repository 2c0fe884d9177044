package health

import (
	"fmt"
	"strings"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// DownFacts are the facts about a site whose daemon does not answer. They are the facts that the calling account can
// see in the folders.
type DownFacts struct {
	Now jjm.Time
	// Error is the reason why the daemon does not answer.
	Error string
	// State is the state folder. Written is the time at which the store was last written, 0 if the account cannot see the
	// store.
	State   string
	Written jjm.Time
	// Looked is the number of newest records that this account could read, Unfinished the number of their grid jobs
	// that had not ended, and AsOf the time at which the latest of these records was written. RecordsError is the
	// reason why no record can be read.
	Looked, Unfinished int
	AsOf               jjm.Time
	RecordsError       string
	// Spool is about the requests in the spool, nil if this account may not see them.
	Spool *Spool
	// Disk is the file system of the state; its size is 0 if it cannot be measured.
	Disk Disk
}

// fullShare defines the part of a file system that should be free while the daemon is down: 1/fullShare.
const fullShare = 100

// DownChecks returns the checks of a site whose daemon does not answer, the worst first.
func DownChecks(f DownFacts) []wire.HealthCheck {
	daemon := wire.HealthCheck{State: Critical, Name: "daemon", Text: "no daemon answers",
		Detail: strings.TrimPrefix(f.Error, "no daemon answers "),
		Remedy: "systemctl status jjm says why; an installed daemon starts with systemctl start jjm; " +
			"your own starts with jjm serve"}
	state := wire.HealthCheck{State: OK, Name: "state",
		Text:    "the store in " + f.State + " was last written at " + f.Written.Local(),
		Figures: []wire.HealthFigure{seconds("store_age", age(f.Now, f.Written), 0, 0)}}
	if f.Written == 0 {
		state.State, state.Text, state.Figures = Unknown, "this account sees no store in "+f.State, nil
		state.Remedy = "ask as root or as the account of the daemon; --state or JJM_STATE names another folder"
	}
	all := []wire.HealthCheck{daemon, state, downRecords(f)}
	if f.Spool != nil {
		all = append(all, spool(*f.Spool, f.Now))
	}
	if d := f.Disk; d.Bytes > 0 {
		if d.Free < d.Bytes/fullShare {
			d.Near = fmt.Sprintf("less than a part in %d of the file system is free", fullShare)
		}
		all = append(all, disk(d))
	}
	return worstFirst(all)
}

// downRecords reports the number of unfinished grid jobs according to the newest records, and the time of these
// records.
func downRecords(f DownFacts) wire.HealthCheck {
	c := wire.HealthCheck{State: OK, Name: "records",
		Figures: []wire.HealthFigure{{Name: "unfinished", Value: int64(f.Unfinished)}}}
	switch {
	case f.RecordsError != "":
		return wire.HealthCheck{State: Unknown, Name: "records", Text: "the records cannot be read", Detail: f.RecordsError,
			Remedy: "ask as root or as the account of the daemon; JJM_RECORDS names another folder"}
	case f.Looked == 0:
		c.Text = "this account can read no record"
	default:
		c.Text = fmt.Sprintf("as of %s, %d of the newest %s that this account may read had not ended", f.AsOf.Local(),
			f.Unfinished, jjm.Count(f.Looked, "grid job"))
	}
	return c
}
