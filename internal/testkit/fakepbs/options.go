package main

import "strings"

// options holds the options of a command line, each with its values, and the operands.
type options struct {
	values   map[string][]string
	operands []operand
}

// parse parses options as getopt(3) does. A colon follows the letters in known that take a value.
// bad is the letter of an option that is unknown or lacks its value.
func parse(args []string, known string) (o options, bad string) {
	o.values = map[string][]string{}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		word := args[0][1:]
		args = args[1:]
		for word != "" {
			letter, value := word[:1], ""
			word = word[1:]
			_, after, ok := strings.Cut(known, letter)
			takes := strings.HasPrefix(after, ":")
			if !ok || letter == ":" || takes && word == "" && len(args) == 0 {
				return o, letter
			}
			if takes {
				if value = word; value == "" {
					value, args = args[0], args[1:]
				}
				word = ""
			}
			o.values[letter] = append(o.values[letter], value)
		}
	}
	for _, word := range args {
		o.operands = append(o.operands, operandOf(word))
	}
	return o, ""
}

func (o options) has(letter string) bool { return len(o.values[letter]) > 0 }

// value returns the last value of an option; "" if the option is not given.
func (o options) value(letter string) string {
	if !o.has(letter) {
		return ""
	}
	all := o.values[letter]
	return all[len(all)-1]
}

// fits reports whether an option is not given, or is given with this value.
func (o options) fits(letter, value string) bool { return !o.has(letter) || o.value(letter) == value }
