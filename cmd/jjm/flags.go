package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"jjm/internal/nearest"
)

// The command lines are read by package flag. alecthomas/kong, linked only,
// adds a fifth to the CPU of "jjm lookup" and, through os/user and cgo, doubles
// it in an ordinary build; a gatekeeper pays that thousands of times.

// parse reads the flags and arguments of a command into v. help is set when
// help was asked for.
func parse(cmd command, v verb, args []string) (help bool, err error) {
	fs := flagSet(v)
	var words []string
	for {
		if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
			return true, nil
		} else if err != nil {
			return false, usage("%s; see jjm %s --help", flagError(fs, err), cmd.name)
		}
		rest := fs.Args()
		if len(rest) == 0 {
			break
		}
		// Flags may follow arguments, but not "--".
		if read := len(args) - len(rest); read > 0 && args[read-1] == "--" {
			words = append(words, rest...)
			break
		}
		words, args = append(words, rest[0]), rest[1:]
	}
	switch {
	case len(words) < cmd.min:
		return false, usage("want %s; see jjm %s --help", cmd.args, cmd.name)
	case cmd.max >= 0 && len(words) > cmd.max:
		return false, usage("unexpected argument %.40q; see jjm %s --help", words[cmd.max], cmd.name)
	}
	if t, ok := v.(taker); ok {
		t.take(words)
	}
	return false, nil
}

func flagSet(v verb) *flag.FlagSet {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	v.flags(fs)
	return fs
}

// short gives a flag a second name of one letter.
func short(fs *flag.FlagSet, letter, name string) { fs.Var(fs.Lookup(name).Value, letter, "") }

// flagError puts the errors of package flag in the words of the help.
func flagError(fs *flag.FlagSet, err error) string {
	text := err.Error()
	name, ok := strings.CutPrefix(text, "flag provided but not defined: -")
	if !ok {
		return strings.Replace(text, "flag needs an argument: -", "a value is missing after --", 1)
	}
	var known []string
	fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	if near := nearest.Of(name, known); near != "" {
		return fmt.Sprintf("unknown flag %.40q: did you mean --%s?", name, near)
	}
	return fmt.Sprintf("unknown flag %.40q", name)
}

// helpOn prints the help of one command.
func (c *cli) helpOn(cmd command) {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format, args...) }
	p("%s.\n\nUsage: jjm %s\n", cmd.summary, strings.Join(slices.DeleteFunc([]string{cmd.name, "[FLAGS]", cmd.args},
		func(s string) bool { return s == "" }), " "))
	if cmd.detail != "" {
		p("\n%s\n", wrap(cmd.detail, defaultWidth))
	}
	p("\nExample:\n  $ %s\n\nFlags:\n", cmd.example)
	fs := flagSet(cmd.make())
	rows := [][]string{}
	fs.VisitAll(func(f *flag.Flag) {
		if f.Usage == "" {
			return // a second name
		}
		letter := "    "
		fs.VisitAll(func(s *flag.Flag) {
			if s.Usage == "" && s.Value == f.Value {
				letter = "-" + s.Name + ", "
			}
		})
		placeholder, text := flag.UnquoteUsage(f)
		if placeholder != "" {
			placeholder = " " + placeholder
		}
		rows = append(rows, []string{"  " + letter + "--" + f.Name + placeholder, text})
	})
	rows = append(rows, []string{"  -h, --help", "This text."})
	_ = c.table(rows)
}

// wrap breaks text into lines of at most width columns.
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
