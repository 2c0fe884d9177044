package command

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"jjm/internal/jjm"
)

// command parses the words of a command. names are the names that the command's templates may use.
func (c *checker) command(field string, words []string, join string, names ...string) command {
	if len(words) == 0 || words[0] == "" {
		c.bad(field+".command", `missing: want a list of words, such as ["qstat", "-u", "%%__OWNER__"]`)
	}
	cmd := command{join: join, joinWhole: join != ""}
	if join == "" {
		cmd.join = defaultJoin
	}
	for i, w := range words {
		t := parseTemplate(w)
		c.checkNames(fmt.Sprintf("%s.command[%d]", field, i), t, names...)
		cmd.words = append(cmd.words, t)
	}
	return cmd
}

// submitNames are the names that a submission may use, besides the names of options.
var submitNames = []string{"TAG", "COUNT", "FIRST_INDEX", "LAST_INDEX", "OWNER", "UID", "GID", "SCRIPT", "OPTIONS"}

func (c *checker) submit(f *fileSubmit, i ids) submit {
	if f == nil {
		c.bad("submit", "missing: jjm must be able to submit")
		return submit{}
	}
	s := submit{perCore: f.MemoryPerCore, options: map[string][]template{}}
	s.command = c.command("submit", f.Command, "", submitNames...)
	if !s.command.has("TAG") {
		c.bad("submit.command", "want %%__TAG__ as the job's name: jjm finds its jobs by it")
	}
	switch f.Script {
	case "", "stdin":
	case "argument":
		s.argument = true
	default:
		c.bad("submit.script", `%.40q: want "stdin" or "argument"`, f.Script)
	}
	if s.argument != s.command.has("SCRIPT") {
		c.bad("submit.command", `use %%__SCRIPT__, the path of the script, if and only if submit.script is "argument"`)
	}
	if len(f.Options) > 0 && !s.command.has("OPTIONS") {
		c.bad("submit.options", "submit.command has no %%__OPTIONS__ that says where they go")
	}
	for _, key := range slices.Sorted(maps.Keys(f.Options)) {
		field := "submit.options." + key
		if !slices.Contains(optionKeys(), key) {
			c.bad(field, "unknown key %.40q: %s", key, suggest(key, optionKeys()))
		}
		for n, w := range f.Options[key] {
			t := parseTemplate(w)
			c.checkNames(fmt.Sprintf("%s[%d]", field, n), t, optionNames()...)
			s.options[key] = append(s.options[key], t)
		}
	}
	s.memory, s.scratch = c.unit("submit.memory", f.Memory), c.unit("submit.scratch", f.Scratch)
	s.walltime = c.walltime(f.Walltime)
	s.outcomes = c.outcomes("submit", f.Outcomes, slices.Concat(submitNames, optionNames()))
	c.requireID(s.outcomes)
	return s
}

// requireID reports a mistake if a submission has no outcome "ok", or has one that captures no id.
func (c *checker) requireID(os outcomes) {
	ok := false
	for i, o := range os {
		if o.word != wordOK {
			continue
		}
		ok = true
		id := slices.ContainsFunc([]*pattern{o.stdout, o.stderr, o.output}, func(p *pattern) bool {
			return p != nil && (p.template.has(nameBulkID) || p.fixed != nil && p.fixed.SubexpIndex(nameBulkID) > 0)
		})
		if !id {
			c.bad(fmt.Sprintf("submit.outcome[%d]", i),
				`want a text with %%__%s__ (or an expression with a group (?P<%s>...)): without an id jjm cannot use "ok"`,
				nameBulkID, nameBulkID)
		}
	}
	if !ok {
		c.bad("submit.outcome", `want an outcome with the word "ok"`)
	}
}

// outcomes parses the outcomes of a verb. names are the names that the texts of the outcomes may use.
func (c *checker) outcomes(field string, from []fileOutcome, names []string) outcomes {
	if len(from) == 0 {
		c.bad(field+".outcome", "missing: want at least one, for success")
	}
	var all outcomes
	final := -1
	for i, f := range from {
		at := fmt.Sprintf("%s.outcome[%d]", field, i)
		if final >= 0 {
			c.bad(at, "never reached: outcome[%d] matches everything", final)
		}
		o := outcome{word: word(f.Word)}
		known := words(field)
		if !slices.Contains(known, f.Word) {
			c.bad(at+".word", "%.40q: %s", f.Word, suggest(f.Word, known))
		}
		exit := f.Exit
		if exit == "" {
			exit = map[bool]string{true: "0", false: "any"}[o.word == wordOK]
		}
		o.exit = c.exits(at+".exit", exit)
		o.stdout = c.pattern(at+".stdout", f.Stdout, f.StdoutMatches, names)
		o.stderr = c.pattern(at+".stderr", f.Stderr, f.StderrMatches, names)
		o.output = c.pattern(at+".output", f.Output, f.OutputMatches, names)
		if o.stdout == nil && o.stderr == nil && o.output == nil && o.exit.all() {
			final = i
		}
		all = append(all, o)
	}
	return all
}

// pattern parses a text or a regular expression; a description may have only one of the two.
func (c *checker) pattern(field string, text, matches *string, names []string) *pattern {
	p := &pattern{bulkID: c.bulkID, jobID: c.jobID}
	switch {
	case text != nil && matches != nil:
		c.bad(field, "want this or %s_matches, not both", field[strings.LastIndexByte(field, '.')+1:])
		return nil
	case text == nil && matches == nil:
		return nil
	case text != nil:
		p.template = parseTemplate(*text)
		p.empty = *text == ""
		c.checkNames(field, p.template, append(slices.Clone(names), nameBulkID, nameJobID, nameMessage, nameAny, nameWord,
			nameNumber)...)
		p.perJob = p.template.has(nameJobID)
		if !p.template.has(names...) && !p.empty {
			p.fixed = p.expression(values{})
		}
		return p
	}
	re := c.compile(field+"_matches", `^(?:`+*matches+`)$`)
	if re == nil {
		return nil
	}
	for _, name := range re.SubexpNames() {
		if name != "" && !slices.Contains(captured, name) {
			c.bad(field+"_matches", "group %.40q is not known: %s", name, suggest(name, slices.Clone(captured)))
		}
	}
	p.fixed, p.perJob = re, re.SubexpIndex(nameJobID) > 0
	return p
}

// singular and plural are the template names for ids and tags. A command with a name in singular takes one id or tag in
// each call; a command with a name in plural takes several.
var (
	singular = []string{"TAG", "JOB_ID", nameBulkID}
	plural   = []string{"TAGS", "JOB_IDS", "BATCH_JOB_IDS"}
)

// perCall returns the number of ids or tags that one call takes. It reports a mistake if n, the number in the
// description, contradicts the names in the command.
func (c *checker) perCall(field string, n int, cmd command) int {
	one, many := cmd.has(singular...), cmd.has(plural...)
	switch {
	case n < 0:
		c.bad(field+".per_call", "%d: want a positive number", n)
	case one && many:
		c.bad(field+".command", "names both one job or tag and several of them")
	case one && n > 1:
		c.bad(field+".per_call", "%d, but the command names one job or tag only", n)
	case n > 1 && !many:
		c.bad(field+".per_call", "%d, but the command names no jobs or tags", n)
	case one:
		return 1
	case n == 0:
		return defaultPerCall
	}
	return n
}

func (c *checker) query(field string, f *fileQuery, names ...string) *query {
	if f == nil {
		return nil
	}
	q := &query{command: c.command(field, f.Command, f.Join, names...), source: f.Source, since: f.Since,
		history: time.Duration(f.History)}
	q.perCall = c.perCall(field, f.PerCall, q.command)
	if q.source == "" && len(f.Command) > 0 {
		q.source = f.Command[0]
	}
	if q.since == "" {
		q.since = layoutEpoch
	}
	c.layout(field+".since", q.since)
	if q.history == 0 {
		q.history = defaultHistory
	}
	if q.history < 0 {
		c.bad(field+".history", "%v: want no negative time", jjm.Duration(q.history))
	}
	q.exit = exitForm(f.ExitForm)
	if q.exit == "" {
		q.exit = exitPlain
	}
	if !slices.Contains(exitForms(), string(q.exit)) {
		c.bad(field+".exit_form", "%.40q: %s", f.ExitForm, suggest(f.ExitForm, exitForms()))
	}
	q.outcomes = c.outcomes(field, f.Outcomes, names)
	for i, o := range q.outcomes {
		if o.perJob() {
			c.bad(fmt.Sprintf("%s.outcome[%d]", field, i), "%%__%s__ cannot be used here: a listing is good or bad as a whole",
				nameJobID)
		}
	}
	if f.Header != "" {
		q.header = c.compile(field+".header", `^(?:`+f.Header+`)$`)
	}
	q.format = c.format(field, f)
	c.requireFields(field, q.format)
	return q
}

// format returns the form of a listing: columns, one expression for a line, or records of several lines. It reports a
// mistake unless the description has exactly one of these forms.
func (c *checker) format(field string, f *fileQuery) format {
	forms := 0
	for _, given := range []bool{len(f.Columns) > 0, f.Line != "", f.Begin != "" || len(f.Fields) > 0} {
		if given {
			forms++
		}
	}
	var ignore []*regexp.Regexp
	for i, text := range f.Ignore {
		if re := c.compile(fmt.Sprintf("%s.ignore[%d]", field, i), `^(?:`+text+`)$`); re != nil {
			ignore = append(ignore, re)
		}
	}
	switch {
	case forms != 1:
		c.bad(field, "want the form of the listing: columns, or line, or begin with fields")
	case len(f.Columns) > 0:
		return c.columns(field, f, ignore)
	case f.Separator != "" || f.End != "":
		c.bad(field, "separator and end belong to columns, which are not given")
	case f.Line != "":
		return c.expression(field, f, ignore)
	case len(ignore) > 0:
		c.bad(field+".ignore", "records have no lines to ignore")
	default:
		return c.records(field, f)
	}
	return columns{}
}

func (c *checker) field(at, name string) field {
	i := slices.Index(fieldNames(), name)
	if i < 0 {
		c.bad(at, "%.40q is not a field: %s", name, suggest(name, append(fieldNames(), skipColumn)))
		return skipped
	}
	return field(i)
}

func (c *checker) columns(at string, f *fileQuery, ignore []*regexp.Regexp) format {
	out := columns{separator: f.Separator, end: f.End, ignore: ignore}
	for i, name := range f.Columns {
		column := skipped
		if name != skipColumn {
			column = c.field(fmt.Sprintf("%s.columns[%d]", at, i), name)
		}
		if column != skipped && slices.Contains(out.columns, column) {
			c.bad(fmt.Sprintf("%s.columns[%d]", at, i), "%q is given twice", name)
		}
		out.columns = append(out.columns, column)
	}
	return out
}

func (c *checker) expression(at string, f *fileQuery, ignore []*regexp.Regexp) format {
	out := expression{re: c.compile(at+".line", `^(?:`+f.Line+`)$`), ignore: ignore}
	if out.re == nil {
		return out
	}
	for _, name := range out.re.SubexpNames() {
		group := skipped
		if name != "" {
			group = c.field(at+".line", name)
		}
		out.groups = append(out.groups, group)
	}
	return out
}

func (c *checker) records(at string, f *fileQuery) format {
	if f.Begin == "" {
		c.bad(at+".begin", "missing: want an expression for the first line of a record")
	}
	out := records{begin: c.compile(at+".begin", f.Begin)}
	for _, name := range slices.Sorted(maps.Keys(f.Fields)) {
		key := at + ".fields." + name
		re := c.compile(key, `(?m)`+f.Fields[name])
		if re != nil && re.NumSubexp() < 1 {
			c.bad(key, "want a group around the value")
		}
		if n := c.field(key, name); n != skipped {
			out.find[n] = re
		}
	}
	return out
}

// requireFields reports a mistake for each field that jjm needs for every job and that a listing lacks.
func (c *checker) requireFields(at string, f format) {
	known := f.fields()
	if len(known) == 0 {
		return // the missing form is already reported
	}
	job, bulk, index := slices.Contains(known, fieldJob), slices.Contains(known, fieldBulk),
		slices.Contains(known, fieldIndex)
	if bulk != index || job == bulk {
		c.bad(at, `want the field "job", or both "bulk" and "index"`)
	}
	for _, f := range []struct {
		field field
		why   string
	}{{fieldName, "it contains the tag"}, {fieldState, "it contains the state of the job"}} {
		if !slices.Contains(known, f.field) {
			c.bad(at, "want the field %q: %s", fieldNames()[f.field], f.why)
		}
	}
}

func (c *checker) control(field string, f *fileControl) *control {
	out := &control{command: c.command(field, f.Command, f.Join, "OWNER", "UID", "GID", "JOB_ID", "JOB_IDS"),
		wholeBulk: f.WholeBulk, holdFirst: f.HoldFirst}
	if !out.command.has("JOB_ID", "JOB_IDS") {
		c.bad(field+".command", "want %%__JOB_IDS__, or %%__JOB_ID__ for one job per call")
	}
	out.perCall = c.perCall(field, f.PerCall, out.command)
	out.outcomes = c.outcomes(field, f.Outcomes, []string{"OWNER"})
	return out
}

// probeNames are the names of groups that the expressions of a probe may contain.
var probeNames = []string{"slots", "max_bulk", "max_queued", "max_cores", "max_memory_mb"}

func (c *checker) probes(from []fileProbe) []probe {
	var all []probe
	for i, f := range from {
		field := fmt.Sprintf("probe[%d]", i)
		p := probe{command: c.command(field, f.Command, "", "OPTIONS"), outcomes: c.outcomes(field, f.Outcomes, nil)}
		if (len(f.Queue) > 0) != p.command.has("OPTIONS") {
			c.bad(field+".queue", "its words replace %%__OPTIONS__ in the command: want both or neither")
		}
		for n, w := range f.Queue {
			t := parseTemplate(w)
			c.checkNames(fmt.Sprintf("%s.queue[%d]", field, n), t, "QUEUE")
			p.queue = append(p.queue, t)
		}
		for n, text := range f.Find {
			at := fmt.Sprintf("%s.find[%d]", field, n)
			re := c.compile(at, `^(?:`+text+`)$`)
			if re == nil {
				continue
			}
			for _, name := range re.SubexpNames() {
				if name != "" && !slices.Contains(probeNames, name) {
					c.bad(at, "group %.40q is not known: %s", name, suggest(name, slices.Clone(probeNames)))
				}
			}
			p.find = append(p.find, re)
		}
		all = append(all, p)
	}
	return all
}
