package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"jjm"
	"jjm/adapters"
)

// Config is the section of a cluster of kind "command".
type Config struct {
	// Directives are lines for the head of every job's script. What the
	// description has no option for must be left out.
	adapters.Common
	// Description is the file that describes the batch system: an absolute
	// path, or the name of a file NAME.toml in one of Folders.
	Description Source `toml:"description"`
}

// DefaultConfig returns the defaults: a shared file system, no directives.
func DefaultConfig() Config { return Config{Common: adapters.DefaultCommon()} }

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

// locate returns the path of a description.
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

// check finds settings that are wrong in themselves or do not fit the
// description.
func (c Config) check(name string) error {
	d := c.Description.description
	rules := adapters.Rules{Directive: func(string) error { return nil }}
	if d != nil {
		rules.Directive = d.script.odd
	}
	ps := c.Common.Check(name, rules)
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Where: "cluster " + name, Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if d == nil {
		bad("description", `missing: want the file that describes the batch system, such as "/etc/jjm/adapters/lsf.toml"`)
		return ps.Err()
	}
	if err := d.submit.check(c.Fill(jjm.Request{})); err != nil {
		bad("", "defaults for jobs: %v", err)
	}
	if c.MaxBulk > d.caps.MaxBulk {
		bad("max_bulk", "%d: the description allows %d", c.MaxBulk, d.caps.MaxBulk)
	}
	return ps.Err()
}

// New makes an adapter; it is the entry for a Registry.
func New(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error) {
	c := DefaultConfig()
	if err := adapters.Settings(name, decode, &c, Config.check); err != nil {
		return nil, err
	}
	env = env.Whole()
	a := &Adapter{name: name, config: c, env: env, d: c.Description.description}
	a.config.Env = merged(a.d.environment, c.Env)
	a.caps = a.d.caps
	a.caps.SharedFS = true
	a.caps.MaxBulk = c.Bulk(a.caps.MaxBulk)
	return a, nil
}

// merged returns both maps in one; the second wins.
func merged(a, b map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range []map[string]string{a, b} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}
