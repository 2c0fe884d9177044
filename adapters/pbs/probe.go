package pbs

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"jjm"
	"jjm/adapters"
)

// limits is what a complex said about itself.
type limits struct {
	array        int // largest number of members of an array
	queued       int // most jobs of one account; 0 for no limit
	slots        int
	cores        int // of the largest node
	memoryMB     int64
	defaultQueue string
	queues       map[string]queueLimits
	// everybody is set if listings show the jobs of all accounts to each account.
	everybody bool
}

// queueLimits are the limits of one queue.
type queueLimits struct {
	walltime time.Duration
	queued   int
}

// Probe asks the server, its queues and its nodes.
func (a *Adapter) Probe(ctx context.Context) error {
	d, err := a.findDialect(ctx)
	if err != nil {
		return a.wrap("probe", err)
	}
	server, err := a.objects(ctx, "qstat", "-B", "-f")
	if err != nil {
		return a.wrap("probe", err)
	}
	queues, err := a.objects(ctx, "qstat", "-Q", "-f")
	if err != nil {
		return a.wrap("probe", err)
	}
	// Sites may hide their nodes from users; then the size is unknown.
	out, err := a.run(ctx, nil, "pbsnodes", "-a")
	if err != nil {
		return a.wrap("probe", adapters.AsBusy(err))
	}
	var nodes []object
	if out.Exit == 0 {
		nodes = parsePlain(out.Stdout)
	}
	l := limitsOf(server, queues, nodes, a.config.Queue)
	off := noHistory(d, server, queues, l.defaultQueue)
	a.mu.Lock()
	a.limits, a.noHistory = l, off
	a.mu.Unlock()
	return nil
}

// objects runs a command that must print at least one object.
func (a *Adapter) objects(ctx context.Context, argv ...string) ([]object, error) {
	out, err := a.run(ctx, nil, argv...)
	if err != nil {
		return nil, adapters.AsBusy(err)
	}
	if err := checkClean(out, argv); err != nil {
		return nil, err
	}
	list := parsePlain(out.Stdout)
	if len(list) == 0 || len(list[0].attrs) == 0 {
		return nil, jjm.Errorf(jjm.Busy, "%s: no object in the output %.100q", strings.Join(argv, " "), out.Stdout)
	}
	return list, nil
}

// limitsOf returns the limits; use is the queue of the configuration.
func limitsOf(server, queues, nodes []object, use string) limits {
	l := limits{array: defaultArray, queues: map[string]queueLimits{}}
	s := object{attrs: map[string]string{}}
	if len(server) > 0 {
		s = server[len(server)-1] // the last one, because a banner of the site looks like an object
	}
	for _, name := range []string{"max_array_size", "max_job_array_size"} {
		if n := number(s.attrs[name]); n > 0 {
			l.array = n
		}
	}
	l.everybody = strings.EqualFold(s.attrs["query_other_jobs"], "true")
	l.queued = minLimit(userLimit(s.attrs["max_queued"]), number(s.attrs["max_user_queuable"]))
	l.defaultQueue = cmp.Or(use, s.attrs["default_queue"])
	for _, q := range queues {
		l.queues[q.name] = queueLimits{
			walltime: parseDuration(cmp.Or(q.attrs["resources_max.walltime"], "0")),
			queued:   minLimit(userLimit(q.attrs["max_queued"]), number(q.attrs["max_user_queuable"])),
		}
		if n := number(q.attrs["max_array_size"]); n > 0 && q.name == l.defaultQueue {
			l.array = min(l.array, n)
		}
	}
	l.queued = minLimit(l.queued, l.queues[l.defaultQueue].queued)
	l.nodes(nodes)
	return l
}

func (l *limits) nodes(nodes []object) {
	for _, n := range nodes {
		cores := number(cmp.Or(n.attrs["resources_available.ncpus"], n.attrs["np"]))
		l.cores = max(l.cores, cores)
		memory := kilobytes(n.attrs["resources_available.mem"])
		for item := range strings.SplitSeq(n.attrs["status"], ",") {
			if kb, ok := strings.CutPrefix(item, "physmem="); ok {
				memory = kilobytes(kb)
			}
		}
		l.memoryMB = max(l.memoryMB, memory>>10)
		if takesJobs(n.attrs["state"]) {
			l.slots += cores
		}
	}
}

// takesJobs reports whether a node accepts jobs now or after the present ones.
func takesJobs(state string) bool {
	for _, bad := range []string{"down", "offline", "unknown", "stale", "unresolvable", "maintenance", "sleep",
		"provisioning"} {
		if strings.Contains(state, bad) {
			return false
		}
	}
	return state != ""
}

// noHistory reports whether ended jobs vanish at once.
func noHistory(d dialect, server, queues []object, use string) bool {
	s := server[len(server)-1]
	if d != torque {
		return !strings.EqualFold(s.attrs["job_history_enable"], "true")
	}
	keep := s.attrs["keep_completed"]
	for _, q := range queues {
		if q.name == use {
			keep = cmp.Or(q.attrs["keep_completed"], keep)
		}
	}
	return number(keep) == 0
}

// userLimit reads a limit such as "[u:PBS_GENERIC=100],[o:PBS_ALL=5000]" and returns the
// smallest part that holds for every user. The server enforces limits of single users
// itself.
func userLimit(s string) int {
	low := 0
	for item := range strings.SplitSeq(s, ",") {
		item = strings.Trim(strings.TrimSpace(item), "[]")
		who, n, _ := strings.Cut(item, "=")
		if who == "u:PBS_GENERIC" || who == "o:PBS_ALL" {
			low = minLimit(low, number(n))
		}
	}
	return low
}

// minLimit returns the smaller of two limits; 0 means no limit.
func minLimit(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func number(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 {
		return 0
	}
	return n
}
