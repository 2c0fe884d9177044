// Package version holds jjm's version. The programs print it, docs/CHANGELOG.md begins with it, and a source tree
// without tags knows it.
package version

import "runtime/debug"

// Number is the version of this source tree, as https://semver.org defines it.
const Number = "0.1.0"

// commit is the commit that the programs were built from. The linker sets it (Makefile).
var commit string

// Text returns the number and the commit, such as "0.1.0+62e59a5d". Without a known commit it returns the number
// alone.
func Text() string { return of(commit, revision()) }

// of returns the version of a program for which the linker, or the Go tool, knows a commit; "" is no commit.
func of(linked, built string) string {
	switch {
	case linked != "":
		return Number + "+" + linked
	case built != "":
		return Number + "+" + built
	}
	return Number
}

// revision returns the commit that the Go tool noted in the program, "" if it noted none. Changed files add ".dirty".
func revision() (text string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			text = s.Value[:min(8, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if text == "" {
		return ""
	}
	return text + dirty
}
