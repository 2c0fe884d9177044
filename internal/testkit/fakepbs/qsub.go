package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// The options of qsub; a colon follows those that take a value.
const (
	openOptions   = "a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:P:q:r:R:S:u:v:VW:Xz"
	torqueOptions = "a:A:b:c:C:d:D:e:EfF:hIj:k:K:l:m:M:nN:o:p:P:q:Q:r:S:t:T:u:v:Vw:W:Xxz"
)

// readsStdin reports whether options make qsub read a script from its standard input.
func readsStdin(args []string) bool {
	o := parse(args, openOptions+"t:w:d:D:")
	return o.bad == "" && (len(o.operands) == 0 || slices.Equal(o.operands, []string{"-"}))
}

// refusal says why a job is not created.
type refusal struct {
	code int
	text string
	help bool // the usage follows
}

func (r *refusal) response() response {
	text := "qsub: " + r.text + "\n"
	if r.code == errBadHost {
		text = "Unknown Host.\n" + text
	}
	if r.help {
		text += qsubUsage
	}
	return response{Exit: r.code & 0xFF, Stderr: []byte(text)}
}

func illegal(letter string) *refusal {
	return &refusal{code: 2, text: "illegal -" + letter + " value", help: true}
}

func refuse(code int) *refusal { return &refusal{code: code, text: texts[code]} }

// qsub creates a job.
func (c *complex) qsub(q request) response {
	known := openOptions
	if c.torque {
		known = torqueOptions
	}
	o := parse(q.Args, known)
	if o.bad != "" {
		return (&refusal{code: 2, text: "invalid option -- '" + o.bad + "'", help: true}).response()
	}
	script, name, no := c.scriptOf(q, o.operands)
	if no != nil {
		return no.response()
	}
	j := &job{
		owner: q.User, name: name, queue: "workq", rerunnable: true, cores: 1,
		dir: q.Dir, home: q.Env["HOME"], env: q.Env, args: strings.Join(q.Args, " "), script: script,
	}
	if no := c.apply(j, parse(directives(script), known), o); no != nil {
		return no.response()
	}
	if no := c.admit(j); no != nil {
		return no.response()
	}
	c.create(j)
	return response{Stdout: []byte(j.id() + "\n"), Die: c.fault("qsub-killed")}
}

// create gives the job its number and adds it.
func (c *complex) create(j *job) {
	now := time.Now()
	j.seq, j.ctime, j.qtime, j.mtime = c.next, now, now, now
	c.next++
	j.vars = variables(j)
	c.attend(j)
	for _, t := range j.tasks {
		t.state, t.substate, t.mtime = 'Q', 10, now
	}
	if !c.fault("lost-id") {
		c.jobs = append(c.jobs, j)
	}
}

func (c *complex) scriptOf(q request, rest []string) (script []byte, name string, no *refusal) {
	switch {
	case len(rest) == 0, rest[0] == "-":
		return q.Stdin, "STDIN", nil
	case rest[0] == "--":
		return []byte("#!/bin/sh\nexec " + strings.Join(rest[1:], " ") + "\n"), "STDIN", nil
	}
	path := rest[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(q.Dir, path)
	}
	script, err := os.ReadFile(path)
	if err != nil {
		return nil, "", &refusal{code: 1, text: "script file:: No such file or directory"}
	}
	return script, filepath.Base(path), nil
}

// directives returns the #PBS lines before the first line with a command.
func directives(script []byte) []string {
	var out []string
	for line := range bytes.Lines(script) {
		text := strings.TrimSpace(string(line))
		if rest, ok := strings.CutPrefix(text, "#PBS "); ok {
			out = append(out, strings.Fields(rest)...)
			continue
		}
		if text != "" && text[0] != '#' {
			break
		}
	}
	return out
}

// apply sets what the options say; those of the command line win over the script's.
func (c *complex) apply(j *job, inScript, given options) *refusal {
	if inScript.bad != "" {
		return &refusal{code: 2, text: "invalid option -- '" + inScript.bad + "'", help: true}
	}
	inScript.list = slices.DeleteFunc(inScript.list, func(o option) bool { return o.letter != "l" && given.has(o.letter) })
	for _, o := range slices.Concat(given.list, inScript.list) {
		if no := c.set(j, o); no != nil {
			return no
		}
	}
	if j.array && !j.rerunnable && !c.torque {
		return &refusal{code: 2, text: " cannot submit non-rerunable Array Job", help: true}
	}
	return nil
}

var jobName = regexp.MustCompile(`^[A-Za-z0-9_.+-]+$`)

func (c *complex) set(j *job, o option) *refusal {
	switch o.letter {
	case "N":
		if !jobName.MatchString(o.value) || c.torque && len(o.value) > 15 {
			return illegal("N")
		}
		if len(o.value) > 230 {
			return &refusal{code: 2, text: "Job name is too long "}
		}
		j.name = o.value
	case "J", "t":
		return c.setArray(j, o)
	case "h":
		j.holds = "u"
	case "q":
		return setQueue(j, o.value)
	case "A":
		j.account = o.value
	case "P":
		j.project = o.value
	case "r":
		j.rerunnable = o.value != "n"
	case "o":
		j.output = pathOption(o.value, j.dir)
	case "e":
		j.error = pathOption(o.value, j.dir)
	case "S":
		j.shell = o.value
	case "l":
		return c.setResources(j, o.value)
	case "v":
		j.vars = append(j.vars, userVariables(o.value, j.env)...)
	case "a":
		at, err := time.ParseInLocation("200601021504", o.value, time.Local)
		if err != nil {
			return illegal("a")
		}
		j.after = at
	case "W":
		return checkAttributes(o.value)
	}
	return nil
}

// pathOption returns a path as the server shows it. The host is "localhost" for a path that
// was given.
func pathOption(path, dir string) string {
	if strings.Contains(path, ":") {
		return path
	}
	if !filepath.IsAbs(path) {
		path = dir + "/" + path
	}
	return "localhost:" + path
}

func setQueue(j *job, value string) *refusal {
	queue, host, remote := strings.Cut(value, "@")
	if remote && host != server {
		name := host[:min(len(host), len(server))]
		return &refusal{code: errBadHost, text: "cannot connect to server " + name + " (errno=15008)"}
	}
	if queue != "" {
		j.queue = queue
	}
	return nil
}

func (c *complex) setArray(j *job, o option) *refusal {
	span, _, _ := strings.Cut(o.value, "%")
	list, many, err := indexList(span)
	if err != nil || len(list) == 0 || !c.torque && (!many || len(list) == 1 || strings.Contains(span, ",")) {
		return illegal(o.letter)
	}
	j.array, j.indices, j.tasks = true, span, nil
	for _, i := range list {
		j.tasks = append(j.tasks, &task{index: i})
	}
	return nil
}

// checkAttributes refuses all attributes of -W but group_list.
func checkAttributes(value string) *refusal {
	for item := range strings.SplitSeq(value, ",") {
		if name, _, _ := strings.Cut(item, "="); name != "group_list" {
			return &refusal{code: errNoAttribute, text: "Error (15002) submitting job"}
		}
	}
	return nil
}

// admit is the server's part: queue and limits.
func (c *complex) admit(j *job) *refusal {
	queue := c.queue[j.queue]
	switch {
	case queue == nil:
		return refuse(errUnknownQueue)
	case !queue.enabled:
		return refuse(errQueueOff)
	case queue.acl != "" && queue.acl != j.owner:
		return refuse(errPermission)
	case queue.maxWall > 0 && j.walltime > queue.maxWall:
		return refuse(errQueueLimits)
	case len(j.tasks) > c.maxArray:
		return refuse(errArraySize)
	}
	if j.tasks == nil {
		j.tasks = []*task{{}}
	}
	if most := queue.maxQueued; most > 0 && c.alive(j.owner, j.queue)+len(j.tasks) > most {
		return &refusal{code: errUserLimit, text: "would exceed queue generic's per-user limit"}
	}
	if c.maxQueued > 0 && c.alive(j.owner, "")+len(j.tasks) > c.maxQueued {
		return &refusal{code: errUserLimit, text: "would exceed complex's per-user limit"}
	}
	if queue.to != "" {
		j.queue = queue.to
	}
	c.defaultResources(j)
	return nil
}

// alive counts the jobs of a user that have not ended.
func (c *complex) alive(owner, queue string) int {
	n := 0
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
func variables(j *job) []pair {
	var out []pair
	for _, name := range []string{"HOME", "LANG", "LOGNAME", "PATH", "MAIL", "SHELL", "TZ"} {
		if v, ok := j.env[name]; ok {
			out = append(out, pair{"PBS_O_" + name, v})
		}
	}
	out = append(out, pair{"PBS_O_WORKDIR", j.dir}, pair{"PBS_O_SYSTEM", "Linux"})
	out = append(out, j.vars...)
	return append(out, pair{"PBS_O_QUEUE", j.queue}, pair{"PBS_O_HOST", server})
}

// userVariables parses the list of -v. Quotes are removed; backslashes are doubled twice.
func userVariables(list string, env map[string]string) []pair {
	var out []pair
	typed := strings.NewReplacer(`"`, "", "'", "", `\`, `\\\\`)
	for item := range strings.SplitSeq(list, ",") {
		name, value, given := strings.Cut(item, "=")
		if value = typed.Replace(value); !given {
			value = env[name]
		}
		out = append(out, pair{name, mangle(value)})
	}
	return out
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

// The forms of values of resources.
var (
	numberForm = regexp.MustCompile(`^\d+$`)
	sizeForm   = regexp.MustCompile(`^(\d+)([kmgt]?)[bw]?$`)
	timeForm   = regexp.MustCompile(`^\d+(:\d+){0,2}$`)
	anyForm    = regexp.MustCompile(``)
)

// known maps resources to the forms of their values.
var known = map[string]*regexp.Regexp{
	"mem": sizeForm, "ncpus": numberForm, "ngpus": numberForm, "nodect": numberForm, "nodes": anyForm, "place": anyForm,
	"qos": anyForm, "scratch": sizeForm, "select": anyForm, "walltime": timeForm,
}

func (c *complex) setResources(j *job, list string) *refusal {
	for item := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(item, "=")
		form, ok := known[name]
		switch {
		case !ok:
			return &refusal{code: errResource, text: "Unknown resource Resource_List." + name}
		case !form.MatchString(value):
			return &refusal{code: errBadValue, text: "Illegal attribute or resource value Resource_List." + name}
		case j.resource(name) != "":
			continue // the command line has set it
		}
		switch name {
		case "walltime":
			j.walltime = seconds(value)
			value = clock(time.Duration(j.walltime) * time.Second)
		case "mem":
			j.memory = size(value)
		case "ncpus":
			j.cores = number(value)
		}
		j.resources = append(j.resources, pair{name, value})
	}
	if j.resource("nodes") != "" && j.resource("select") != "" {
		return &refusal{code: errNodesSelect, text: "Cannot be used with select or place: nodes"}
	}
	return j.readChunk()
}

// readChunk takes cores and memory from select or nodes.
func (j *job) readChunk() *refusal {
	for _, from := range []string{"select", "nodes"} {
		for i, item := range strings.Split(j.resource(from), ":") {
			name, value, ok := strings.Cut(item, "=")
			if i == 0 || !ok {
				continue
			}
			if _, is := known[name]; !is && from == "select" {
				return &refusal{code: errResource, text: "Unknown resource: " + name}
			}
			switch name {
			case "ncpus", "ppn":
				j.cores = number(value)
			case "mem":
				j.memory = size(value)
			}
		}
	}
	return nil
}

// defaultResources adds what the server adds to every job.
func (c *complex) defaultResources(j *job) {
	if c.torque {
		return
	}
	defaults := map[string]string{"ncpus": strconv.Itoa(j.cores), "nodect": "1", "place": "pack",
		"select": fmt.Sprintf("1:ncpus=%d", j.cores)}
	if j.memory > 0 {
		defaults["mem"] = sizeText(j.memory)
	}
	var all []pair
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if value := cmp.Or(j.resource(name), defaults[name]); value != "" {
			all = append(all, pair{name, value})
		}
	}
	j.resources = all
}

func seconds(value string) int {
	n := 0
	for part := range strings.SplitSeq(value, ":") {
		n = n*60 + number(part)
	}
	return n
}

func size(value string) int64 {
	m := sizeForm.FindStringSubmatch(value)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	return n << (10 * max(0, strings.Index(" kmgt", m[2])))
}

func sizeText(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%dmb", n>>20)
	}
	return fmt.Sprintf("%dkb", n>>10)
}

// clock writes a duration as PBS does, "00:05:00".
func clock(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}
