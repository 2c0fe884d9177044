package slurm

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// site holds the settings of the controller that a probe found. A site is never changed after its creation.
type site struct {
	version      string
	maxArray     int // largest array index + 1 (MaxArraySize, slurm.conf(5))
	maxJobs      int // largest number of jobs in the controller (MaxJobCount)
	minJobAge    time.Duration
	timeout      time.Duration // MessageTimeout
	accounting   bool
	enforced     bool // whether the controller enforces limits of associations
	submit       submitLimits
	cluster      string
	partitions   map[string]partition
	defaultQueue string
}

// partition holds the limits of a partition for one job, and the number of CPUs for all its jobs.
type partition struct {
	cpus         int // CPUs of the nodes that are up
	maxCores     int
	maxMemoryMB  int64
	maxScratchMB int64
	maxGPUs      int
	maxWalltime  time.Duration // 0 for no limit
}

// safeBulk and safeSettle are used until the controller has answered. safeBulk is the smallest default of
// slurm.conf(5), safeSettle twice the longest MessageTimeout for which Slurm prints no warning.
const (
	safeBulk   = 1000
	safeSettle = 2 * 100 * time.Second
)

// lag is the longest time until the controller learns of a job's end.
const lag = time.Second

// ping is the only command that ends within 14 ms if the controller does not run.
const ping = "scontrol ping"

// Diagnosis returns the command that shows whether the controllers run.
func (a *Adapter) Diagnosis() string { return ping }

// SubmitCommand returns the name of the program that submits jobs, "" if slurmrestd submits them.
func (a *Adapter) SubmitCommand() string {
	if a.rest != nil {
		return ""
	}
	return "sbatch"
}

// Probe checks whether the controller answers, and then reads its settings and partitions. The first command is ping.
func (a *Adapter) Probe(ctx context.Context) error {
	out, err := a.timed.Run(ctx, nil, strings.Fields(ping)...)
	if err != nil {
		return fmt.Errorf("slurm: probe: %w", adapters.AsBusy(err))
	}
	if !pingAnswered(string(out.Stdout)) {
		return jjm.Errorf(jjm.Busy, "slurm: probe: no controller answers: %s: exit %d: %s", ping, out.Exit,
			adapters.Brief(append(out.Stdout, out.Stderr...)))
	}
	s, err := a.querySite(ctx)
	if err != nil {
		return fmt.Errorf("slurm: probe: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.site != nil {
		s.submit = a.site.submit
	}
	a.site = s
	if s.enforced && s.accounting && !a.asking {
		a.asking = true
		a.asked.Go(func() { a.askLimits(ctx, s) })
	}
	return nil
}

// limitsWithin is the deadline for the queries of limits in accounting.
const limitsWithin = time.Minute

// askLimits queries accounting for the limits on submitted jobs and stores them. The caller runs it in the background,
// because it takes up to eight commands. Until the limits are known, rejected submissions reveal them.
func (a *Adapter) askLimits(ctx context.Context, s *site) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limitsWithin)
	defer cancel()
	l := a.submitLimits(ctx, s)
	a.mu.Lock()
	defer a.mu.Unlock()
	known := *a.site
	known.submit = l
	a.site, a.asking = &known, false
}

// siteInfo returns the settings of the controller. It queries the controller if the settings are unknown.
func (a *Adapter) siteInfo(ctx context.Context) (*site, error) {
	a.mu.Lock()
	s := a.site
	a.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := a.querySite(ctx)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.site == nil {
		a.site = s
	}
	return a.site, nil
}

// querySite reads the settings of the controller and its partitions with two commands.
func (a *Adapter) querySite(ctx context.Context) (*site, error) {
	text, err := command(ctx, a.timed, "scontrol", "show", "config")
	if err != nil {
		return nil, err
	}
	s, err := parseConfig(string(text))
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "scontrol show config: %w", err)
	}
	text, err = command(ctx, a.timed, "sinfo", "-h", "-a", "-e", "-o", sinfoFormat)
	if err != nil {
		return nil, err
	}
	if s.partitions, s.defaultQueue, err = parseSinfo(string(text)); err != nil {
		return nil, jjm.Errorf(jjm.Busy, "sinfo: %w", err)
	}
	return s, nil
}

// pingAnswered reports whether a controller is up. The output of scontrol ping has a line for each controller:
// "Slurmctld(primary) at host is UP".
func pingAnswered(ping string) bool {
	for line := range strings.Lines(ping) {
		if strings.HasPrefix(line, "Slurmctld(") && strings.HasSuffix(strings.TrimSpace(line), " is UP") {
			return true
		}
	}
	return false
}

// parseConfig parses the output of "scontrol show config".
func parseConfig(text string) (*site, error) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(line, "="); found {
			values[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	s := &site{version: values["SLURM_VERSION"], cluster: values["ClusterName"]}
	number := func(name string) int {
		word, _, _ := strings.Cut(values[name], " ") // "300 sec"
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil || n < 0 {
			return -1
		}
		return int(n)
	}
	s.maxArray, s.maxJobs = number("MaxArraySize"), number("MaxJobCount")
	age, timeout := number("MinJobAge"), number("MessageTimeout")
	if s.maxArray < 1 || s.maxJobs < 1 || age < 0 || timeout < 1 || values["AccountingStorageType"] == "" {
		return nil, fmt.Errorf("MaxArraySize, MaxJobCount, MinJobAge, MessageTimeout or AccountingStorageType is missing")
	}
	s.minJobAge, s.timeout = time.Duration(age)*time.Second, time.Duration(timeout)*time.Second
	s.accounting = values["AccountingStorageType"] == "accounting_storage/slurmdbd"
	for word := range strings.SplitSeq(values["AccountingStorageEnforce"], ",") {
		s.enforced = s.enforced || word == "limits" || word == "safe"
	}
	return s, nil
}

// sinfoFormat lists the columns that sinfo(1) prints: the partition, with a star if it is the default; its
// availability; the CPUs of a node; the memory in MB; the wall-time limit; the CPUs allocated/idle/other/total; the
// scratch space in MB; and the generic resources. With the option -e, nodes that differ have separate lines.
const sinfoFormat = "%P|%a|%c|%m|%l|%C|%d|%G"

// parseSinfo parses the output of sinfo in sinfoFormat. It returns the partitions by name, and the name of the default
// partition.
func parseSinfo(text string) (parts map[string]partition, first string, err error) {
	parts = map[string]partition{}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), "|", 8)
		if len(f) != 8 {
			return nil, "", fmt.Errorf("line %.200q", line)
		}
		name, isDefault := strings.CutSuffix(f[0], "*")
		if isDefault {
			first = name
		}
		var n [4]int
		for i, word := range strings.SplitN(f[5], "/", 4) {
			if n[i], err = strconv.Atoi(word); err != nil {
				return nil, "", fmt.Errorf("line %.200q: CPUs %q", line, f[5])
			}
		}
		p := parts[name]
		cores, memory, scratch := leadingNumber(f[2]), leadingNumber(f[3]), leadingNumber(f[6])
		p.maxCores, p.maxMemoryMB, p.maxScratchMB = max(p.maxCores, int(cores)), max(p.maxMemoryMB, memory),
			max(p.maxScratchMB, scratch)
		p.maxGPUs = max(p.maxGPUs, gpus(f[7]))
		p.maxWalltime = parseLimit(f[4])
		if f[1] == "up" {
			p.cpus += n[0] + n[1]
		}
		parts[name] = p
	}
	return parts, first, nil
}

// leadingNumber parses a number that may end with "+". It returns 0 for any other text.
func leadingNumber(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(s, "+"), 10, 48)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// gpus returns the number of GPUs in a list of generic resources such as "gpu:tesla:2(S:0-1),gpu:1,shard:4".
func gpus(gres string) int {
	total := 0
	for word := range strings.SplitSeq(gres, ",") {
		word, _, _ = strings.Cut(word, "(")
		f := strings.Split(word, ":")
		if f[0] != "gpu" {
			continue
		}
		if n, err := strconv.ParseUint(f[len(f)-1], 10, 16); err == nil {
			total += int(n)
		}
	}
	return total
}

// parseLimit parses a time limit of the form [DAYS-][[HOURS:]MINUTES:]SECONDS. It returns 0 for "infinite".
func parseLimit(s string) time.Duration {
	return time.Duration(parseCPU(s)) * time.Millisecond
}

// overLimits returns a problem for each field that no node of the queue can satisfy; it returns no problem for an
// unknown queue.
func (s *site) overLimits(r jjm.Request, queue string) jjm.Problems {
	p, known := s.partitions[cmp.Or(queue, s.defaultQueue)]
	if !known {
		return nil // sbatch decides: the queue may be new, or a list of queues
	}
	var ps jjm.Problems
	bad := func(field string, want, most any) {
		ps = append(ps, jjm.Problem{Field: "request." + field,
			Text: fmt.Sprintf("%v: partition %s has at most %v", want, cmp.Or(queue, s.defaultQueue), most)})
	}
	if p.maxCores > 0 && r.Cores > p.maxCores {
		bad("cores", r.Cores, p.maxCores)
	}
	if p.maxMemoryMB > 0 && r.MemoryMB > p.maxMemoryMB {
		bad("memory_mb", r.MemoryMB, p.maxMemoryMB)
	}
	if p.maxWalltime > 0 && r.Walltime.D() > p.maxWalltime {
		bad("walltime", r.Walltime, p.maxWalltime)
	}
	if r.GPUs > p.maxGPUs {
		bad("gpus", r.GPUs, p.maxGPUs)
	}
	if r.ScratchMB > p.maxScratchMB {
		bad("scratch_mb", r.ScratchMB, p.maxScratchMB)
	}
	return ps
}

// capabilities returns the capabilities of a site, or safe capabilities if s is nil because the controller has not
// answered yet.
func capabilities(s *site, c Config) adapters.Capabilities {
	out := adapters.Capabilities{
		MaxBulk: safeBulk, SharedFS: true, ExcludesHosts: true, Settle: safeSettle, Lag: lag,
		Guarantee: "not known: the controller has not been asked yet",
	}
	if s != nil {
		p := s.partitions[cmp.Or(c.Queue, s.defaultQueue)]
		out.MaxBulk, out.MaxQueued = min(s.maxArray, s.maxJobs), s.maxJobs
		if most := s.submit.all(); most > 0 {
			out.MaxBulk, out.MaxQueued = min(out.MaxBulk, most), min(out.MaxQueued, most)
		}
		out.Accounting, out.Guarantee = s.accounting, guarantee(s)
		out.Slots, out.MaxCores, out.MaxMemoryMB, out.MaxWalltime = p.cpus, p.maxCores, p.maxMemoryMB, p.maxWalltime
		// When a frozen controller continues, it accepts the requests that wait in its socket. These are at most as old as
		// the client's time-out. If Find runs at the same moment, it may miss such a job (once in twelve trials), so Settle
		// is twice the time-out.
		out.Settle = 2 * s.timeout
	}
	out.MaxBulk = c.Bulk(out.MaxBulk)
	return out
}

// guarantee returns a description of how strong the guarantee of exactly one submission is, and why.
func guarantee(s *site) string {
	if s.accounting {
		return "strong: slurmdbd"
	}
	return fmt.Sprintf("window %.0f s: MinJobAge, no accounting", s.minJobAge.Seconds())
}
