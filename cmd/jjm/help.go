package main

import (
	"fmt"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
)

// completion prints what makes a shell complete the commands.
type completion = kongcompletion.Completion

// groups are the headings of the overview.
func groups() []kong.Group {
	return []kong.Group{{Key: "gatekeepers", Title: "For gatekeepers"}, {Key: "people", Title: "For people"},
		{Key: "site", Title: "For the site"}}
}

// help is what --help prints: of jjm the overview, of a command its usage and an example.
func (c *cli) help(options kong.HelpOptions, ctx *kong.Context) error {
	node := ctx.Selected()
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

// overview lists the commands, each with an example.
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
	p("\nAn id is 12 (a grid job), 12.3 (one of its local jobs), 12.* (all) or 12.3-7;\na gatekeeper's handle may stand for the 12.\n" +
		"The daemon is found by --socket, $JJM_SOCKET, --state or $JJM_STATE; else in /var/lib/jjm\n" +
		"if jjm is installed there, else in ~/.local/state/jjm.\n\n" + exitHelp)
	return nil
}

// overviewOf lists a command, or the commands below it.
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
