package main

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// limits are the limits of a job's resources.
type limits struct {
	cores    int
	walltime int   // seconds; 0 for none
	memory   int64 // bytes; 0 for none
}

// read sets the limit of a resource. For select it sets the limits in the only chunk.
func (l *limits) read(resource string) {
	switch name, value, _ := strings.Cut(resource, "="); name {
	case "walltime":
		l.walltime = 0
		for part := range strings.SplitSeq(value, ":") {
			l.walltime = l.walltime*60 + number(part)
		}
	case "mem":
		l.memory = int64(number(strings.TrimSuffix(value, "mb"))) << 20
	case "ncpus":
		l.cores = number(value)
	case "select":
		for item := range strings.SplitSeq(value, ":") {
			l.read(item)
		}
	}
}

func (c *complex) qsub(q Request, o options) Response {
	j, no := jobFrom(q, o)
	switch {
	case c.fault("qsub-cut"):
		no = &refusal{1, "End of File\nqsub: SIGPIPE received, job submission interrupted.: Success"}
	case no == nil:
		no = c.admit(j)
	}
	if no == nil {
		no = c.create(j, q.Stdin)
	}
	if no != nil {
		return Response{Exit: no.code & 0xFF, Stderr: []byte("qsub: " + no.text + "\n")}
	}
	return Response{Stdout: []byte(j.row().id() + "\n")}
}

func (c *complex) create(j *job, script []byte) *refusal {
	j.seq, j.ctime, j.mtime = c.next, time.Now(), time.Now()
	c.next++
	j.attend()
	for _, t := range j.tasks {
		t.state, t.substate, t.mtime = 'Q', 10, j.ctime
	}
	if c.fault("lost-id") {
		return nil
	}
	c.jobs = append(c.jobs, j)
	if err := os.WriteFile(c.scriptPath(j), script, 0o600); err != nil {
		return &refusal{1, err.Error()}
	}
	return nil
}

func jobFrom(q Request, o options) (*job, *refusal) {
	j := &job{
		name: cmp.Or(o.value("N"), "STDIN"), owner: q.User, queue: cmp.Or(o.value("q"), "workq"),
		shell: cmp.Or(o.value("S"), "/bin/bash"), home: q.Home, vars: variables(q.Home, o.values["v"]),
		args: strings.Join(q.Args, " "), holds: only(o.has("h"), "u"), rerunnable: o.value("r") != "n",
		silent: o.value("o") == os.DevNull && o.value("e") == os.DevNull,
		limits: limits{cores: 1}, tasks: []*task{{}},
	}
	for _, resource := range o.values["l"] {
		j.limits.read(resource)
	}
	switch {
	case len(o.operands) > 0 && o.operands[0].text != "-":
		return nil, &refusal{1, "fakepbs reads scripts from standard input only"}
	case o.has("J") && !j.setArray(o.value("J")):
		return nil, &refusal{2, "illegal -J value"}
	case j.array && !j.rerunnable:
		return nil, &refusal{2, " cannot submit non-rerunable Array Job"}
	}
	return j, nil
}

// setArray changes the job to an array. It returns false if the array would have fewer than two elements.
func (j *job) setArray(span string) bool {
	var first, last int
	if _, err := fmt.Sscanf(span, "%d-%d", &first, &last); err != nil || first >= last {
		return false
	}
	j.array, j.indices, j.tasks = true, span, nil
	for i := first; i <= last; i++ {
		j.tasks = append(j.tasks, &task{index: i})
	}
	return true
}

// admit checks a job in the same way as the server of PBS: its queue and the limits.
func (c *complex) admit(j *job) *refusal {
	inQueue, inAll := len(j.tasks), len(j.tasks) // numbers of live tasks of the user, including the new tasks
	for _, other := range c.jobs {
		for _, t := range other.tasks {
			if other.owner == j.owner && !t.over() {
				inAll++
				if other.queue == j.queue {
					inQueue++
				}
			}
		}
	}
	queue := c.queue[j.queue]
	switch {
	case queue == nil:
		return &refusal{15018, "Unknown queue"}
	case queue.disabled:
		return &refusal{15021, "Queue is not enabled"}
	case queue.acl != "" && queue.acl != j.owner:
		return errPermission
	case queue.maxWall > 0 && j.limits.walltime > queue.maxWall:
		return &refusal{15036, "Job violates queue and/or server resource limits"}
	case len(j.tasks) > c.maxArray:
		return &refusal{15107, "Array job exceeds server or queue size limit"}
	case queue.maxQueued > 0 && inQueue > queue.maxQueued:
		return &refusal{15142, "would exceed queue generic's per-user limit"}
	case c.maxQueued > 0 && inAll > c.maxQueued:
		return &refusal{15142, "would exceed complex's per-user limit"}
	}
	return nil
}

// variables returns the job's Variable_List: PBS_O_HOME, which PBS itself sets first, and the variables of -v. As in
// PBS, the values of -v lose their quotes, and each backslash in them is doubled twice.
func variables(home string, lists []string) []pair {
	all := []pair{{"PBS_O_HOME", home}}
	typed := strings.NewReplacer(`"`, "", "'", "", `\`, `\\\\`)
	for _, list := range lists {
		for item := range strings.SplitSeq(list, ",") {
			name, value, _ := strings.Cut(item, "=")
			all = append(all, pair{name, mangle(typed.Replace(value))})
		}
	}
	return all
}

// mangle replaces each control character and each byte that is not ASCII by ^ and the byte plus 64, like the recorded
// version of PBS.
func mangle(s string) string {
	return strange.ReplaceAllStringFunc(s, func(s string) (out string) {
		for _, ch := range []byte(s) {
			out += "^" + string([]byte{ch + 64})
		}
		return out
	})
}

var strange = regexp.MustCompile(`[^\t\n -\x7f]`)
