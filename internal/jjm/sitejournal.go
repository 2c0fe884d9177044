package jjm

import (
	"fmt"
	"strings"
)

// The sources of journal entries about the site: SourceDaemon of each start of the daemon, SourceOutage of the
// beginning and the end of an outage of a cluster. These entries belong to no grid job and to no account.
const (
	SourceDaemon = "daemon"
	SourceOutage = "outage"
)

// Start returns the journal entry about a start of the daemon.
func Start() JournalEntry {
	return JournalEntry{First: -1, Last: -1, To: "started", Cause: "the daemon", Source: SourceDaemon}
}

// outageOf is the beginning of the cause of an entry about an outage; the name of the cluster follows.
const outageOf = "cluster "

// Outage returns the journal entry about an outage that began at the time since: about its beginning, with the reason
// why; or about its end if why is "".
func Outage(cluster string, since Time, why string) JournalEntry {
	en := JournalEntry{First: -1, Last: -1, To: "silent", Source: SourceOutage,
		Cause: fmt.Sprintf("%s%s: it has answered no listing since %s: %s", outageOf, cluster, since.Local(), why)}
	if why == "" {
		en.To, en.Cause = "answers", fmt.Sprintf("%s%s: it answers again after an outage since %s", outageOf, cluster,
			since.Local())
	}
	return en
}

// Silent returns the cluster of an entry about an outage, "" for any other entry.
func (en JournalEntry) Silent() (cluster string) {
	rest, found := strings.CutPrefix(en.Cause, outageOf)
	if en.Source != SourceOutage || !found {
		return ""
	}
	cluster, _, _ = strings.Cut(rest, ": ")
	return cluster
}
