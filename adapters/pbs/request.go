package pbs

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// word matches the names of queues, accounts and projects. It excludes commas, colons, quotes, @ and backslashes, which
// have special meanings in PBS; some of them also make the JSON that PBS prints invalid.
var word = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+/-]{0,63}$`)

// chunkText matches a list of resources for a chunk.
var chunkText = regexp.MustCompile(`^([A-Za-z0-9_]+(=[A-Za-z0-9_.+-]+)?(:[A-Za-z0-9_]+(=[A-Za-z0-9_.+-]+)?)*)?$`)

// checkWord returns an error if s is neither a word nor "".
func checkWord(s string) error {
	if s == "" || word.MatchString(s) {
		return nil
	}
	return fmt.Errorf("%.80q: want a word of letters, digits and _ . + / -", s)
}

// checkDirective returns an error if a line must not be added to the options of qsub.
func checkDirective(line string) error {
	_, err := directive(line)
	return err
}

// Check returns an error of kind Invalid if this cluster cannot express a field of the request.
func (a *Adapter) Check(r jjm.Request) error {
	a.mu.Lock()
	d, l := a.dialect, a.limits
	a.mu.Unlock()
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: "request." + field, Text: fmt.Sprintf(format, args...)})
	}
	for field, text := range map[string]string{"queue": r.Queue, "account": r.Account, "project": r.Project,
		"qos": r.QOS} {
		if err := checkWord(text); err != nil {
			bad(field, "%v", err)
		}
	}
	if r.QOS != "" && a.config.QOSResource == "" {
		bad("qos", "%q: cluster %s has no resource for a quality of service (qos_resource)", r.QOS, a.name)
	}
	if r.Project != "" && d == torque {
		bad("project", "%q: Torque has no projects; use account", r.Project)
	}
	if r.ScratchMB > 0 && a.config.Scratch == "" {
		bad("scratch_mb", "%d: cluster %s has no resource for disk space (scratch)", r.ScratchMB, a.name)
	}
	if l.cores > 0 && r.Cores > l.cores {
		bad("cores", "%d: the largest node of cluster %s has %d, and PBS would let the job wait for ever", r.Cores, a.name,
			l.cores)
	}
	if l.memoryMB > 0 && r.MemoryMB > l.memoryMB {
		bad("memory_mb", "%d: the largest node of cluster %s has %d", r.MemoryMB, a.name, l.memoryMB)
	}
	if q, known := l.queues[cmp.Or(a.config.Fill(r).Queue, l.defaultQueue)]; known && q.walltime > 0 &&
		time.Duration(r.Walltime) > q.walltime {
		bad("walltime", "%v: the queue allows %v", r.Walltime, jjm.Duration(q.walltime))
	}
	return append(ps, a.config.CheckDirectives(a.name, r, checkJobDirective)...).Err()
}

// requestArgs returns the options of qsub for a request.
func requestArgs(r jjm.Request, c Config, d dialect) []string {
	r = c.Fill(r)
	var args []string
	option := func(letter, value string) {
		if value != "" {
			args = append(args, letter, value)
		}
	}
	option("-q", r.Queue)
	option("-A", r.Account)
	if d != torque {
		option("-P", r.Project)
	}
	for _, l := range resources(r, c, d) {
		args = append(args, "-l", l)
	}
	if r.QOS != "" {
		args = append(args, "-l", c.QOSResource+"="+r.QOS)
	}
	return args
}

// resources returns the values of -l. In OpenPBS, all resources of one job are one chunk, on one host. The unit mb of
// PBS is a MiB.
func resources(r jjm.Request, c Config, d dialect) []string {
	var out []string
	chunk := func(name string, n int64, unit string) string {
		if n <= 0 || name == "" {
			return ""
		}
		return ":" + name + "=" + strconv.FormatInt(n, 10) + unit
	}
	extra := ""
	if c.Chunk != "" {
		extra = ":" + c.Chunk
	}
	if d == torque {
		node := "nodes=1" + chunk("ppn", int64(r.Cores), "") + chunk("gpus", int64(r.GPUs), "") + extra
		if node != "nodes=1" {
			out = append(out, node)
		}
		for _, s := range []string{chunk("mem", r.MemoryMB, "mb"), chunk(c.Scratch, r.ScratchMB, "mb")} {
			if s != "" {
				out = append(out, s[1:])
			}
		}
	} else if s := chunk("mem", r.MemoryMB, "mb") + chunk("ngpus", int64(r.GPUs), "") +
		chunk(c.Scratch, r.ScratchMB, "mb") + extra; s != "" || r.Cores > 0 {
		out = append(out, "select=1"+chunk("ncpus", int64(max(r.Cores, 1)), "")+s)
	}
	if w := time.Duration(r.Walltime); w > 0 {
		// PBS takes whole seconds. They are rounded up, because 0 would allow no time at all.
		out = append(out, "walltime="+strconv.FormatInt(int64((w+time.Second-1)/time.Second), 10))
	}
	return out
}

// directive splits one option of qsub, with or without "#PBS" in front, into the option and its value. It returns an
// error for an option that jjm sets itself.
func directive(line string) ([]string, error) {
	text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#PBS"))
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r > 0x7e }) {
		return nil, fmt.Errorf("%.80q: want plain text", line)
	}
	if len(text) < 2 || text[0] != '-' {
		return nil, fmt.Errorf("%.80q: want an option of qsub such as -l place=excl", line)
	}
	option, value := text[:2], strings.TrimSpace(text[2:])
	if why, owned := ownedOptions[option]; owned {
		return nil, fmt.Errorf("%s %.80q: %s", option, value, why)
	}
	if !strings.Contains(" -l -W -p -m -M -c ", " "+option+" ") {
		return nil, fmt.Errorf("%s %.80q: want one of the options -l -W -p -m -M -c", option, value)
	}
	if value == "" || strings.ContainsAny(value, `"'\ `) {
		return nil, fmt.Errorf("%s %.80q: want one value without blanks, quotes and backslashes", option, value)
	}
	if option == "-M" {
		if err := adapters.CheckMail(value); err != nil {
			return nil, fmt.Errorf("-M %w", err)
		}
	}
	return []string{option, value}, checkValue(option, value)
}

// jobAttributes are the attributes that a job file may set with -W. Other attributes are refused there, because some
// name accounts (User_List), files of the submit host (stagein) or programs. The site's own settings may set all
// attributes except ownedValues.
var jobAttributes = []string{"group_list", "no_stdio_sockets", "release_nodes_on_stageout", "tolerate_node_failures"}

// checkJobDirective returns an error if a job file may not contain the option.
func checkJobDirective(line string) error {
	args, err := directive(line)
	if err != nil || args[0] != "-W" {
		return err
	}
	for item := range strings.SplitSeq(args[1], ",") {
		if name, _, _ := strings.Cut(item, "="); !slices.Contains(jobAttributes, name) {
			return fmt.Errorf(
				"-W %.80q: a job file may set %s only: ask the administrators to set it in the cluster's directives or its hook",
				name, strings.Join(jobAttributes, ", "))
		}
	}
	return nil
}

const byJJM = "set by jjm: leave it out"

// ownedOptions are options that a directive must not contain, and why.
var ownedOptions = map[string]string{
	"-N": byJJM, "-J": byJJM, "-t": byJJM, "-o": byJJM, "-e": byJJM, "-j": byJJM, "-k": byJJM, "-R": byJJM,
	"-h": byJJM, "-r": byJJM, "-S": byJJM, "-C": byJJM, "-d": byJJM, "-D": byJJM, "-w": byJJM, "-v": byJJM,
	"-V": byJJM, "-x": byJJM, "-f": byJJM, "-F": byJJM, "-a": byJJM, "-u": byJJM, "-T": byJJM, "-K": byJJM,
	"-I": "a job of jjm is not interactive", "-X": "a job of jjm is not interactive", "-z": "jjm needs the id",
	"--": byJJM, "-q": "use request.queue", "-A": "use request.account", "-P": "use request.project",
}

// ownedValues are the resources and attributes that a directive must not set, and why.
var ownedValues = map[string]string{
	"select": "use request.cores, memory_mb and gpus, or the cluster's chunk",
	"nodes":  "use request.cores, or the cluster's chunk",
	"ncpus":  "use request.cores", "mem": "use request.memory_mb", "walltime": "use request.walltime",
	"ngpus":    "use request.gpus",
	"prologue": "runs a program outside of the job", "epilogue": "runs a program outside of the job", "User_List": byJJM,
	"Shell_Path_List": byJJM,
	"Variable_List":   byJJM, "Join_Path": byJJM, "Keep_Files": byJJM, "Hold_Types": byJJM, "Rerunable": byJJM,
	"Job_Name": byJJM,
	"block":    byJJM, "sandbox": byJJM, "stagein": byJJM, "stageout": byJJM, "interactive": byJJM,
	"depend":    "jjm orders its jobs itself",
	"run_count": byJJM, "umask": byJJM, "Output_Path": byJJM, "Error_Path": byJJM,
}

// isOwnedValue returns why a directive must not set the resource or attribute. owned is false if a directive may set
// it. Upper and lower case do not matter.
func isOwnedValue(name string) (why string, owned bool) {
	for known, why := range ownedValues {
		if strings.EqualFold(known, name) {
			return why, true
		}
	}
	return "", false
}

// checkValue returns an error if the value of -l or -W sets one of ownedValues.
func checkValue(option, value string) error {
	if option != "-l" && option != "-W" {
		return nil
	}
	for item := range strings.SplitSeq(value, ",") {
		name, _, _ := strings.Cut(item, "=")
		if why, owned := isOwnedValue(name); owned {
			return fmt.Errorf("%s %s: %s", option, name, why)
		}
	}
	return nil
}

// directives parses a text with one option on each line.
func directives(text string) ([]string, error) {
	var args []string
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		more, err := directive(line)
		if err != nil {
			return nil, err
		}
		args = append(args, more...)
	}
	return args, nil
}
