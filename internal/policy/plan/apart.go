package plan

import (
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// Apart selects by what outputs are kept apart when they are merged (merge.apart in a job file).
type Apart struct{ Cluster, Group, Priority bool }

// ApartOf returns the selection that the words of a job file make. The job file check refuses other words.
func ApartOf(words []string) (a Apart) {
	for _, w := range words {
		switch w {
		case jjm.ApartCluster:
			a.Cluster = true
		case jjm.ApartGroup:
			a.Group = true
		case jjm.ApartPriority:
			a.Priority = true
		}
	}
	return a
}

// Made describes the local job that made an output: its cluster, the group of the files that it read, and its priority.
type Made struct {
	Cluster, Group string
	Priority       int
}

// Key returns a text that is equal for two outputs exactly if they may be merged together.
func (a Apart) Key(m Made) string {
	var words []string
	if a.Cluster {
		words = append(words, "cluster "+m.Cluster)
	}
	if a.Group {
		words = append(words, "group "+m.Group)
	}
	if a.Priority {
		words = append(words, "priority "+strconv.Itoa(m.Priority))
	}
	return strings.Join(words, "\x00")
}

// Producing describes a local job that may still make outputs. Cluster is "" if it may still go to any cluster.
type Producing struct {
	Cluster  string
	Priority int
}

// Complete reports whether no further output can be merged with an output, according to the local jobs that may still
// make outputs. The group of a future output is not known, so groups alone never exclude a local job.
//
// The answer is a forecast: a local job may be tried again on another cluster. Its outputs are then merged without the
// earlier ones.
func (a Apart) Complete(m Made, live map[Producing]bool) bool {
	for p := range live {
		elsewhere := a.Cluster && p.Cluster != "" && p.Cluster != m.Cluster
		if !elsewhere && (!a.Priority || p.Priority == m.Priority) {
			return false
		}
	}
	return true
}

// CommonGroup returns the group of all the files, or "" if they do not have the same group.
func CommonGroup(groups []string) string {
	for _, g := range groups {
		if g != groups[0] {
			return ""
		}
	}
	if len(groups) == 0 {
		return ""
	}
	return groups[0]
}
