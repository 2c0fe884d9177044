package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"jjm"
	"jjm/adapters"
)

// Config is the section of a cluster of kind "command".
type Config struct {
	adapters.CLI
	// Description is the file that describes the batch system: an absolute
	// path, or the name of a file NAME.toml in one of Folders.
	Description Source `toml:"description"`
	// Queue, Account, Project and QOS are for jobs that do not say.
	Queue   string `toml:"queue"`
	Account string `toml:"account"`
	Project string `toml:"project"`
	QOS     string `toml:"qos"`
	// Directives are lines for the head of every job's script.
	Directives []string `toml:"directives"`
	// AllowDirectives takes those of job files too.
	AllowDirectives bool `toml:"allow_directives"`
	// Hook is a program that is asked before each submission.
	Hook string `toml:"hook"`
	// SharedFS is false where workers do not see the work area; this adapter
	// needs it to be true.
	SharedFS bool `toml:"shared_fs"`
	// MaxBulk lowers the description's; 0 leaves it.
	MaxBulk int `toml:"max_bulk"`
}

// DefaultConfig gives the defaults: a shared file system, no directives.
func DefaultConfig() Config { return Config{SharedFS: true} }

// Folders are where descriptions are looked for by their names.
func Folders() []string {
	return []string{"/etc/jjm/adapters", "/usr/local/share/jjm/adapters", "/usr/share/jjm/adapters"}
}

// Source is a description and where it came from. It reads the file when the
// configuration is decoded, so that a check of the configuration checks the
// description too.
type Source struct {
	Path        string
	description *Description
}

// UnmarshalText finds, reads and checks a description.
func (s *Source) UnmarshalText(text []byte) error {
	path, err := locate(string(text), Folders())
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return jjm.Errorf(jjm.Invalid, "read the description: %w", err)
	}
	d, err := Parse(path, data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s.Path, s.description = path, d
	return nil
}

// locate gives the path of a description.
func locate(name string, folders []string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	if name == "" || strings.ContainsAny(name, "/\x00") {
		return "", jjm.Errorf(jjm.Invalid, "description %.100q: want an absolute path, or a name", name)
	}
	for _, folder := range folders {
		path := filepath.Join(folder, strings.TrimSuffix(name, ".toml")+".toml")
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
	}
	return "", jjm.Errorf(jjm.Invalid, "description %.100q: no such file in %s", name, strings.Join(folders, ", "))
}

// Check finds settings that are wrong in themselves or do not fit the
// description.
func (c Config) Check() error {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if err := c.CLI.Check(); err != nil {
		bad("", "%v", err)
	}
	if c.Hook != "" && !filepath.IsAbs(c.Hook) {
		bad("hook", "%q: want the absolute path of a program", c.Hook)
	}
	if !c.SharedFS {
		bad("shared_fs", "false: a description carries no files; workers must see the work area")
	}
	if c.MaxBulk < 0 {
		bad("max_bulk", "%d: want a number of jobs, or 0 for what the description says", c.MaxBulk)
	}
	d := c.Description.description
	if d == nil {
		bad("description", `missing: want the file that describes the batch system, such as "/etc/jjm/adapters/lsf.toml"`)
		return ps.Err()
	}
	if err := d.script.check("directives", c.Directives); err != nil {
		bad("", "%v", err)
	}
	if err := d.submit.check(c.defaults(jjm.Request{})); err != nil {
		bad("", "defaults for jobs: %v", err)
	}
	if c.MaxBulk > d.caps.MaxBulk {
		bad("max_bulk", "%d: the description allows %d", c.MaxBulk, d.caps.MaxBulk)
	}
	return ps.Err()
}

// defaults fills what a request leaves open.
func (c Config) defaults(r jjm.Request) jjm.Request {
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

// New makes an adapter; it is the entry for a Registry.
func New(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error) {
	c := DefaultConfig()
	if err := decode(&c); err != nil {
		return nil, err
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	if env.Now == nil {
		env.Now = time.Now
	}
	a := &Adapter{name: name, config: c, env: env, d: c.Description.description}
	a.config.Env = merged(a.d.environment, c.Env)
	a.caps = a.d.caps
	a.caps.SharedFS = true
	if c.MaxBulk > 0 {
		a.caps.MaxBulk = c.MaxBulk
	}
	return a, nil
}

// merged gives both maps in one; the second wins.
func merged(a, b map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range []map[string]string{a, b} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}
