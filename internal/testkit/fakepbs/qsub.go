package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// limits are what a job may use.
type limits struct {
	cores    int
	walltime int   // seconds; 0 for none
	memory   int64 // bytes; 0 for none
}

// read takes what a resource limits; select has those of its only chunk.
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

// qsub creates a job of the script on standard input.
func (c *complex) qsub(q request, o options) response {
	if c.fault("qsub-cut") {
		const cut = "qsub: End of File\nqsub: SIGPIPE received, job submission interrupted.: Success\n"
		return response{Exit: 1, Stderr: []byte(cut)}
	}
	j, no := jobFrom(q, o)
	if no == nil {
		no = c.admit(j)
	}
	if no != nil {
		return response{Exit: no.exit(), Stderr: []byte("qsub: " + no.text + "\n")}
	}
	if err := c.create(j, q.Stdin); err != nil {
		return response{Exit: 1, Stderr: fmt.Appendf(nil, "fakepbs: %v\n", err)}
	}
	return response{Stdout: []byte(j.row().id() + "\n")}
}

// create gives the job its number and adds it.
func (c *complex) create(j *job, script []byte) error {
	j.seq, j.ctime, j.mtime = c.next, time.Now(), time.Now()
	c.next++
	c.attend(j)
	for _, t := range j.tasks {
		t.state, t.substate, t.mtime = 'Q', 10, j.ctime
	}
	if c.fault("lost-id") {
		return nil
	}
	c.jobs = append(c.jobs, j)
	return os.WriteFile(c.scriptPath(j), script, 0o600)
}

// jobFrom makes a job of a command.
func jobFrom(q request, o options) (*job, *refusal) {
	j := &job{
		owner: q.User, name: "STDIN", queue: "workq", shell: "/bin/bash", rerunnable: o.value("r") != "n", home: q.Home,
		args: strings.Join(q.Args, " "), limits: limits{cores: 1}, tasks: []*task{{}},
		silent: o.value("o") == os.DevNull && o.value("e") == os.DevNull,
	}
	for letter, field := range map[string]*string{"N": &j.name, "q": &j.queue, "S": &j.shell} {
		if o.has(letter) {
			*field = o.value(letter)
		}
	}
	if o.has("h") {
		j.holds = "u"
	}
	for _, resource := range o.values["l"] {
		j.limits.read(resource)
	}
	j.vars = variables(q.Home, o.values["v"])
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

// setArray makes the job an array. It returns false if there are not at least two elements.
func (j *job) setArray(span string) bool {
	left, right, _ := strings.Cut(span, "-")
	first, last := number(left), number(right)
	if first >= last {
		return false
	}
	j.array, j.indices, j.tasks = true, span, nil
	for i := first; i <= last; i++ {
		j.tasks = append(j.tasks, &task{index: i})
	}
	return true
}

// admit is the server's part: queue and limits.
func (c *complex) admit(j *job) *refusal {
	queue := c.queue[j.queue]
	switch {
	case queue == nil:
		return errUnknownQueue
	case queue.disabled:
		return errQueueOff
	case queue.acl != "" && queue.acl != j.owner:
		return errPermission
	case queue.maxWall > 0 && j.limits.walltime > queue.maxWall:
		return errQueueLimits
	case len(j.tasks) > c.maxArray:
		return errArraySize
	case queue.maxQueued > 0 && c.alive(j.owner, j.queue)+len(j.tasks) > queue.maxQueued:
		return errQueueUser
	case c.maxQueued > 0 && c.alive(j.owner, "")+len(j.tasks) > c.maxQueued:
		return errServerUser
	}
	return nil
}

// alive counts the jobs of a user, in a queue or in all, that have not ended.
func (c *complex) alive(owner, queue string) (n int) {
	for _, j := range c.jobs {
		if j.owner != owner || queue != "" && j.queue != queue {
			continue
		}
		for _, t := range j.tasks {
			if !t.over() {
				n++
			}
		}
	}
	return n
}

// variables returns the job's Variable_List: the first of those that PBS sets, and the values of
// -v. Quotes are removed from these; backslashes are doubled twice.
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

// mangle writes control characters and everything that is not ASCII as ^ and the byte plus
// 64, as the recorded version does.
func mangle(s string) string {
	var b strings.Builder
	for _, ch := range []byte(s) {
		if ch < ' ' && ch != '\n' && ch != '\t' || ch > 0x7f {
			b.WriteByte('^')
			ch += 64
		}
		b.WriteByte(ch)
	}
	return b.String()
}
