package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
)

// completion prints the completion script of a shell.
type completion = kongcompletion.Completion

// groups returns the headings of the overview, which jjm and jjm --help print.
func groups() []kong.Group {
	return []kong.Group{{Key: "gatekeepers", Title: "For gatekeepers"}, {Key: "people", Title: "For people"},
		{Key: "site", Title: "For the site"}}
}

// help prints the text of --help: the overview of all commands, or the usage and an example of one command.
func (c *cli) help(options kong.HelpOptions, ctx *kong.Context) error {
	node := ctx.Selected()
	showOwnArguments(ctx.Model.Node)
	if node == nil {
		return c.overview(ctx.Model)
	}
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	if example := node.Tag.Get("example"); example != "" {
		_, err := fmt.Fprintf(c.out, "\nExample:\n  $ %s\n", example)
		return err
	}
	return nil
}

// showOwnArguments changes the arguments that the help shows for the commands that pass all their arguments to the
// daemon's program. Instead of this list of arguments, the help shows the arguments that the daemon's program takes.
// The tag "takes" names them; "..." after a name means none or several.
func showOwnArguments(node *kong.Node) {
	for _, sub := range node.Children {
		showOwnArguments(sub)
	}
	if len(node.Positional) != 1 {
		return
	}
	takes := node.Positional[0].Tag.Get("takes")
	if takes == "" {
		return
	}
	passed := *node.Positional[0]
	node.Positional = nil
	for name := range strings.FieldsSeq(takes) {
		arg, tag := passed, *passed.Tag
		arg.Name, tag.Optional = name, false
		if several, ok := strings.CutSuffix(name, "..."); ok {
			arg.Name, tag.Optional = several, true
		} else {
			arg.Target = reflect.New(reflect.TypeFor[string]()).Elem() // kong sets the target after it printed the help
		}
		arg.Tag, arg.Required = &tag, !tag.Optional
		node.Positional = append(node.Positional, &arg)
	}
}

// overview prints the commands, each with an example.
func (c *cli) overview(app *kong.Application) error {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format, args...) }
	p("jjm - the job manager of a site\n\nUsage: jjm COMMAND [ARGUMENTS]; jjm COMMAND --help says more.\n")
	for _, g := range groups() {
		p("\n%s:\n", g.Title)
		for _, node := range app.Children {
			if node.Group != nil && node.Group.Key == g.Key {
				c.overviewOf(node, "")
			}
		}
	}
	p("\nAn id is 12 (a grid job), 12.3 (one of its local jobs), 12.* (all) or 12.3-7;\n" +
		"a gatekeeper's handle may stand for the 12. " +
		"name:GLOB is the grid jobs whose\nname fits; several ids are words, or have commas between.\n" +
		"The daemon is found by --socket, --state, $JJM_SOCKET or $JJM_STATE; else in /var/lib/jjm,\n" +
		"where an installed one has its state, if that is there and may be entered; else in\n" +
		"$XDG_STATE_HOME/jjm, else in ~/.local/state/jjm.\n\n" + exitHelp)
	return nil
}

// overviewOf prints the lines about a command or, if it has subcommands, about these. above are the names of its
// parents.
func (c *cli) overviewOf(node *kong.Node, above string) {
	for _, sub := range node.Children {
		c.overviewOf(sub, above+node.Name+" ")
	}
	if len(node.Children) > 0 {
		return
	}
	words := above + node.Name
	for _, arg := range node.Positional {
		words += " " + arg.Summary()
	}
	_, _ = fmt.Fprintf(c.out, "  %-26s %s\n  %-26s   $ %s\n", words, node.Help, "", node.Tag.Get("example"))
}
