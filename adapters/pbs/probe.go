package pbs

import (
	"cmp"
	"context"
	"os/user"
	"strconv"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// limits are the limits and properties that a complex reported.
type limits struct {
	array        int // largest number of members of an array
	queued       int // most jobs of this account in the default queue; 0 for no limit
	server       int // most jobs of this account in all queues; 0 for no limit
	slots        int
	cores        int // cores of the largest node
	memoryMB     int64
	defaultQueue string
	queues       map[string]queueLimits
	// everybody is set if listings show each account the jobs of all accounts.
	everybody bool
}

// queueLimits are the limits of one queue; 0 for none.
type queueLimits struct {
	walltime      time.Duration
	queued, array int
}

// Probe queries the server, its queues and its nodes for their limits.
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
	// Sites may hide their nodes from users; then the number of cores is unknown.
	out, err := a.run(ctx, nil, "pbsnodes", "-a")
	if err != nil {
		return a.wrap("probe", adapters.AsBusy(err))
	}
	var nodes []object
	if out.Exit == 0 {
		nodes = parsePlain(out.Stdout)
	}
	who := ""
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	l := limitsOf(server, queues, nodes, a.config.Queue, who)
	off := noHistory(d, server, queues, l.defaultQueue)
	a.mu.Lock()
	a.limits, a.noHistory = l, off
	a.mu.Unlock()
	return nil
}

// objects runs a command and returns the objects in its output. It returns an error if the command fails or its output
// contains no object.
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

// limitsOf returns the limits for the jobs of the account who; use is the queue of the
// configuration.
func limitsOf(server, queues, nodes []object, use, who string) limits {
	l := limits{array: defaultArray, queues: map[string]queueLimits{}}
	s := object{attrs: map[string]string{}}
	if len(server) > 0 {
		s = server[len(server)-1] // the last server, because a banner of the site looks like an object
	}
	for _, name := range []string{"max_array_size", "max_job_array_size"} {
		if n := number(s.attrs[name]); n > 0 {
			l.array = n
		}
	}
	l.everybody = strings.EqualFold(s.attrs["query_other_jobs"], "true")
	l.server = queuedLimit(s, who)
	l.defaultQueue = cmp.Or(use, s.attrs["default_queue"])
	for _, q := range queues {
		l.queues[q.name] = queueLimits{
			walltime: parseDuration(cmp.Or(q.attrs["resources_max.walltime"], "0")),
			queued:   queuedLimit(q, who),
			array:    number(q.attrs["max_array_size"]),
		}
		if n := number(q.attrs["max_array_size"]); n > 0 && q.name == l.defaultQueue {
			l.array = min(l.array, n)
		}
	}
	l.queued = minLimit(l.server, l.queues[l.defaultQueue].queued)
	l.nodes(nodes)
	return l
}

// nodes sets the limits that follow from the nodes: the cores and the memory of the largest nodes, and the slots of all
// nodes that accept jobs.
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

// takesJobs reports whether a node in this state accepts jobs, perhaps only after its present jobs. It returns false if
// state is empty.
func takesJobs(state string) bool {
	for _, bad := range []string{"down", "offline", "unknown", "stale", "unresolvable", "maintenance", "sleep",
		"provisioning"} {
		if strings.Contains(state, bad) {
			return false
		}
	}
	return state != ""
}

// noHistory reports whether the server forgets jobs immediately after their end. In OpenPBS the server's attribute
// job_history_enable decides. In Torque the attribute keep_completed decides: the value of the queue use, if the queue
// has one, otherwise the value of the server.
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

// queuedLimit returns how many jobs an account may have in a queue or on the server, 0 for no limit. It reads
// max_queued (OpenPBS) and max_user_queuable and max_queuable (Torque); max_queuable limits the jobs of all accounts
// together.
func queuedLimit(o object, who string) int {
	low := minLimit(number(o.attrs["max_user_queuable"]), number(o.attrs["max_queuable"]))
	return minLimit(low, userLimit(o.attrs["max_queued"], who))
}

// userLimit parses limits such as "[u:PBS_GENERIC=100],[u:ann=200],[o:PBS_ALL=5000]" and returns the lowest limit that
// applies to an account, 0 for no limit. A limit for the account's name replaces the generic limit. userLimit ignores
// the limits of groups and projects, because it is unknown here which groups and projects apply; the server rejects
// jobs beyond these limits.
func userLimit(s, who string) int {
	all, own, generic, named := 0, 0, 0, false
	for item := range strings.SplitSeq(s, ",") {
		item = strings.Trim(strings.TrimSpace(item), "[]")
		whose, word, _ := strings.Cut(item, "=")
		switch n := number(word); whose {
		case "o:PBS_ALL":
			all = minLimit(all, n)
		case "u:PBS_GENERIC":
			generic = minLimit(generic, n)
		case "u:" + who:
			own, named = n, true
		}
	}
	if !named {
		own = generic
	}
	return minLimit(all, own)
}

// checkSize returns an error if a bulk is larger than its queue or the server allows this account. This check is needed
// besides the capabilities, because the capabilities contain only the limits of the default queue.
func (a *Adapter) checkSize(b adapters.Bulk) error {
	a.mu.Lock()
	l := a.limits
	a.mu.Unlock()
	queue := cmp.Or(a.config.Fill(b.Request).Queue, l.defaultQueue)
	q := l.queues[queue]
	most := minLimit(minLimit(l.server, q.queued), q.array)
	if most == 0 || b.N <= most {
		return nil
	}
	return adapters.TooMany(adapters.NotAsked(jjm.Errorf(jjm.Busy,
		"a bulk of %s: queue %q takes %d of this account (max_queued, max_array_size)", jjm.Count(b.N, "job"), queue, most)))
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
