package adapters

import (
	"fmt"
	"time"

	"jjm"
)

// Common are the settings that every cluster has whose batch system is reached
// by commands. The configuration of each adapter embeds it and adds its own; an
// unknown key is an error that names the nearest of both.
type Common struct {
	CLI
	// Queue, Account, Project and QOS are for jobs that ask for none. What a
	// batch system has no word for must be left out.
	Queue   string `toml:"queue"`
	Account string `toml:"account"`
	Project string `toml:"project"`
	QOS     string `toml:"qos"`
	// Directives are options for every job in the batch system's own language,
	// one in each text.
	Directives []string `toml:"directives"`
	// AllowDirectives takes request.directives of job files too.
	AllowDirectives bool `toml:"allow_directives"`
	// Hook is asked before each submission and may add directives, or refuse.
	Hook Hook `toml:"hook"`
	// SharedFS says that workers see the work area under the same path. Where it
	// is false the batch system carries the files of each job, if the adapter
	// can tell it to.
	SharedFS bool `toml:"shared_fs"`
	// MaxBulk is the most jobs in one submission; 0 = what the batch system
	// takes. It lowers that and never raises it.
	MaxBulk int `toml:"max_bulk"`
}

// DefaultCommon returns the defaults: a shared file system, and nothing asked for.
func DefaultCommon() Common { return Common{SharedFS: true} }

// Rules are what one batch system wants of the common settings.
type Rules struct {
	// Word says what is wrong with a queue, an account, a project or a QOS that
	// is not empty; nil takes every word.
	Word func(text string) error
	// Directive says what is wrong with one of the directives.
	Directive func(line string) error
	// Without are keys that mean nothing here, and what to do instead.
	Without map[string]string
	// Carries is true where the adapter can have files carried to workers.
	Carries bool
}

// Check finds what is wrong with the settings of a cluster.
func (c Common) Check(cluster string, rules Rules) (ps jjm.Problems) {
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Where: "cluster " + cluster, Field: field, Text: fmt.Sprintf(format, args...)})
	}
	for _, err := range []error{c.CLI.Check(), c.Hook.Check()} {
		if err != nil {
			bad("", "%v", err)
		}
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

// word is a setting for jobs that do not say.
type word struct{ key, text string }

func (c Common) words() []word {
	return []word{{"queue", c.Queue}, {"account", c.Account}, {"project", c.Project}, {"qos", c.QOS}}
}

// Fill returns a request with what it leaves open filled in.
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

// Bulk is the most jobs of one submission where the batch system takes so many.
func (c Common) Bulk(most int) int {
	if c.MaxBulk > 0 {
		return min(most, c.MaxBulk)
	}
	return most
}

// CheckDirectives finds directives of a job file that this cluster does not
// take. Directive says what is wrong with one line.
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

// Whole returns an environment with nothing missing: a clock, and warnings that go
// nowhere where nobody wants them.
func (e Env) Whole() Env {
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.Warn == nil {
		e.Warn = func(string, ...any) {}
	}
	return e
}

// Settings reads the section of a cluster into config, which has the defaults, and checks
// it: what every constructor of an adapter begins with. The errors are decode's and
// check's.
func Settings[C any](cluster string, decode func(config any) error, config *C,
	check func(c C, cluster string) error) error {
	if err := decode(config); err != nil {
		return err
	}
	return check(*config, cluster)
}
