package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Config is the section of a cluster of kind "command".
type Config struct {
	// Common holds the settings of all adapters. Directives are written at the head of every job's script. Queue,
	// Account, Project and QOS may only be set if the description has an option for them.
	adapters.Common
	// Description is the file that describes the batch system: an absolute path, or NAME
	// for the file NAME.toml in one of Folders.
	Description Source `toml:"description"`
}

// DefaultConfig returns the defaults: a shared file system, no directives.
func DefaultConfig() Config { return Config{Common: adapters.DefaultCommon()} }

// Folders returns the folders in which descriptions are searched by name.
func Folders() []string {
	return []string{"/etc/jjm/adapters", "/usr/local/share/jjm/adapters", "/usr/share/jjm/adapters"}
}

// Source is a description and the path of its file. The file is read while the configuration is decoded, so a check of
// the configuration also checks the description.
type Source struct {
	Path        string
	description *Description
}

// UnmarshalText finds, reads and checks the description with the given name or path.
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
		return inFile(path, err)
	}
	s.Path, s.description = path, d
	return nil
}

// inFile adds the path of the file to each problem of a description.
func inFile(path string, err error) error {
	var ps jjm.Problems
	if !errors.As(err, &ps) {
		return fmt.Errorf("%s: %w", path, err)
	}
	named := slices.Clone(ps)
	for i := range named {
		line := strings.TrimPrefix(named[i].Where, filepath.Base(path))
		named[i].Where = path + line
	}
	return named.Err()
}

// locate returns the path of a description. If name is an absolute path, that is name itself, otherwise the path of the
// file NAME.toml in the first of the folders that has this file.
func locate(name string, folders []string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	if name == "" || strings.ContainsAny(name, "/\x00") {
		return "", jjm.Errorf(jjm.Invalid, "%.100q: want an absolute path, or a name", name)
	}
	for _, folder := range folders {
		path := filepath.Join(folder, strings.TrimSuffix(name, ".toml")+".toml")
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
	}
	return "", jjm.Errorf(jjm.Invalid, "%.100q: no such file in %s", name, strings.Join(folders, ", "))
}

// Advice implements adapters.Advised.
func (c Config) Advice() jjm.Problems {
	notes := c.Common.Advice()
	if d := c.Description.description; d != nil && len(d.probes) == 0 {
		notes = append(notes, jjm.Problem{Field: "description", Text: fmt.Sprintf("%s has no [[probe]]: while nobody has "+
			"jobs on this cluster nothing shows whether its commands work, and its limits are not known", c.Description.Path)})
	}
	return notes
}

// Check returns the problems of the settings: mistakes in single settings, and settings that do not fit the
// description.
func (c Config) Check(name string, _ adapters.Env) jjm.Problems {
	d := c.Description.description
	rules := adapters.Rules{Directive: func(string) error { return nil }}
	if d != nil {
		rules.Directive = d.script.checkDirective
	}
	ps := c.Common.Check(name, rules)
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Where: "cluster " + name, Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if d == nil {
		bad("description", `missing: want the file that describes the batch system, such as "/etc/jjm/adapters/lsf.toml"`)
		return ps
	}
	if err := d.submit.check(c.Fill(jjm.Request{})); err != nil {
		bad("", "defaults for jobs: %v", err)
	}
	if c.MaxBulk > d.caps.MaxBulk {
		bad("max_bulk", "%d: the description allows %d", c.MaxBulk, d.caps.MaxBulk)
	}
	return ps
}

// New returns an adapter; it is the constructor for adapters.Registry.
func New(name string, env adapters.Env, decode func(config any) error) (adapters.Adapter, error) {
	c := DefaultConfig()
	if err := adapters.Settings(name, env, decode, &c); err != nil {
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

// merged returns the union of two maps. If both maps have a key, the value of b counts.
func merged(a, b map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range []map[string]string{a, b} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}
