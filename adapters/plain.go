package adapters

import "jjm/internal/jjm"

// PlainOnly checks requests for adapters that have no Check of their own. It returns an error of kind Invalid if a
// request sets a field that such an adapter would silently ignore: any field except cores, memory, wall time and queue.
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
				Text: "not supported by cluster " + cluster + ": leave it out, or name another cluster"})
		}
	}
	return ps.Err()
}
