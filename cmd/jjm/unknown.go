package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"jjm/internal/formats/nearest"
)

// unknownCommand returns an error about the first word before the flags that is not a command where a command must be,
// nil if there is none.
func unknownCommand(app *kong.Application, args []string) error {
	node := app.Node
	for _, word := range args {
		if len(node.Children) == 0 || strings.HasPrefix(word, "-") {
			return nil
		}
		next := childOf(node, word)
		if next == nil {
			return usage("unknown command %.40q: %s", word, commandsNear(node, word))
		}
		node = next
	}
	return nil
}

// childOf returns the command of a node with a name, nil if there is none.
func childOf(node *kong.Node, name string) *kong.Node {
	for _, sub := range node.Children {
		if sub.Name == name {
			return sub
		}
	}
	return nil
}

// commandsNear returns the remedy for a word that is no command of a node: the command that was probably meant, else
// where all commands are.
func commandsNear(node *kong.Node, word string) string {
	var names []string
	for _, sub := range node.Children {
		names = append(names, sub.Name)
	}
	switch near := nearest.Of(word, names); {
	case near != "":
		return fmt.Sprintf("did you mean %q?", near)
	case node.Type == kong.ApplicationNode:
		return "see jjm --help"
	}
	return fmt.Sprintf("jjm %s has %s", node.Path(), strings.Join(names, ", "))
}
