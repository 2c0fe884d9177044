package main

import (
	"bufio"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// A wrong word where a command must be is an error, with --help too, in each command that has subcommands.
func TestHelp_AnUnknownCommandIsAnError(t *testing.T) {
	var all commands
	parser, err := kong.New(&all, kong.Name("jjm"), kong.ExplicitGroups(groups()))
	if err != nil {
		t.Fatal(err)
	}
	groups := 0
	var walk func(node *kong.Node)
	walk = func(node *kong.Node) {
		if len(node.Children) == 0 {
			return
		}
		groups++
		path := strings.Fields(node.Path())
		wantUnknown(t, append(path, "qqqqqqqq", "--help"), `"qqqqqqqq"`)
		wantUnknown(t, append(append([]string{"help"}, path...), "qqqqqqqq"), `"qqqqqqqq"`)
		for _, sub := range node.Children {
			wantUnknown(t, append(path, sub.Name+"z", "--help"), `did you mean "`+sub.Name+`"?`)
			walk(sub)
		}
	}
	walk(parser.Model.Node)
	if groups < 5 {
		t.Errorf("only %d commands have subcommands", groups)
	}
}

// wantUnknown runs a command line, which must end as a wrong command line does, print no help, and say the text.
func wantUnknown(t *testing.T, args []string, text string) {
	t.Helper()
	var out, errs strings.Builder
	c := &cli{out: bufio.NewWriter(&out), err: &errs, getenv: func(string) string { return "" }}
	if code := c.main(args); code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), text) {
		t.Errorf("jjm %s: exit %d, want %d and %s\n%s%s", strings.Join(args, " "), code, exitUsage, text, out.String(),
			errs.String())
	}
}
