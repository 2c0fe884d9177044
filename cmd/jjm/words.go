package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// gathered moves the flags of a command before its arguments, because people may write them in any order, and the
// parser accepts a list of ids only in one piece. Words after "--" are never flags.
func gathered(app *kong.Application, args []string) []string {
	node, path := app.Node, 0
	for path < len(args) {
		i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == args[path] })
		if i < 0 {
			break
		}
		node, path = node.Children[i], path+1
	}
	if node.Passthrough || node.DefaultCmd != nil {
		return args
	}
	var flags, words []string
	for rest := args[path:]; len(rest) > 0; rest = rest[1:] {
		switch {
		case rest[0] == "--":
			words = append(words, rest[1:]...)
			return slices.Concat(args[:path], flags, []string{"--"}, words)
		case !strings.HasPrefix(rest[0], "-") || rest[0] == "-":
			words = append(words, rest[0])
		default:
			flags = append(flags, rest[0])
			if len(rest) > 1 && wantsValue(node, rest[0]) {
				rest = rest[1:]
				flags = append(flags, rest[0])
			}
		}
	}
	return slices.Concat(args[:path], flags, words)
}

// wantsValue reports whether the word after a flag is the value of this flag.
func wantsValue(node *kong.Node, word string) bool {
	for _, f := range node.Flags {
		long, ok := strings.CutPrefix(word, "--")
		if ok && (long == f.Name || slices.Contains(f.Aliases, long)) || f.Short != 0 && word == "-"+string(f.Short) {
			return !f.IsBool()
		}
	}
	return false
}
