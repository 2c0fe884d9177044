package adapters

import (
	"fmt"
	"time"

	"jjm/internal/jjm"
)

// Common holds the settings of every cluster whose batch system is controlled by commands. The configuration of each
// adapter embeds it and adds its own keys.
type Common struct {
	CLI
	// Queue, Account, Project and QOS are used for jobs that do not set them. A site leaves out the keys that its batch
	// system does not support.
	Queue   string `toml:"queue"`
	Account string `toml:"account"`
	Project string `toml:"project"`
	QOS     string `toml:"qos"`
	// Directives are options for every job, in the language of the batch system, one option in each text.
	Directives []string `toml:"directives"`
	// AllowDirectives is set if job files may contain request.directives.
	AllowDirectives bool `toml:"allow_directives"`
	// Hook is called before each submission. It may add directives or reject the submission.
	Hook Hook `toml:"hook"`
	// SharedFS is set if workers see the work area under the same path. If it is false, the batch system carries the
	// files of each job; adapters that cannot carry files reject the value false.
	SharedFS bool `toml:"shared_fs"`
	// MaxBulk is the largest number of jobs in one submission; 0 means the batch system's own limit. The setting can
	// lower that limit, never raise it.
	MaxBulk int `toml:"max_bulk"`
}

// DefaultCommon returns the defaults: a shared file system, and no other setting.
func DefaultCommon() Common { return Common{SharedFS: true} }

// Rules define which common settings one batch system accepts.
type Rules struct {
	// Word returns an error if a non-empty queue, account, project or QOS is wrong; nil accepts every word.
	Word func(text string) error
	// Directive returns an error if a directive is wrong.
	Directive func(line string) error
	// Without maps each setting that this batch system does not support to advice about an alternative.
	Without map[string]string
	// Carries is set if the adapter can carry files to workers.
	Carries bool
}

// Check returns a problem for each wrong setting of a cluster.
func (c Common) Check(cluster string, rules Rules) (ps jjm.Problems) {
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Where: "cluster " + cluster, Field: field, Text: fmt.Sprintf(format, args...)})
	}
	for _, p := range c.CLI.Check() {
		bad(p.Field, "%s", p.Text)
	}
	if err := c.Hook.Check(); err != nil {
		bad("hook", "%v", err)
	}
	for _, w := range c.words() {
		instead, without := rules.Without[w.key]
		switch {
		case w.text == "":
		case without:
			bad(w.key, "%.80q: %s", w.text, instead)
		case rules.Word != nil:
			if err := rules.Word(w.text); err != nil {
				bad(w.key, "%v", err)
			}
		}
	}
	for i, line := range c.Directives {
		if err := rules.Directive(line); err != nil {
			bad(fmt.Sprintf("directives[%d]", i), "%v", err)
		}
	}
	if !c.SharedFS && !rules.Carries {
		bad("shared_fs", "false: this adapter carries no files; workers must see the work area")
	}
	if c.MaxBulk < 0 {
		bad("max_bulk", "%d: want a number of jobs, or 0 for what the batch system takes", c.MaxBulk)
	}
	return ps
}

// word is a setting that is used for jobs that do not set it themselves. key is its name in the configuration.
type word struct{ key, text string }

func (c Common) words() []word {
	return []word{{"queue", c.Queue}, {"account", c.Account}, {"project", c.Project}, {"qos", c.QOS}}
}

// Fill returns the request with its empty fields filled from the cluster's settings.
func (c Common) Fill(r jjm.Request) jjm.Request {
	for _, f := range []struct {
		to   *string
		from string
	}{{&r.Queue, c.Queue}, {&r.Account, c.Account}, {&r.Project, c.Project}, {&r.QOS, c.QOS}} {
		if *f.to == "" {
			*f.to = f.from
		}
	}
	return r
}

// Bulk returns the largest number of jobs in one submission: the batch system's own limit, or MaxBulk if MaxBulk is set
// and lower.
func (c Common) Bulk(limit int) int {
	if c.MaxBulk > 0 {
		return min(limit, c.MaxBulk)
	}
	return limit
}

// CheckDirectives returns a problem if this cluster does not accept a job file's directives. directive returns an error
// if a line is wrong.
func (c Common) CheckDirectives(cluster string, r jjm.Request, directive func(line string) error) jjm.Problems {
	bad := func(format string, args ...any) jjm.Problems {
		return jjm.Problems{{Field: "request.directives", Text: fmt.Sprintf(format, args...)}}
	}
	if r.Directives == "" {
		return nil
	}
	if !c.AllowDirectives {
		return bad("cluster %s takes none from job files (allow_directives)", cluster)
	}
	for _, line := range Lines(r.Directives) {
		if err := directive(line); err != nil {
			return bad("%v", err)
		}
	}
	return nil
}

// Whole returns e with defaults for nil fields: the real clock, and a Warn that discards its messages.
func (e Env) Whole() Env {
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.Warn == nil {
		e.Warn = func(string, ...any) {}
	}
	return e
}

// Checked is implemented by the settings of one kind of cluster. Check returns a problem for each wrong setting; the
// problem's Field is the key of the setting. Check opens and runs nothing; "jjm config check" can therefore report
// everything that the constructor of an adapter would reject.
type Checked interface {
	Check(cluster string, env Env) jjm.Problems
}

// Advised is implemented by the settings of one kind of cluster that may be correct but surprising. Advice returns a
// note for each such setting; the note's Field is the key of the setting.
type Advised interface {
	Advice() jjm.Problems
}

// Settings decodes the section of a cluster into config, which holds the defaults, and checks it. Every constructor of
// an adapter calls it first. It returns the error of decode, or otherwise the problems of Check.
func Settings(cluster string, env Env, decode func(config any) error, config Checked) error {
	if err := decode(config); err != nil {
		return err
	}
	return config.Check(cluster, env).Err()
}
