package command

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
)

// checker converts a file into a Description and collects all mistakes.
type checker struct {
	problems jjm.Problems
	bulkID   string // regular expressions for ids; set by the method ids
	jobID    string
}

func (c *checker) bad(field, format string, args ...any) {
	c.problems = append(c.problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// suggest returns a text for people: the known word that was probably meant, or otherwise all known words.
func suggest(word string, known []string) string {
	slices.Sort(known)
	if near := nearest.Of(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known are " + strings.Join(known, ", ")
}

func (c *checker) description(f *file) *Description {
	d := &Description{Name: f.Name, environment: f.Environment, none: f.None}
	if d.Name == "" {
		c.bad("name", "missing: want the batch system's name, for people")
	}
	if d.none == nil {
		d.none = []string{"-", "N/A", "None", "Unknown"}
	}
	d.ids, d.name = c.ids(f.IDs)
	d.script = c.script(f.Job, d.ids)
	d.times = c.times(f.Times)
	d.states, d.rules = c.states(f.States), c.rules(f)
	d.submit = c.submit(f.Submit, d.ids)
	d.list = c.query("list", f.List, "OWNER", "UID", "GID", "SINCE")
	if f.List == nil {
		c.bad("list", "missing: jjm must be able to list its jobs")
	}
	d.find = c.query("find", f.Find, "OWNER", "UID", "GID", "SINCE", "TAG", "TAGS")
	d.account = c.query("account", f.Account, "OWNER", "UID", "GID", "SINCE", "TAG", "TAGS", "JOB_ID", "JOB_IDS",
		nameBulkID, "BATCH_JOB_IDS")
	if d.find != nil {
		d.find.mayLackIndex = true
	}
	if d.account != nil {
		d.account.mayLackIndex = true
	}
	d.control = map[adapters.Op]*control{}
	for op, from := range map[adapters.Op]*fileControl{adapters.Cancel: f.Cancel, adapters.HoldJobs: f.Hold,
		adapters.Release: f.Release} {
		if from != nil {
			d.control[op] = c.control(op.String(), from)
		}
	}
	d.probes = c.probes(f.Probes)
	d.caps = c.capabilities(f, d)
	return d
}

// capabilities returns the capabilities in the description, and reports capabilities that contradict the verbs.
func (c *checker) capabilities(f *file, d *Description) adapters.Capabilities {
	from := f.Capabilities
	caps := adapters.Capabilities{
		MaxBulk: from.MaxBulk, MaxQueued: from.MaxQueued, TwoPhase: from.TwoPhase, Accounting: f.Account != nil,
		Guarantee: from.Guarantee, Slots: from.Slots, MaxCores: from.MaxCores, MaxMemoryMB: from.MaxMemoryMB,
		MaxWalltime: time.Duration(from.MaxWalltime), Settle: time.Duration(from.Settle),
		ExcludesHosts: len(d.submit.options[nameExclude]) > 0,
	}
	for _, n := range []struct {
		key   string
		value int64
	}{{"max_bulk", int64(from.MaxBulk)}, {"max_queued", int64(from.MaxQueued)}, {"slots", int64(from.Slots)},
		{"max_cores", int64(from.MaxCores)}, {"max_memory_mb", from.MaxMemoryMB}, {"settle", int64(from.Settle)},
		{"max_walltime", int64(from.MaxWalltime)}} {
		if n.value < 0 {
			c.bad("capabilities."+n.key, "%d: want no negative number", n.value)
		}
	}
	if caps.MaxBulk == 0 {
		caps.MaxBulk = 1
	}
	if caps.Settle == 0 {
		caps.Settle = defaultSettle
	}
	if caps.MaxBulk > 1 && !d.ids.arrays() {
		c.bad("capabilities.max_bulk", "%d, but ids.job has no %%__%s__ that tells the jobs of a bulk apart", caps.MaxBulk,
			nameIndex)
	}
	if caps.MaxBulk > 1 && f.Submit != nil && !d.submit.command.has("COUNT", "LAST_INDEX") {
		c.bad("submit.command", "capabilities.max_bulk is %d, but no %%__COUNT__ or %%__LAST_INDEX__ says how many jobs to make", caps.MaxBulk)
	}
	if caps.TwoPhase && f.Release == nil {
		c.bad("capabilities.two_phase", "bulks are submitted held, but there is no verb release")
	}
	switch {
	case f.Cancel == nil:
		c.bad("cancel", "missing: jjm must be able to cancel its jobs")
	case f.Cancel.HoldFirst && f.Hold == nil:
		c.bad("cancel.hold_first", "there is no verb hold")
	}
	if caps.Guarantee == "" {
		caps.Guarantee = fmt.Sprintf("window %s: a submission in doubt is looked for by its tag", jjm.HowLong(caps.Settle))
		if caps.TwoPhase {
			caps.Guarantee = "strong: jobs are submitted held and released only when their ids are stored"
		}
	}
	return caps
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// idLiteral matches the fixed text in the form of an id. It allows few characters, because an id becomes part of a
// shell script.
var idLiteral = regexp.MustCompile(`^[][A-Za-z0-9._:/-]*$`)

func (c *checker) ids(f fileIDs) (ids, *regexp.Regexp) {
	bulk, form := f.Bulk, f.Job
	if bulk == "" {
		bulk = `[0-9]+`
	}
	if form == "" {
		form = "%__" + nameBulkID + "__"
	}
	if re := c.compile("ids.bulk", bulk); re == nil || re.NumSubexp() > 0 {
		if re != nil {
			c.bad("ids.bulk", "%q: want no groups, other than (?:...)", bulk)
		}
		bulk = `[0-9]+`
	}
	i := ids{form: parseTemplate(form), first: f.FirstIndex}
	c.checkNames("ids.job", i.form, nameBulkID, nameIndex)
	switch p := i.form.parts; {
	case len(p) == 0 || p[0].name != nameBulkID:
		c.bad("ids.job", "%q: want it to begin with %%__%s__, so that a job shows its bulk", form, nameBulkID)
	case len(p) > 1 && (p[1].literal == "" || p[1].literal[0] >= '0' && p[1].literal[0] <= '9'):
		c.bad("ids.job", "%q: want something other than a digit after %%__%s__, or 1 and 12 look alike", form, nameBulkID)
	case !idLiteral.MatchString(i.form.literals()):
		c.bad("ids.job", "%q: want nothing but letters, digits and [].:/_- around the names", form)
	}
	if f.FirstIndex < 0 || f.FirstIndex > 1 {
		c.bad("ids.first_index", "%d: want 0 or 1", f.FirstIndex)
	}
	c.bulkID, c.jobID = `(?:`+bulk+`)`, anyID(i.form, bulk)
	i.bulk = c.compile("ids.bulk", `^(?:`+bulk+`)$`)
	i.job = c.compile("ids.job", `^`+idExpression(i.form, bulk)+`$`)
	i.start = c.compile("ids.bulk", `^(`+bulk+`)(?:[^0-9].*)?$`)
	name := f.Name
	if name == "" {
		name = `([a-z][a-z0-9]*)`
	}
	re := c.compile("ids.name", `^(?:`+name+`)$`)
	if re != nil && re.NumSubexp() < 1 {
		c.bad("ids.name", "%q: want a group around the tag", name)
	}
	return i, re
}

func (c *checker) script(f fileJob, i ids) script {
	for _, v := range []struct {
		key, name string
		wanted    bool
	}{{"id_variable", f.IDVariable, true}, {"index_variable", f.IndexVariable, i.arrays()}} {
		field := "job." + v.key
		switch {
		case v.wanted && v.name == "":
			c.bad(field, "missing: want the environment variable in which a job finds its id or index")
		case !v.wanted && v.name != "":
			c.bad(field, "%q: ids.job has no %%__%s__", v.name, nameIndex)
		case v.name != "" && !variableName.MatchString(v.name):
			c.bad(field, "%.40q: want the name of a variable", v.name)
		}
	}
	s := script{idVariable: f.IDVariable, indexVariable: f.IndexVariable, directive: parseTemplate(f.Directive),
		reserved: f.Reserved}
	c.checkNames("job.directive", s.directive, "DIRECTIVE")
	if f.Directive != "" && (!s.directive.has("DIRECTIVE") || !strings.HasPrefix(f.Directive, "#")) {
		c.bad("job.directive", "%q: want a comment line of the script with %%__DIRECTIVE__ in it", f.Directive)
	}
	if f.Directive == "" && len(f.Reserved) > 0 {
		c.bad("job.reserved", "there is no job.directive whose options could be reserved")
	}
	return s
}

func (c *checker) times(f fileTimes) times {
	t := times{layouts: f.Layouts, suffix: c.compile("times.suffix", `(?:`+f.Suffix+`)$`), zone: time.Local,
		resolution: time.Duration(f.Resolution)}
	if len(t.layouts) == 0 {
		t.layouts = []string{layoutEpoch}
	}
	for i, layout := range t.layouts {
		c.layout(fmt.Sprintf("times.layouts[%d]", i), layout)
	}
	if t.resolution == 0 {
		t.resolution = time.Second
	}
	if t.resolution < 0 {
		c.bad("times.resolution", "%v: want no negative time", jjm.Duration(t.resolution))
	}
	if f.Zone == "" || f.Zone == "local" {
		return t
	}
	zone, err := time.LoadLocation(f.Zone)
	if err != nil {
		c.bad("times.zone", `%.40q: want "local", "UTC" or a name such as "Europe/Paris": %v`, f.Zone, err)
		return t
	}
	t.zone = zone
	return t
}

// layout reports a mistake if a layout of times lacks the day or the hour, or if a time that was written in this layout
// cannot be parsed.
func (c *checker) layout(field, layout string) {
	at := time.Date(2026, 11, 21, 17, 36, 49, 0, time.UTC)
	back, err := time.Parse(layout, at.Format(layout))
	if layout != layoutEpoch && (err != nil || back.Hour() != 17 || back.Minute() != 36 || back.Day() != 21) {
		c.bad(field, `%q: want "epoch", or how 2 January 2006, 15:04:05, would be written, such as "2006-01-02T15:04:05"`,
			layout)
	}
}

// batchStates returns the states that a description may name.
func batchStates() []string {
	return []string{"UNKNOWN", "QUEUED", "HELD", "STARTING", "RUNNING", "SUSPENDED", "OK", "FAILED", "OOM", "TIMEOUT",
		"ABORTED", "CANCELLED"}
}

func (c *checker) state(field, text string) jjm.BatchState {
	var s jjm.BatchState
	if text == "" || s.UnmarshalText([]byte(text)) != nil {
		c.bad(field, "%.40q is not a state of jjm: %s", text, suggest(text, batchStates()))
	}
	return s
}

// states converts the table of states, and reports the mistakes in it.
func (c *checker) states(from map[string]string) map[string]jjm.BatchState {
	states := map[string]jjm.BatchState{}
	if len(from) == 0 {
		c.bad("states", "missing: want a table from the batch system's words for states to jjm's")
	}
	for _, key := range slices.Sorted(maps.Keys(from)) {
		states[key] = c.state("states."+key, from[key])
	}
	return states
}

// rules converts the rules of a file, and reports the mistakes in them.
func (c *checker) rules(f *file) []rule {
	var rules []rule
	for i, from := range f.Rules {
		field := fmt.Sprintf("rule[%d]", i)
		r := rule{when: from.When, becomes: c.state(field+".becomes", from.Becomes)}
		if _, known := f.States[from.When]; from.When != "" && !known {
			c.bad(field+".when", "%.40q is not in the table states: %s", from.When,
				suggest(from.When, slices.Collect(maps.Keys(f.States))))
		}
		if from.Reason != "" {
			r.reason = c.compile(field+".reason", from.Reason)
		}
		if from.Exit != "" {
			e := c.exits(field+".exit", from.Exit)
			r.exit = &e
		}
		if from.Reason == "" && from.Exit == "" {
			c.bad(field, "want reason or exit: a rule for a state alone belongs in the table states")
		}
		rules = append(rules, r)
	}
	return rules
}

func (c *checker) compile(field, text string) *regexp.Regexp {
	re, err := regexp.Compile(text)
	if err != nil {
		c.bad(field, "%.200q is not a regular expression: %v", text, err)
	}
	return re
}

func (c *checker) exits(field, text string) exits {
	e, err := parseExits(text)
	if err != nil {
		c.bad(field, "%v", err)
	}
	return e
}

// checkNames reports the names in a template that are not allowed there.
func (c *checker) checkNames(field string, t template, known ...string) {
	for _, p := range t.parts {
		switch {
		case p.name != "" && !slices.Contains(known, p.name):
			c.bad(field, "%%__%s__ cannot be used here: %s", p.name, suggest(p.name, slices.Clone(known)))
		case strings.Contains(p.literal, "%__"):
			c.bad(field, "%.100q: write a name as %%__NAME__, in capital letters", t.text)
		}
	}
}
