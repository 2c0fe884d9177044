package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// requestOptions returns the options of sbatch(1) for a request.
func requestOptions(r jjm.Request, c Config) []string {
	r = c.Fill(r)
	var opts []string
	add := func(name, value string) {
		if value != "" {
			opts = append(opts, "--"+name+"="+value)
		}
	}
	number := func(n int64, unit string) string {
		if n <= 0 {
			return ""
		}
		return strconv.FormatInt(n, 10) + unit
	}
	add("partition", r.Queue)
	add("account", r.Account)
	add("wckey", r.Project)
	add("qos", r.QOS)
	add("cpus-per-task", number(int64(r.Cores), ""))
	add("mem", number(r.MemoryMB, "M"))
	add("tmp", number(r.ScratchMB, "M"))
	if r.GPUs > 0 {
		add("gres", "gpu:"+strconv.Itoa(r.GPUs)) // older than --gpus, and has the same effect on one node
	}
	if r.Walltime > 0 {
		add("time", clock(r.Walltime.D()))
	}
	return opts
}

// clock returns a limit in the form DAYS-HH:MM:SS for sbatch. Slurm rounds it up to minutes.
func clock(d time.Duration) string {
	s := int64((d + time.Second - 1) / time.Second)
	return fmt.Sprintf("%d-%02d:%02d:%02d", s/86400, s/3600%24, s/60%60, s%60)
}

// ownOptions returns the options that jjm sets. They come last on the command line, because sbatch uses the last value
// of an option.
func ownOptions(b adapters.Bulk) []string {
	return []string{
		"--array=0-" + strconv.Itoa(b.N-1), "--job-name=" + string(b.Tag), "--no-requeue",
		// The script redirects its output itself, because a job whose output file cannot be
		// opened fails without a message.
		"--output=/dev/null", "--error=/dev/null", "--input=/dev/null",
		// If the folder of a job does not exist, Slurm runs the job in /tmp and reports success. Therefore the option is
		// always "/", and the script changes into the job's folder itself.
		"--chdir=/",
	}
}

// sbatchArgs returns the command line for a bulk. Its parts are, in this order: one process on one node, the options
// for the request, the options of the job, the options of the site and its hook (extra), the excluded hosts, and jjm's
// own options. A later option replaces an earlier one.
func sbatchArgs(b adapters.Bulk, c Config, extra []string) ([]string, error) {
	args := append([]string{"sbatch", "--parsable", "--nodes=1", "--ntasks=1"}, requestOptions(b.Request, c)...)
	for line := range strings.Lines(b.Request.Directives) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		opt, err := jobDirective(line)
		if err != nil {
			return nil, jjm.Errorf(jjm.Invalid, "request.directives: %w", err)
		}
		args = append(args, opt)
	}
	for _, line := range append(append([]string{}, c.Directives...), extra...) {
		opt, err := directive(line)
		if err != nil {
			return nil, err
		}
		args = append(args, opt)
	}
	more, err := excludeOptions(args, b.Exclude)
	if err != nil {
		return nil, err
	}
	return append(append(args, more...), ownOptions(b)...), nil
}

// excludeOptions returns the option that keeps a job off hosts, for a command line with the options args. sbatch uses
// only the last --exclude, so the returned option also names the nodes of the last --exclude in args. If that option
// names a file, to which jjm cannot add hosts, the error is of kind Busy.
func excludeOptions(args, hosts []string) ([]string, error) {
	if len(hosts) == 0 {
		return nil, nil
	}
	all := strings.Join(hosts, ",")
	for _, word := range slices.Backward(args) {
		given, isExclude := excludedBy(word)
		switch {
		case !isExclude || given == "":
			continue
		case strings.Contains(given, "/"):
			return nil, adapters.NotStarted(jjm.Errorf(jjm.Busy, "option %.100q names a file, to which the excluded hosts %s "+
				"cannot be added: name the nodes in the option itself", word, all))
		}
		return []string{"--exclude=" + given + "," + all}, nil
	}
	return []string{"--exclude=" + all}, nil
}

// excludedBy returns the nodes that an option excludes, in the forms that directive returns. sbatch accepts every
// unique prefix of a long name.
func excludedBy(word string) (nodes string, isExclude bool) {
	if nodes, isExclude = strings.CutPrefix(word, "-x"); isExclude {
		return nodes, true
	}
	name, nodes, _ := strings.Cut(word, "=")
	return nodes, name == "--exclude" || name == "--exclud"
}

// reserved returns the names of options that nobody else may set: the options that jjm sets, and options with which
// sbatch would do anything else than submit one array.
func reserved() []string {
	return []string{
		"array", "chdir", "clusters", "error", "export", "export-file", "gid", "help", "hold", "ignore-pbs", "input",
		"job-name", "no-requeue", "open-mode", "output", "parsable", "quiet", "requeue", "test-only", "uid", "usage",
		"version", "wait", "workdir", "wrap",
	}
}

// reservedShort are the short forms of reserved options. bareShort are the short options without a value: text after
// such an option in the same word is rejected, because sbatch would read that text as further options.
const (
	reservedShort = "aDehHiJMoQuVW"
	bareShort     = "kOsv"
)

// directive checks one option, such as "--constraint=avx2", "--constraint avx2" or "-C
// avx2", with or without "#SBATCH" in front, and returns it as one word.
func directive(line string) (string, error) {
	word := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#SBATCH"))
	bad := func(format string, args ...any) (string, error) {
		return "", jjm.Errorf(jjm.Invalid, "option %.100q: "+format, append([]any{line}, args...)...)
	}
	if strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return bad("it contains a control character")
	}
	if long, isLong := strings.CutPrefix(word, "--"); isLong {
		name, value, has := cutOption(long)
		if name == "" {
			return bad("want --NAME=VALUE")
		}
		// sbatch accepts every unique prefix of a name.
		for _, own := range reserved() {
			if strings.HasPrefix(own, name) {
				return bad("--%s belongs to jjm: leave it out", own)
			}
		}
		if !has {
			return "--" + name, nil
		}
		return "--" + name + "=" + value, nil
	}
	if len(word) < 2 || word[0] != '-' {
		return bad("want --NAME=VALUE or -X VALUE, one option a line")
	}
	letter, value := word[1:2], strings.TrimSpace(word[2:])
	switch {
	case strings.Contains(reservedShort, letter):
		return bad("-%s belongs to jjm: leave it out", letter)
	case strings.Contains(bareShort, letter) && value != "":
		return bad("-%s has no value", letter)
	}
	return "-" + letter + value, nil
}

// cutOption splits "name=value" or "name value".
func cutOption(s string) (name, value string, has bool) {
	i := strings.IndexAny(s, "= \t")
	if i < 0 {
		return s, "", false
	}
	return s[:i], strings.TrimSpace(s[i+1:]), true
}

// jobOptions returns the options of sbatch(1) that a job file may add. A site's own settings and its hook may add all
// options except the reserved ones. The remaining options are unsafe in a job file: they read or write files of the
// submit host (--bbf, --nodefile, --export-file), run a login shell there (--get-user-env), are for other accounts or
// administrators (--uid, --reboot), or belong to plug-ins of the site, which jjm does not know.
func jobOptions() []string {
	return []string{
		"account", "acctg-freq", "batch", "bb", "begin", "comment", "constraint", "contiguous", "core-spec",
		"cores-per-socket",
		"cpu-freq", "cpus-per-gpu", "cpus-per-task", "deadline", "delay-boot", "dependency", "distribution", "exclude",
		"exclusive",
		"extra-node-info", "gpu-bind", "gpu-freq", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres",
		"gres-flags",
		"hint", "kill-on-invalid-dep", "licenses", "mail-type", "mail-user", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu",
		"mincpus",
		"network", "nice", "no-kill", "nodelist", "nodes", "ntasks", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node",
		"ntasks-per-socket", "overcommit", "oversubscribe", "partition", "power", "prefer", "priority", "profile", "qos",
		"reservation", "share", "signal", "sockets-per-node", "spread-job", "switches", "thread-spec", "threads-per-core",
		"time",
		"time-min", "tmp", "tres-per-task", "use-min-nodes", "wait-all-nodes", "wckey",
	}
}

// jobShort are the short forms of jobOptions. -F, which names a file of nodes, is not among them.
const jobShort = "AbBcCdGkLmnNOpqsStwx"

// jobDirective checks an option of a job file and returns it as one word. Unlike directive, it rejects options that are
// not in jobOptions, and values with which sbatch would read a file or send unsafe mail.
func jobDirective(line string) (string, error) {
	word, err := directive(line)
	if err != nil {
		return "", err
	}
	bad := func(format string, args ...any) (string, error) {
		return "", jjm.Errorf(jjm.Invalid, "option %.100q: "+format, append([]any{line}, args...)...)
	}
	long, isLong := strings.CutPrefix(word, "--")
	name, value, _ := strings.Cut(long, "=")
	if !isLong {
		name, value = word[1:2], word[2:]
	}
	switch {
	case isLong && !slices.Contains(jobOptions(), name), !isLong && !strings.Contains(jobShort, name):
		return bad(
			"a job file may not add it%s: ask the administrators to set it in the cluster's directives or its hook",
			adapters.Meant(name, jobOptions()))
	case slices.Contains([]string{"nodelist", "exclude", "w", "x"}, name) && strings.Contains(value, "/"):
		return bad("want names of nodes: sbatch would read a file on the submit host")
	case name == "mail-user":
		if err := adapters.CheckMail(value); err != nil {
			return bad("%w", err)
		}
	}
	return word, nil
}
