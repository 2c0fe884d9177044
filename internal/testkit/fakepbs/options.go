package main

import "strings"

type option struct{ letter, value string }

// options are those of a command line, and its operands.
type options struct {
	list     []option
	operands []string
	bad      string // the letter of an unknown option
}

// parse parses options as getopt(3) does. A colon follows the letters in known that take a value.
func parse(args []string, known string) (o options) {
	for len(args) > 0 {
		a := args[0]
		if len(a) < 2 || a[0] != '-' {
			o.operands = args
			return o
		}
		args = args[1:]
		for i := 1; i < len(a); i++ {
			letter := a[i : i+1]
			at := strings.Index(known, letter)
			if at < 0 || letter == ":" {
				return options{bad: letter}
			}
			if !strings.HasPrefix(known[at+1:], ":") {
				o.list = append(o.list, option{letter, ""})
				continue
			}
			value := a[i+1:]
			if value == "" {
				if len(args) == 0 {
					return options{bad: letter}
				}
				value, args = args[0], args[1:]
			}
			o.list = append(o.list, option{letter, value})
			break
		}
	}
	return o
}

// get returns the value of an option that is given last.
func (o options) get(letter string) (value string, given bool) {
	for _, x := range o.list {
		if x.letter == letter {
			value, given = x.value, true
		}
	}
	return value, given
}

func (o options) has(letter string) bool {
	_, given := o.get(letter)
	return given
}

func (o options) value(letter string) string {
	value, _ := o.get(letter)
	return value
}

// fits reports whether an option is not given, or has a value.
func (o options) fits(letter, value string) bool { return !o.has(letter) || o.value(letter) == value }
