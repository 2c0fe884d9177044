package adapters

import "jjm"

// PlainOnly is the Check of an adapter that has none: it finds the words of a
// request beyond cores, memory, wall time and queue, which the adapter would
// pass over in silence.
func PlainOnly(cluster string, r jjm.Request) error {
	var ps jjm.Problems
	for _, w := range []struct {
		field string
		given bool
	}{
		{"gpus", r.GPUs != 0}, {"scratch_mb", r.ScratchMB != 0}, {"account", r.Account != ""},
		{"project", r.Project != ""}, {"qos", r.QOS != ""}, {"directives", r.Directives != ""},
	} {
		if w.given {
			ps = append(ps, jjm.Problem{Field: "request." + w.field,
				Text: "means nothing to cluster " + cluster + ": leave it out, or name another cluster"})
		}
	}
	return ps.Err()
}
