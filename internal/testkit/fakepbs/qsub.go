package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const qsubUsage = `usage: qsub [-a date_time] [-A account_string] [-c interval]
	[-C directive_prefix] [-e path] [-f ] [-h ] [-I [-X]] [-j oe|eo] [-J X-Y[:Z]]
	[-k keep] [-l resource_list] [-m mail_options] [-M user_list]
	[-N jobname] [-o path] [-p priority] [-P project] [-q queue] [-r y|n]
	[-R o|e|oe] [-S path] [-u user_list] [-W otherattributes=value...]
	[-v variable_list] [-V ] [-z] [script | -- command [arg1 ...]]
       qsub --version
`

// qsubOptions are the options of qsub that fakepbs knows; a colon follows those that take a value.
const qsubOptions = "A:e:hJ:l:N:o:P:q:r:S:v:"

// notCreated is what qsub prints if it creates no job.
func notCreated(no *refusal) response {
	text := "qsub: " + no.text + "\n"
	if no.code == errBadHost {
		text = "Unknown Host.\n" + text
	}
	if no.help {
		text += qsubUsage
	}
	return response{Exit: no.exit(), Stderr: []byte(text)}
}

// errBadHost is the number of a server that has no address.
const errBadHost = 15008

func misused(text string) *refusal { return &refusal{code: 2, text: text, help: true} }

// qsub creates a job.
func (c *complex) qsub(q request) response {
	if c.fault("qsub-cut") {
		const cut = "qsub: End of File\nqsub: SIGPIPE received, job submission interrupted.: Success\n"
		return response{Exit: 1, Stderr: []byte(cut)}
	}
	j, no := jobFrom(q)
	if no == nil {
		no = c.admit(j)
	}
	if no != nil {
		return notCreated(no)
	}
	c.create(j)
	return response{Stdout: []byte(j.row().id() + "\n"), Die: c.fault("qsub-killed")}
}

// create gives the job its number and adds it.
func (c *complex) create(j *job) {
	j.seq, j.ctime, j.mtime = c.next, time.Now(), time.Now()
	c.next++
	j.vars = variables(j)
	c.attend(j)
	for _, t := range j.tasks {
		t.state, t.substate, t.mtime = 'Q', 10, j.ctime
	}
	if !c.fault("lost-id") {
		c.jobs = append(c.jobs, j)
	}
}

// jobFrom makes a job of a command: of its script's directives, and of its options, which win.
func jobFrom(q request) (*job, *refusal) {
	j := &job{
		owner: q.User, name: "STDIN", queue: "workq", rerunnable: true, dir: q.Dir, home: q.Env["HOME"], env: q.Env,
		args: strings.Join(q.Args, " "), script: q.Stdin, resources: map[string]string{}, limits: limits{cores: 1},
	}
	if file := scriptFile(q.Args); file != "" {
		path := j.path(file)
		script, err := os.ReadFile(path)
		if err != nil {
			return nil, &refusal{code: 1, text: "script file:: No such file or directory"}
		}
		j.script, j.name = script, filepath.Base(path)
	}
	o := parse(slices.Concat(directives(j.script), q.Args), qsubOptions)
	if o.bad != "" {
		return nil, misused("invalid option -- '" + o.bad + "'")
	}
	for _, x := range o.list {
		if no := j.set(x); no != nil {
			return nil, no
		}
	}
	if j.array && !j.rerunnable {
		return nil, misused(" cannot submit non-rerunable Array Job")
	}
	return j, nil
}

// scriptFile returns the file that has the script; "" if that is the standard input.
func scriptFile(args []string) string {
	operands := parse(args, qsubOptions).operands
	if len(operands) == 0 || operands[0] == "-" {
		return ""
	}
	return operands[0]
}

// directives returns the #PBS lines before the first line with a command.
func directives(script []byte) (words []string) {
	for line := range bytes.Lines(script) {
		text := strings.TrimSpace(string(line))
		rest, is := strings.CutPrefix(text, "#PBS ")
		switch {
		case is:
			words = append(words, strings.Fields(rest)...)
		case text != "" && text[0] != '#':
			return words
		}
	}
	return words
}

var jobName = regexp.MustCompile(`^[A-Za-z0-9_.+-]+$`)

// set sets what an option says.
func (j *job) set(o option) *refusal {
	switch o.letter {
	case "N":
		return j.setName(o.value)
	case "J":
		return j.setArray(o.value)
	case "h":
		j.holds = "u"
	case "q":
		return j.setQueue(o.value)
	case "A":
		j.account = o.value
	case "P":
		j.project = o.value
	case "r":
		j.rerunnable = o.value != "n"
	case "o":
		j.output = "localhost:" + j.path(o.value)
	case "e":
		j.error = "localhost:" + j.path(o.value)
	case "S":
		j.shell = o.value
	case "l":
		return j.setResources(o.value)
	case "v":
		j.vars = append(j.vars, userVariables(o.value, j.env)...)
	}
	return nil
}

// path returns a path that may be relative to the folder of qsub. A slash at its end stays.
func (j *job) path(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return j.dir + "/" + path
}

func (j *job) setName(name string) *refusal {
	switch {
	case !jobName.MatchString(name):
		return misused("illegal -N value")
	case len(name) > 230:
		return &refusal{code: 2, text: "Job name is too long "}
	}
	j.name = name
	return nil
}

func (j *job) setQueue(value string) *refusal {
	queue, host, remote := strings.Cut(value, "@")
	if remote && host != server {
		name := host[:min(len(host), len(server))]
		return &refusal{code: errBadHost, text: "cannot connect to server " + name + " (errno=15008)"}
	}
	j.queue = queue
	return nil
}

var arrayForm = regexp.MustCompile(`^(\d+)-(\d+)(?::(\d+))?$`)

func (j *job) setArray(span string) *refusal {
	m := arrayForm.FindStringSubmatch(span)
	if m == nil || number(m[1]) >= number(m[2]) {
		return misused("illegal -J value")
	}
	j.array, j.indices, j.tasks = true, span, nil
	for i := number(m[1]); i <= number(m[2]); i += max(1, number(m[3])) {
		j.tasks = append(j.tasks, &task{index: i})
	}
	return nil
}

// admit is the server's part: queue and limits.
func (c *complex) admit(j *job) *refusal {
	if !j.array {
		j.tasks = []*task{{}}
	}
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
	case queue.to != "":
		j.queue = queue.to
	}
	j.addDefaults()
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

// variables returns the job's Variable_List.
func variables(j *job) (all []pair) {
	for _, name := range []string{"HOME", "LANG", "LOGNAME", "PATH", "MAIL", "SHELL", "TZ"} {
		if v, ok := j.env[name]; ok {
			all = append(all, pair{"PBS_O_" + name, v})
		}
	}
	all = append(all, pair{"PBS_O_WORKDIR", j.dir}, pair{"PBS_O_SYSTEM", "Linux"})
	all = append(all, j.vars...)
	return append(all, pair{"PBS_O_QUEUE", j.queue}, pair{"PBS_O_HOST", server})
}

// userVariables parses the list of -v. Quotes are removed; backslashes are doubled twice.
func userVariables(list string, env map[string]string) (all []pair) {
	typed := strings.NewReplacer(`"`, "", "'", "", `\`, `\\\\`)
	for item := range strings.SplitSeq(list, ",") {
		name, value, given := strings.Cut(item, "=")
		if value = typed.Replace(value); !given {
			value = env[name]
		}
		all = append(all, pair{name, mangle(value)})
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
