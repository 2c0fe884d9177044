package handlers

import (
	"slices"
	"strings"
)

// Lines holds the templates of the commands of a part.
type Lines struct {
	// Command is the command line of the application. Analyse is the command that judges an attempt. Env is added to
	// the environment of both commands.
	Command, Analyse CommandTemplate
	Env              map[string]CommandTemplate
}

// Expand returns the commands of a part with these values.
func (l Lines) Expand(values Values) Command {
	c := Command{Argv: l.Command.Expand(values), Analyse: l.Analyse.Expand(values)}
	if len(l.Env) > 0 {
		c.Env = make(map[string]string, len(l.Env))
	}
	for name, t := range l.Env {
		c.Env[name] = strings.Join(t.Expand(values), " ")
	}
	return c
}

// Use reports whether one of the commands, or the environment, contains a placeholder.
func (l Lines) Use(name string) bool {
	used := l.Command.uses(name) || l.Analyse.uses(name)
	for _, t := range l.Env {
		used = used || t.uses(name)
	}
	return used
}

// uses reports whether the template contains a placeholder.
func (t CommandTemplate) uses(name string) bool {
	return slices.ContainsFunc(t.words, func(pieces []piece) bool {
		return slices.ContainsFunc(pieces, func(p piece) bool { return p.name == name })
	})
}
