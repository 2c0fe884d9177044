// Package match compares what people know about a job - a batch id, a host, the name of a file - with the facts that
// jjm has. It does no I/O.
package match

import (
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// BulkOf returns the part of a batch id that all jobs of a bulk have in common: "4711" for 4711, 4711_3, 4711.3,
// 4711[3] and 4711[3].host.
func BulkOf(id string) string {
	if i := strings.IndexAny(id, "._["); i > 0 {
		return id[:i]
	}
	return id
}

// IsBatch reports whether a batch id that a person gives refers to a batch job. The id of a bulk refers to all its
// batch jobs. A host at the end of the person's id does not count, as in 4711.server and 4711[3].server.
func IsBatch(asked, id string) bool {
	asked = plain(asked)
	return id != "" && (asked == plain(id) || asked == BulkOf(asked) && asked == BulkOf(id))
}

// plain returns a batch id without a host at its end, and without the empty brackets of an array.
func plain(id string) string {
	if i := strings.IndexByte(id, ']'); i >= 0 {
		return strings.TrimSuffix(id[:i+1], "[]")
	}
	head, tail, dot := strings.Cut(id, ".")
	if dot && (tail == "" || tail[0] < '0' || tail[0] > '9') {
		return head
	}
	return id
}

// RunsOn reports whether a live local job runs on a host, and, if at is not 0, ran there at that time. A name without
// a domain means the hosts of that name in all domains.
func RunsOn(l *jjm.LocalJob, host string, at jjm.Time) bool {
	if l.State != jjm.Running && l.State != jjm.Completing && l.State != jjm.Held {
		return false
	}
	return (l.Host == host || strings.HasPrefix(l.Host, host+".")) &&
		(at == 0 || l.Started <= at && (l.Ended == 0 || l.Ended >= at))
}

// Unsure returns a note if the start of an attempt is unknown, else "".
func Unsure(started jjm.Time) string {
	if started == 0 {
		return " if it had started, which is not known"
	}
	return ""
}

// mostNumbers bounds the numbers that are looked at in the name of a file.
const mostNumbers = 16

// GridsOf returns the grid jobs whose output may have a name: each number between dots that is followed by another
// number, as in mc.17.3.out.root.
func GridsOf(name string) (ids []jjm.GridID) {
	words := strings.Split(name, ".")
	for i := 0; i+1 < len(words) && len(ids) < mostNumbers; i++ {
		id, err := strconv.ParseInt(words[i], 10, 64)
		_, next := strconv.ParseInt(words[i+1], 10, 32)
		if err == nil && next == nil && id > 0 {
			ids = append(ids, jjm.GridID(id))
		}
	}
	return ids
}
