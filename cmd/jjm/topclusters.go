package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// This file makes the lines of the screen of jjm top that are about clusters.

// worstFirst returns the clusters, those in trouble first.
func (v *topView) worstFirst() []wire.Cluster {
	all := slices.Clone(v.data.Clusters)
	slices.SortStableFunc(all, func(a, b wire.Cluster) int { return cmp.Compare(badness(b), badness(a)) })
	return all
}

// clusters returns the table of the clusters. It has a line for each cluster, clusters in trouble first, and below a
// cluster in trouble what to do about it. If height is not 0, the table takes at most a third of the height: remedies
// are left out first, then clusters, which its last line counts.
func (v *topView) clusters(width, height int) []topLine {
	all := v.worstFirst()
	most := max(height/3-1, 1)
	left, room := 0, most-len(all) // room is for remedies
	if height > 0 && len(all) > most {
		left = len(all) - most + 1
		all = all[:len(all)-left]
	}
	cells := [][]string{{"CLUSTER", "STATE", "WAITING", "QUEUED", "RUNNING", "LISTED", "TROUBLE"}}
	for _, cl := range all {
		cells = append(cells, []string{cl.Name, clusterState(cl, v.data.At), fmt.Sprint(cl.Waiting), fmt.Sprint(cl.Queued),
			fmt.Sprint(cl.Running), v.listed(cl), orDash(clusterCause(cl))})
	}
	alignTop(cells, widthsTop(cells, []int{14, 17, 7, 7, 7, 12, maxColumns}))
	lines := []topLine{{" " + strings.Join(cells[0], topGap), headStyle}}
	for i, cl := range all {
		lines = append(lines, topLine{" " + strings.Join(cells[i+1], topGap), clusterStyle(cl)})
		remedy := remedyLines(cl, width)
		if height > 0 {
			remedy = remedy[:max(min(len(remedy), room), 0)]
			room -= len(remedy)
		}
		lines = append(lines, remedy...)
	}
	if left > 0 {
		lines = append(lines, topLine{" and " + jjm.Count(left, "other cluster"), plainStyle})
	}
	return lines
}

// clusterStyle returns the style of the line about a cluster.
func clusterStyle(cl wire.Cluster) topStyle {
	if badness(cl) > 0 {
		return troubleStyle
	}
	return plainStyle
}

// remedyLines returns what to do about a cluster in trouble, as jjm clusters advises, in lines of about width
// characters. It returns no lines for other clusters.
func remedyLines(cl wire.Cluster, width int) []topLine {
	if cl.Remedy == "" {
		return nil
	}
	return textLines([][2]string{{"do", cl.Remedy}}, width)
}

// badness returns the rank of a cluster in the order of trouble: 2 if its circuit breaker is not closed, 1 if it is in
// other trouble, otherwise 0.
func badness(cl wire.Cluster) int {
	switch {
	case cl.Breaker != nil:
		return 2
	case !cl.Healthy:
		return 1
	}
	return 0
}

// listed returns the time since the last complete listing of a cluster, as text.
func (v *topView) listed(cl wire.Cluster) string {
	if cl.LastSeen == 0 {
		return "never"
	}
	age := v.now.Sub(cl.LastSeen.Time()).Truncate(time.Second)
	if age <= 0 {
		return "0 s"
	}
	return jjm.HowLong(age)
}

// clusterCause returns why a cluster is in trouble, and the time of the next probe if its circuit breaker is open. It
// returns "" for other clusters.
func clusterCause(cl wire.Cluster) string {
	switch {
	case cl.Breaker != nil && cl.Breaker.NextProbe != 0:
		return "next probe " + plain.Stamp(cl.Breaker.NextProbe) + ": " + cl.Breaker.Cause
	case cl.Breaker != nil:
		return cl.Breaker.Cause
	}
	return cl.Cause
}
