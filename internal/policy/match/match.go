// Package match finds jobs by facts that people know: a batch id, a host, the name of a file. It compares them with the
// facts that jjm has, and does no I/O.
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

// IsBatch reports whether the batch id asked, as a person wrote it, refers to the batch job id. The id of a bulk refers
// to all batch jobs of the bulk. A host at the end of an id is ignored, as in 4711.server and 4711[3].server.
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

// RunsOn reports whether a live local job runs on a host, and, if from is not 0, ran there at some time between from
// and until. A host name without a domain stands for the hosts of that name in all domains.
func RunsOn(l *jjm.LocalJob, host string, from, until jjm.Time) bool {
	if l.State != jjm.Running && l.State != jjm.Completing && l.State != jjm.Held {
		return false
	}
	return (l.Host == host || strings.HasPrefix(l.Host, host+".")) &&
		(from == 0 || l.Started <= until && (l.Ended == 0 || l.Ended >= from))
}

// Unsure returns a note for people if the start of an attempt is unknown, else "".
func Unsure(started jjm.Time) string {
	if started == 0 {
		return " if it had started, which is not known"
	}
	return ""
}

// mostNumbers is the greatest number of grid jobs that GridsOf returns.
const mostNumbers = 16

// GridsOf returns the ids of the grid jobs that may have made an output with the given name. Such an id is a number
// between dots that is followed by another number: 17 in mc.17.3.out.root.
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
