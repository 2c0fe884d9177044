package jjm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The sources of journal entries about the site: SourceDaemon of each start of the daemon, SourceOutage of the
// beginning and the end of an outage of a cluster, SourceExclude of hosts that are excluded and included. These entries
// belong to no grid job and to no account.
const (
	SourceDaemon  = "daemon"
	SourceOutage  = "outage"
	SourceExclude = "exclude"
)

// startsShown is how many starts of the daemon within startsSpan have a journal entry of their own.
const (
	startsShown = 3
	startsSpan  = 10 * time.Minute
)

// StartsKey is the key of Starts in the store.
const StartsKey = "starts"

// Starts is what the store keeps about the starts of the daemon, so that a daemon that crashes again and again does not
// fill the journal. Since is the time of an entry about a start. Shown counts the starts since then that have entries,
// with the first. More counts those that have none; Last is the time of the last one of them.
type Starts struct {
	Since Time `json:"since"`
	Shown int  `json:"shown"`
	More  int  `json:"more,omitempty"`
	Last  Time `json:"last,omitempty"`
}

// Next returns the Starts after a start at the time now, and the entries to add to the journal: about the start, and
// before it the one of Rest. There are no entries if the start is only counted, because startsShown starts within
// startsSpan have entries already.
func (s Starts) Next(now Time) (next Starts, entries []JournalEntry) {
	switch age := now.Sub(s.Since); {
	case age < 0 || age >= startsSpan:
		next = Starts{Since: now, Shown: 1}
		entries = s.Rest()
	case s.Shown < startsShown:
		next = Starts{Since: s.Since, Shown: s.Shown + 1}
	default:
		return Starts{s.Since, s.Shown, s.More + 1, now}, nil
	}
	return next, append(entries, startEntry(now))
}

// Rest returns an entry about the last start that the journal does not have, with the number of such starts before it.
// It returns no entry if the journal has all starts.
func (s Starts) Rest() []JournalEntry {
	if s.More == 0 || s.Last == 0 {
		return nil
	}
	en := startEntry(s.Last)
	if s.More > 1 {
		en.Cause += fmt.Sprintf(", after %s since %s", Count(s.More-1, "other start"), s.Since.Local())
	}
	return []JournalEntry{en}
}

// WithRest returns entries about the site, in order of time, with those of Rest. It sorts the entries by time, because
// the journal gets an entry of Rest only with the next start. limit is the greatest number of entries, 0 for all; the
// oldest ones are left out.
func (s Starts) WithRest(entries []JournalEntry, limit int) []JournalEntry {
	all := append(slices.Clone(entries), s.Rest()...)
	slices.SortStableFunc(all, func(a, b JournalEntry) int { return cmp.Compare(a.Time, b.Time) })
	if limit > 0 {
		all = all[max(len(all)-limit, 0):]
	}
	return all
}

// startEntry returns the entry about a start of the daemon.
func startEntry(at Time) JournalEntry {
	return JournalEntry{Time: at, First: -1, Last: -1, To: "started", Cause: "the daemon", Source: SourceDaemon}
}

// The words of entries about outages. The cause of such an entry begins with outageOf and the name of the cluster. Then
// follows silentSince or answersSince, and the time at which the outage began.
const (
	outageOf     = "cluster "
	silent       = "silent"
	silentSince  = ": it has answered no listing since "
	answers      = "answers"
	answersSince = ": it answers again after an outage since "
)

// Outage returns the journal entry about an outage that began at the time since: about its beginning, with the reason
// why; or about its end if why is "".
func Outage(cluster string, since Time, why string) JournalEntry {
	en := JournalEntry{First: -1, Last: -1, To: silent, Source: SourceOutage,
		Cause: outageOf + cluster + silentSince + since.Local() + ": " + why}
	if why == "" {
		en.To, en.Cause = answers, outageOf+cluster+answersSince+since.Local()
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

// During returns the entries about the site that concern local jobs between two times: all of entries in this time,
// except outages of clusters on which none of the local jobs is. If a cluster was silent already at the time from, the
// result begins with an entry about the outage, with the time from. entries are in order of time. They may lack the
// beginning of such an outage if they have its end.
func During(entries []JournalEntry, locals []LocalJob, from, to Time) (out []JournalEntry) {
	clusters := map[string]bool{"": true}
	for i := range locals {
		clusters[locals[i].Cluster] = true
	}
	before := map[string]JournalEntry{} // the outages at the time from, by cluster
	known := map[string]bool{}          // clusters with an entry
	for _, e := range entries {
		name := e.Silent()
		if !clusters[name] || e.Time > to {
			continue
		}
		if e.Time >= from {
			out = append(out, e)
		}
		if name == "" || e.Time >= from && known[name] {
			continue
		}
		known[name] = true
		switch ends := e.To == answers; {
		case e.Time < from && ends:
			delete(before, name)
		case e.Time < from:
			before[name] = e
		case ends:
			before[name] = e.beginning()
		}
	}
	var open []JournalEntry
	for _, name := range slices.Sorted(maps.Keys(before)) {
		e := before[name]
		e.Time = from
		open = append(open, e)
	}
	return append(open, out...)
}

// beginning returns an entry about the beginning of the outage that en ended. The reason is not known.
func (en JournalEntry) beginning() JournalEntry {
	en.To, en.Cause = silent, strings.Replace(en.Cause, answersSince, silentSince, 1)
	return en
}
