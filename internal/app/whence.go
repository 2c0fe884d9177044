package app

import (
	"fmt"
	"path/filepath"
)

// FileFrom returns the reason why a daemon with these options reads the configuration at path, which [Examine]
// returned; path is "" if the daemon reads none.
func FileFrom(opts Options, path string) string {
	switch {
	case opts.Config != "":
		return "named on the command line"
	case opts.Getenv("JJM_CONFIG") != "":
		return "$JJM_CONFIG"
	case path == "":
		return "neither the command line nor $JJM_CONFIG names one, and there is no " + DefaultPath
	}
	return "neither the command line nor $JJM_CONFIG names another"
}

// StateFrom returns the reason why the state is in the folder State: the environment, the configuration at path, or a
// default.
func (c *Config) StateFrom(getenv func(string) string, path string) string {
	switch {
	case getenv("JJM_STATE") != "" && c.stated != "" && c.stated != c.State:
		return fmt.Sprintf("$JJM_STATE, which outranks state = %q of %s", c.stated, path)
	case getenv("JJM_STATE") != "":
		return "$JJM_STATE"
	case c.stated != "":
		return "state of " + path
	case filepath.IsAbs(getenv("XDG_STATE_HOME")):
		return "below $XDG_STATE_HOME: neither $JJM_STATE nor the configuration names a folder"
	}
	return "the default: neither $JJM_STATE nor the configuration names a folder"
}

// WithoutVariable returns the state folder of a daemon that is started with this configuration but without $JJM_STATE,
// as a service is. It returns "" if that is the same folder.
func (c *Config) WithoutVariable(getenv func(string) string) string {
	dir := c.stated
	if dir == "" {
		dir = StateDir(func(name string) string {
			if name == "JJM_STATE" {
				return ""
			}
			return getenv(name)
		})
	}
	if dir == c.State {
		return ""
	}
	return dir
}
