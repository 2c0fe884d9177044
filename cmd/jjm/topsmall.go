package main

import (
	"fmt"
	"strings"
	"time"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// leastHeight is the least height of a screen with the heads of all tables. A smaller screen has the lines of small.
const leastHeight = 12

// small returns the lines of a small screen, the most important ones first: how many local jobs run, failed and are
// done; the clusters, those in trouble first; the grid jobs; and the footer. It returns height lines of at most width
// characters.
func (v *topView) small(width, height int) []topLine {
	v.shown = []jjm.GridID{}
	footer := height > 2 || v.typing || v.lost != ""
	room := height
	if footer {
		room--
	}
	var lines []topLine
	switch {
	case v.helped:
		lines = textLines(topHelp(), width)
	case v.reasonsOf != 0:
		lines = v.why(width)
	default:
		lines = append(lines, v.brief())
		lines = append(lines, v.smallClusters(width, (room-1)/2)...)
		if left := room - len(lines); left > 1 {
			lines = append(lines, v.jobs(width, left)...)
		}
	}
	lines = lines[:min(len(lines), room)]
	for len(lines) < room {
		lines = append(lines, topLine{})
	}
	if footer {
		lines = append(lines, v.footer())
	}
	return clipped(lines, width)
}

// brief returns the counts of local jobs and the time of the answer in one line, the most important counts first.
func (v *topView) brief() topLine {
	n := v.data.Counts
	return topLine{fmt.Sprintf("%d running, %d failed, %d of %d done, %d held, %s", n.Running+n.Completing,
		n.Failed+n.Killed, n.Completed, n.Expected, n.Held, v.data.At.Time().Local().Format(time.TimeOnly)), headStyle}
}

// smallClusters returns a line for each cluster, those in trouble first, then what to do about the troubles. It returns
// at most most lines, but at least one if there are clusters. If there is no room for all clusters, the last one of
// several lines counts the others.
func (v *topView) smallClusters(width, most int) (lines []topLine) {
	all := v.worstFirst()
	most = max(most, 1)
	for _, cl := range all {
		lines = append(lines, topLine{smallCluster(cl, v.data.At), clusterStyle(cl)})
	}
	if left := len(all) - most; left > 0 && most > 1 {
		return append(lines[:most-1], topLine{"and " + jjm.Count(left+1, "other cluster"), plainStyle})
	}
	for _, cl := range all {
		lines = append(lines, remedyLines(cl, width)...)
	}
	return lines[:min(len(lines), most)]
}

// smallCluster returns a cluster in one line: its name and state, its trouble, and its local jobs.
func smallCluster(cl wire.Cluster, now jjm.Time) string {
	texts := []string{cl.Name + " " + clusterState(cl, now)}
	if cause := clusterCause(cl); cause != "" {
		texts = append(texts, cause)
	}
	texts = append(texts, fmt.Sprintf("%d running", cl.Running), fmt.Sprintf("%d queued", cl.Queued))
	return plain.Printable(strings.Join(texts, ", "))
}
