// Package health checks the health of a site. It derives checks from facts, each with a state in the words of Nagios,
// and a line that summarizes all checks. It does no I/O. docs/SERVICE.md lists the checks and their thresholds.
package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// The states of a check, in the words of Nagios.
const (
	OK       = "OK"
	Warning  = "WARNING"
	Critical = "CRITICAL"
	Unknown  = "UNKNOWN"
)

// The thresholds.
const (
	// OutageCritical is the length of a cluster's outage from which it is critical. A shorter outage is a warning.
	OutageCritical = 10 * time.Minute
	// StaleWarning and StaleCritical are the thresholds for the age of the last listing of a cluster with local jobs.
	StaleWarning, StaleCritical = 15 * time.Minute, time.Hour
	// UnknownCritical is the time from which a missing local job, or an unsettled submission, is critical. A shorter
	// time is a warning if it is longer than engine.unknown_warn.
	UnknownCritical = 24 * time.Hour
	// DiskWarning and DiskCritical are the thresholds for the age of the last measurement of free space. An old
	// measurement means that a file system hangs.
	DiskWarning, DiskCritical = time.Minute, 5 * time.Minute
	// UnwrittenCritical is the time from which a record that could not be written is critical. A shorter time is a
	// warning.
	UnwrittenCritical = 10 * time.Minute
	// FragmentWarning is the time from which a fragment that waits for its record is a warning. jjm refuses the
	// fragment after an hour.
	FragmentWarning = 10 * time.Minute
	// SpoolWarning and SpoolCritical are the thresholds for the time that a request has waited in the spool.
	SpoolWarning, SpoolCritical = 5 * time.Minute, time.Hour
	// UnjudgedWarning and UnjudgedCritical are the thresholds for the time for which an error has prevented the verdict on
	// an ended local job.
	UnjudgedWarning, UnjudgedCritical = time.Minute, 10 * time.Minute
	// NoticeWarning is the age from which a notice that could not be delivered yet is a warning. A notice that was given
	// up is a warning for the time GivenUpFor.
	NoticeWarning, GivenUpFor = time.Hour, 24 * time.Hour
	// WALWarning is the size in bytes from which the write-ahead log of the store is a warning. The log grows while a
	// reader prevents SQLite from moving the log into the store.
	WALWarning = 1 << 30
)

// Facts are the facts about a site whose daemon answers.
type Facts struct {
	Now     jjm.Time
	Started jjm.Time // when the daemon started
	Around
	Clusters []wire.Cluster
	// Refuses is the reason why no new work is accepted, "" if new work is accepted.
	Refuses string
	Disks   Disks
	Records Records
	Store   Store
	Spool   Spool
	Notices Notices
	// Unjudged are the ended local jobs on which errors prevent the verdict.
	Unjudged Unjudged
	// Off are the job types that are off.
	Off []Off
	// Bans are the bans in force, nil if the caller may not see them.
	Bans []jjm.Ban
	// Excluded are the excluded hosts.
	Excluded []jjm.Exclusion
}

// Around are the facts that the daemon knows outside its engine.
type Around struct {
	Version string
	// SharedFolders are the problems of the folders in which accounts write, Advertising the problems of the site's ad.
	// Each problem is one sentence.
	SharedFolders, Advertising []string
	// Page is why the web page accepts no token, "" if it does or if the site has no tokens.
	Page string
}

// Disks are the file systems of the site, as measured at the time At. At is 0 before the first measurement.
type Disks struct {
	At  jjm.Time
	All []Disk
}

// Disk is one file system of the site.
type Disk struct {
	// Of is the first of work, records and state that is on this file system. Path is the path of its folder.
	Of, Path    string
	Bytes, Free int64
	// Near is a text about the free space if less than twice the space that must stay free for new work is free, else "".
	Near string
}

// Records are the facts about the XML records.
type Records struct {
	// Behind is the number of records of live grid jobs that wait to be written.
	Behind int
	// Unwritten is the number of records that could not be written at the last attempt. Since is the time of the first
	// failure, and Error its reason.
	Unwritten int
	Since     jjm.Time
	Error     string
	// Fragments is the number of fragments in the drop folder that wait for their record. Oldest is the time at which the
	// oldest fragment was written.
	Fragments int
	Oldest    jjm.Time
}

// Store is the size of the store, in bytes, and the version of its schema. Error is the reason why the store could not
// be measured, "" if it was measured.
type Store struct {
	File, WAL int64
	Schema    int
	Error     string
}

// Spool are the requests that wait in the spool.
type Spool struct {
	Entries int
	More    bool // whether more than Entries requests wait
	Oldest  jjm.Time
	Error   string // the reason why the spool could not be read
}

// Notices are the facts about notices and call-backs that are not delivered.
type Notices struct {
	// Waiting is the number of notices that could not be delivered yet, and are tried again. Oldest is the time of the
	// change that the oldest of these notices reports.
	Waiting int
	Oldest  jjm.Time
	// GivenUp is the number of notices that were given up within GivenUpFor, and Last is the time at which the last notice
	// was given up.
	GivenUp int
	Last    jjm.Time
	Error   string // the reason why the notices could not be counted
}

// Unjudged summarizes the local jobs whose attempts have ended, but on which errors prevent the verdict.
type Unjudged struct {
	Jobs  int
	First jjm.LocalID // the local job with the earliest error
	Error string      // its error
	Since jjm.Time    // the time of its first error
}

// Off is a job type that is off.
type Off struct{ Type, Why, Remedy string }

// Checks returns the checks of a site whose daemon answers, the worst first.
func Checks(f Facts) []wire.HealthCheck {
	all := []wire.HealthCheck{{State: OK, Name: "daemon", Since: f.Started,
		Text:    "the daemon answers, version " + f.Version,
		Figures: []wire.HealthFigure{seconds("uptime", f.Now.Sub(f.Started), 0, 0)}}}
	for i := range f.Clusters {
		all = append(all, clusterChecks(f, &f.Clusters[i])...)
	}
	all = append(all, space(f), sharedFolders(f))
	for _, d := range f.Disks.All {
		all = append(all, disk(d))
	}
	all = append(all, records(f)...)
	all = append(all, store(f.Store), spool(f.Spool, f.Now), results(f.Unjudged, f.Now), notices(f.Notices, f.Now),
		types(f.Off), bans(f.Bans), excluded(f.Excluded), advertising(f.Advertising), page(f.Page))
	return worstFirst(all)
}

// Names returns the names of all checks that Checks can return. Some of these checks exist only during trouble.
func Names() []string {
	return []string{"daemon", "listing", "unsettled", "missing", "accounting", "order", "space", "folders", "disk",
		"records", "fragments", "store", "spool", "results", "notices", "job-types", "bans", "excluded-hosts",
		"advertising", "page"}
}

// worstFirst sorts checks by state and removes checks without a state.
func worstFirst(all []wire.HealthCheck) []wire.HealthCheck {
	all = slices.DeleteFunc(all, func(c wire.HealthCheck) bool { return c.State == "" })
	slices.SortStableFunc(all, func(a, b wire.HealthCheck) int { return cmp.Compare(rank(b.State), rank(a.State)) })
	return all
}

// rank orders states: the worse, the higher.
func rank(state string) int { return slices.Index([]string{OK, Unknown, Warning, Critical}, state) }

// Worst returns the worst state of checks, UNKNOWN if there are none.
func Worst(checks []wire.HealthCheck) string {
	if len(checks) == 0 {
		return Unknown
	}
	return slices.MaxFunc(checks, func(a, b wire.HealthCheck) int {
		return cmp.Compare(rank(a.State), rank(b.State))
	}).State
}

// ExitCode returns the exit code of a Nagios plug-in for a state.
func ExitCode(state string) int {
	if n := slices.Index([]string{OK, Warning, Critical}, state); n >= 0 {
		return n
	}
	return 3
}

// Line returns the first line of a Nagios plug-in: the worst state, the text of the first check with that state, the
// number of other critical checks and warnings, and after a bar the figures of all checks as performance data.
func Line(checks []wire.HealthCheck) string {
	worst := Worst(checks)
	text := jjm.Count(len(checks), "check")
	if worst != OK {
		counts := map[string]int{}
		for _, c := range checks {
			if counts[c.State]++; c.State == worst && counts[worst] == 1 {
				text = c.Text
			}
		}
		counts[worst]--
		var more []string
		for _, of := range []struct{ state, one string }{{Critical, "critical check"}, {Warning, "warning"}} {
			if n := counts[of.state]; n > 0 {
				words := jjm.Count(n, of.one)
				if of.state == worst {
					words += " more"
				}
				more = append(more, words)
			}
		}
		if len(more) > 0 {
			text += "; " + strings.Join(more, ", ")
		}
	}
	line := "JJM " + worst + ": " + NoBar(text)
	if perf := perfdata(checks); perf != "" {
		line += " | " + perf
	}
	return line
}

// NoBar replaces the bars of a text, because performance data begin after a bar.
func NoBar(text string) string { return strings.ReplaceAll(text, "|", "/") }

// perfdata returns the figures of checks in the form of Nagios, name=value[unit][;warning[;critical]], sorted by name.
// Programs that draw the figures rely on their order, which must therefore not change with the states.
func perfdata(checks []wire.HealthCheck) string {
	var words []string
	for _, c := range checks {
		for _, f := range c.Figures {
			word := fmt.Sprintf("%s=%d%s", f.Name, f.Value, f.Unit)
			warning, critical := threshold(f.Warning), threshold(f.Critical)
			if warning+critical != "" {
				word += strings.TrimSuffix(";"+warning+";"+critical, ";")
			}
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func threshold(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// label returns the name of a figure, which consists of the measured quantity and the cluster or file system. The name
// has only letters, digits and underscores, and needs no quotes.
func label(what, of string) string {
	if of != "" {
		what += "_" + of
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, what)
}

// seconds returns a duration as a figure in whole seconds, with its thresholds. A negative duration counts as 0.
func seconds(name string, d, warning, critical time.Duration) wire.HealthFigure {
	whole := func(d time.Duration) int64 { return int64(max(d, 0) / time.Second) }
	return wire.HealthFigure{Name: name, Value: whole(d), Unit: "s", Warning: whole(warning), Critical: whole(critical)}
}

// age returns the time since t, 0 if t is unknown or in the future.
func age(now, t jjm.Time) time.Duration {
	if t == 0 {
		return 0
	}
	return max(now.Sub(t), 0)
}

// graded returns the state of a duration with two thresholds. If the threshold for a warning is 0, every duration is at
// least a warning.
func graded(d, warning, critical time.Duration) string {
	switch {
	case d >= critical:
		return Critical
	case d >= warning:
		return Warning
	}
	return OK
}
