package sge

import "strings"

// excludeOptions returns the options that keep a job off hosts, for a command line with the options opts. qsub uses
// only the last request of a resource, so the returned request also contains the last hard request of a host in opts.
// Expressions of requests are in complex(5) and sge_types(1).
func excludeOptions(opts, hosts []string) []string {
	if len(hosts) == 0 {
		return nil
	}
	off := "!(" + strings.Join(hosts, "|") + ")"
	if wanted := hostWanted(opts); wanted != "" {
		off = "(" + wanted + ")&" + off
	}
	return []string{"-hard", "-l", "h=" + off}
}

// hostWanted returns the last hard request of a host among options of qsub, "" if there is none. Requests after -soft
// are only preferences.
func hostWanted(opts []string) (wanted string) {
	soft := false
	for i, word := range opts {
		switch {
		case word == "-soft", word == "-hard":
			soft = word == "-soft"
		case i > 0 && opts[i-1] == "-l" && !soft:
			for request := range strings.SplitSeq(word, ",") {
				if name, value, _ := strings.Cut(request, "="); name == "h" || name == "hostname" {
					wanted = value
				}
			}
		}
	}
	return wanted
}
