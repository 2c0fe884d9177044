package pbs

import (
	"bytes"
	"context"
	"regexp"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// dialect is the family of PBS systems that a cluster belongs to.
type dialect uint8

const (
	unknownDialect dialect = iota
	openpbs                // OpenPBS, PBS Pro
	torque
)

// dialects maps the values of the setting dialect.
var dialects = map[string]dialect{"": unknownDialect, "openpbs": openpbs, "torque": torque}

var torqueVersion = regexp.MustCompile(`(?im)^(version|torque version): *[0-9]`)

// dialectOf returns the dialect according to the output of "qstat --version" on either stream: OpenPBS and PBS Pro
// print "pbs_version = 23.06.06", Torque "Version: 6.1.2".
func dialectOf(stdout, stderr []byte) dialect {
	for _, text := range [][]byte{stdout, stderr} {
		switch {
		case bytes.Contains(text, []byte("pbs_version")):
			return openpbs
		case torqueVersion.Match(text):
			return torque
		}
	}
	return unknownDialect
}

// findDialect returns the dialect. Its first call runs a command, which does not contact the server.
func (a *Adapter) findDialect(ctx context.Context) (dialect, error) {
	d := a.knownDialect()
	if d != unknownDialect {
		return d, nil
	}
	out, err := a.run(ctx, nil, "qstat", "--version")
	if err != nil {
		return d, adapters.AsBusy(err)
	}
	if d = dialectOf(out.Stdout, out.Stderr); d == unknownDialect {
		return d, jjm.Errorf(jjm.Busy, "qstat --version: exit %d: neither OpenPBS nor Torque prints %.100q; set dialect",
			out.Exit, append(out.Stdout, out.Stderr...))
	}
	a.mu.Lock()
	a.dialect = d
	a.mu.Unlock()
	return d, nil
}

// knownDialect returns the dialect if it is known by now, otherwise unknownDialect.
func (a *Adapter) knownDialect() dialect {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dialect
}
