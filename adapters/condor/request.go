package condor

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"jjm/internal/jjm"
)

// plainWord matches names of accounts, projects and QOS that need no quoting.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$`)

// maxCores, maxMemoryMB, maxGPUs and maxWalltime are the largest values in a request. HTCondor accepts greater numbers,
// but no machine ever matches them.
const (
	maxCores    = 1 << 16
	maxMemoryMB = 1 << 30
	maxGPUs     = 1 << 10
	maxWalltime = 10 * 365 * 24 * time.Hour
)

// Check returns an error of kind Invalid if HTCondor, with this configuration, cannot express a request.
func (a *Adapter) Check(r jjm.Request) error { return a.config.checkRequest(a.name, r).Err() }

func (c Config) checkRequest(cluster string, r jjm.Request) (ps jjm.Problems) {
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: "request." + field, Text: fmt.Sprintf(format, args...)})
	}
	atMost := func(field string, n, most, limit int64) {
		if limit > 0 {
			most = min(most, limit)
		}
		if n < 0 || n > most {
			bad(field, "%d: this cluster allows one job at most %d", n, most)
		}
	}
	atMost("cores", int64(r.Cores), maxCores, int64(c.MaxCores))
	atMost("memory_mb", r.MemoryMB, maxMemoryMB, c.MaxMemoryMB)
	atMost("scratch_mb", r.ScratchMB, math.MaxInt64>>20, 0)
	atMost("gpus", int64(r.GPUs), maxGPUs, 0)
	most := maxWalltime
	if c.MaxWalltime > 0 {
		most = c.MaxWalltime.D()
	}
	if r.Walltime < 0 || r.Walltime.D() > most {
		bad("walltime", "%v: this cluster allows one job at most %v", r.Walltime, jjm.Duration(most))
	}
	if _, known := c.Queues[r.Queue]; r.Queue != "" && !known {
		bad("queue", "%.40q: this cluster has %s", r.Queue, listed(c.Queues))
	}
	word := func(field, text, attribute, key string) {
		switch {
		case text == "":
		case attribute == "":
			bad(field, "%.40q: this cluster has none; its %s is not set", text, key)
		case !plainWord.MatchString(text):
			bad(field, "%.40q: want a word of letters, digits and . _ - @", text)
		}
	}
	word("account", r.Account, "accounting_group", "")
	word("project", r.Project, c.ProjectAttribute, "project_attribute")
	word("qos", r.QOS, c.QOSAttribute, "qos_attribute")
	return append(ps, c.CheckDirectives(cluster, r, jobRule)...)
}

func listed(queues map[string]string) string {
	if len(queues) == 0 {
		return "no queues"
	}
	return strings.Join(slices.Sorted(maps.Keys(queues)), ", ")
}

// requestLines returns the lines of a submit description for a request that passed checkRequest. exclude are the hosts
// on which the jobs must not start.
func (c Config) requestLines(r jjm.Request, exclude []string) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if r.Cores > 0 {
		add("request_cpus = %d", r.Cores)
	}
	if r.MemoryMB > 0 {
		add("request_memory = %d", r.MemoryMB) // in MiB
	}
	if r.ScratchMB > 0 {
		add("request_disk = %d", r.ScratchMB*1024) // in KiB
	}
	if r.GPUs > 0 {
		add("request_gpus = %d", r.GPUs)
	}
	if r.Walltime > 0 {
		add("allowed_job_duration = %d", int64(math.Ceil(r.Walltime.D().Seconds())))
	}
	r = c.Fill(r)
	if r.Account != "" {
		add("accounting_group = %s", r.Account)
	}
	if r.Project != "" {
		add("+%s = %s", c.ProjectAttribute, quoteString(r.Project))
	}
	if r.QOS != "" {
		add("+%s = %s", c.QOSAttribute, quoteString(r.QOS))
	}
	return append(out, "requirements = "+c.requirements(r, exclude))
}

// requirements returns an expression that prevents a second start and a start on excluded hosts. It includes the
// requirements of the site and of the queue.
func (c Config) requirements(r jjm.Request, exclude []string) string {
	all := []string{"(NumJobStarts == 0)"}
	if len(exclude) > 0 {
		all = append(all, offHosts(exclude))
	}
	for _, text := range []string{c.Requirements, c.Queues[c.Fill(r).Queue]} {
		if text != "" {
			all = append(all, "("+text+")")
		}
	}
	return strings.Join(all, " && ")
}

// offHosts returns an expression that is false for the machines of hosts. The attribute Machine is the full name of a
// host; a host without a domain stands for the hosts of that name in all domains. In the regular expression a dot is
// written [.], because a backslash or a $ has a meaning of its own in submit descriptions.
func offHosts(hosts []string) string {
	return `(regexp("^(` + strings.ReplaceAll(strings.Join(hosts, "|"), ".", "[.]") +
		`)[.]", strcat(TARGET.Machine, "."), "i") =!= true)`
}
