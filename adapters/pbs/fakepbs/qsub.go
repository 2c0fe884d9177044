package main

import (
	"bytes"
	"fmt"
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
	o, rest, bad := getopt(args, openOptions+"t:w:d:D:")
	return bad == "" && o != nil && (len(rest) == 0 || slices.Equal(rest, []string{"-"}))
}

type option struct{ letter, value string }

// getopt parses options as getopt(3) does. rest are the operands; with "--" the first of
// them is "--". bad is the letter of an unknown option.
func getopt(args []string, known string) (opts []option, rest []string, bad string) {
	opts = []option{}
	for len(args) > 0 {
		a := args[0]
		if a == "--" || len(a) < 2 || a[0] != '-' {
			return opts, args, ""
		}
		args = args[1:]
		for i := 1; i < len(a); i++ {
			letter := a[i : i+1]
			at := strings.Index(known, letter)
			if at < 0 || letter == ":" {
				return nil, nil, letter
			}
			if at+1 == len(known) || known[at+1] != ':' {
				opts = append(opts, option{letter, ""})
				continue
			}
			value := a[i+1:]
			if value == "" {
				if len(args) == 0 {
					return nil, nil, letter
				}
				value, args = args[0], args[1:]
			}
			opts = append(opts, option{letter, value})
			break
		}
	}
	return opts, nil, ""
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
	opts, rest, bad := getopt(q.Args, known)
	if bad != "" {
		return (&refusal{code: 2, text: "invalid option -- '" + bad + "'", help: true}).response()
	}
	script, name, no := c.scriptOf(q, rest)
	if no != nil {
		return no.response()
	}
	j := &job{
		owner: q.User, name: name, queue: "workq", rerunnable: true, join: "n", keep: "n", cores: 1,
		dir: q.Dir, home: q.Env["HOME"], env: q.Env, args: strings.Join(q.Args, " "), script: script,
	}
	if no := c.apply(j, directives(script), opts, known); no != nil {
		return no.response()
	}
	if no := c.admit(j); no != nil {
		return no.response()
	}
	if c.fault("qsub-cut") {
		return response{Exit: 1, Stderr: []byte(
			"qsub: End of File\nqsub: SIGPIPE received, job submission interrupted.: Success\n")}
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
func (c *complex) apply(j *job, inScript []string, opts []option, known string) *refusal {
	more, _, bad := getopt(inScript, known)
	if bad != "" {
		return &refusal{code: 2, text: "invalid option -- '" + bad + "'", help: true}
	}
	given := map[string]bool{}
	for _, o := range opts {
		given[o.letter] = true
		if no := c.set(j, o); no != nil {
			return no
		}
	}
	for _, o := range more {
		if given[o.letter] && o.letter != "l" {
			continue
		}
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
	case "j":
		j.join = o.value
	case "k":
		j.keep = o.value
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
		return j.setAttribute(o.value)
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
		path = strings.TrimSuffix(filepath.Join(dir, path), "/") + strings.Repeat("/", strings.Count(path[len(path)-1:], "/"))
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

func (j *job) setAttribute(value string) *refusal {
	for kv := range strings.SplitSeq(value, ",") {
		switch name, v, _ := strings.Cut(kv, "="); name {
		case "umask":
			j.umask = v
		case "depend", "group_list", "block", "stagein", "stageout", "sandbox", "x":
		default:
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

// userVariables parses the list of -v. Quotes protect commas and are removed; backslashes
// are doubled twice.
func userVariables(list string, env map[string]string) []pair {
	var out []pair
	var quote rune
	item := strings.Builder{}
	add := func() {
		name, value, given := strings.Cut(item.String(), "=")
		if !given {
			value = env[name]
		}
		out = append(out, pair{name, value})
		item.Reset()
	}
	for _, r := range list {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && r == ',':
			add()
		case r == '\\':
			item.WriteString(`\\\\`)
		default:
			item.WriteRune(r)
		}
	}
	add()
	for i := range out {
		out[i].value = mangle(out[i].value)
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

// known maps resources to the form of their value: a time, a size, or a number.
var known = map[string]string{
	"ncpus": "number", "ngpus": "number", "mpiprocs": "number", "nodes": "", "select": "", "place": "", "host": "",
	"arch": "",
	"mem":  "size", "vmem": "size", "pmem": "size", "file": "size", "scratch": "size", "walltime": "time", "cput": "time",
	"qos": "", "neednodes": "", "software": "",
}

var forms = map[string]*regexp.Regexp{
	"number": regexp.MustCompile(`^\d+$`),
	"size":   regexp.MustCompile(`^(\d+)([kmgt]?)[bw]?$`),
	"time":   regexp.MustCompile(`^\d+(:\d+){0,2}$`),
	"":       regexp.MustCompile(`^`),
}

func (c *complex) setResources(j *job, list string) *refusal {
	for item := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(item, "=")
		form, ok := known[name]
		if !ok {
			return &refusal{code: errResource, text: "Unknown resource Resource_List." + name}
		}
		if !forms[form].MatchString(value) {
			return &refusal{code: errBadValue, text: "Illegal attribute or resource value Resource_List." + name}
		}
		if j.resource(name) != "" {
			continue // the command line has set it
		}
		switch name {
		case "walltime":
			j.walltime = seconds(value)
			value = clock(time.Duration(j.walltime) * time.Second)
		case "mem":
			j.memory = size(value)
		case "ncpus":
			j.cores, _ = strconv.Atoi(value)
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
				j.cores, _ = strconv.Atoi(value)
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
	var list []pair
	given := func(name, value string) {
		if v := j.resource(name); v != "" {
			value = v
		}
		if value != "" {
			list = append(list, pair{name, value})
		}
	}
	if j.memory > 0 {
		given("mem", sizeText(j.memory))
	}
	given("ncpus", strconv.Itoa(j.cores))
	given("nodect", "1")
	given("nodes", "")
	given("place", "pack")
	given("select", fmt.Sprintf("1:ncpus=%d", j.cores))
	given("walltime", "")
	for _, r := range j.resources {
		if !strings.Contains(" mem ncpus nodes place select walltime ", " "+r.name+" ") {
			list = append(list, r)
		}
	}
	j.resources = list
}

func seconds(value string) int {
	n := 0
	for part := range strings.SplitSeq(value, ":") {
		k, _ := strconv.Atoi(part)
		n = n*60 + k
	}
	return n
}

func size(value string) int64 {
	m := forms["size"].FindStringSubmatch(value)
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
