package sge

import (
	"fmt"
	"slices"
	"strings"
)

// allowed are the options of qsub(1) that a site or a job file may add, and
// whether each takes a value. All others are refused: what jjm owns (-N, -t, -h,
// -r, -o, -e, -j, -S, -C, -b, -wd, -cwd, -terse, -sync, -now, -notify, -v, -V),
// what would start more or later jobs than jjm counts (-tc is allowed, it only
// slows), and what this list does not know.
var allowed = map[string]bool{
	"-A": true, "-P": true, "-ac": true, "-ar": true, "-binding": true, "-ckpt": true, "-dl": true,
	"-hard": false, "-soft": false, "-js": true, "-jsv": true, "-l": true, "-m": true, "-M": true,
	"-masterq": true, "-p": true, "-q": true, "-R": true, "-tc": true, "-w": true,
}

// owned are options that jjm sets itself, for a clearer refusal.
var owned = []string{"-N", "-t", "-h", "-r", "-o", "-e", "-i", "-j", "-S", "-C", "-b", "-wd", "-cwd", "-terse", "-sync",
	"-now", "-notify", "-v", "-V", "-clear", "-hold_jid", "-hold_jid_ad", "-a", "-c", "-shell", "-verify", "-@", "-pe"}

// oddDirective says what is wrong with one option.
func oddDirective(line string) error {
	_, err := words([]string{line})
	return err
}

// words turns options, each with its value in one text ("-l os=el9"), into the
// words of a command line, or says which is refused. Values are single words
// without quotes: a second word could smuggle in an option that is jjm's own.
func words(options []string) ([]string, error) {
	var out []string
	for _, text := range options {
		option, value, _ := strings.Cut(strings.TrimSpace(text), " ")
		value = strings.TrimSpace(value)
		takes, ok := allowed[option]
		switch {
		case strings.ContainsAny(text, "\x00\n"):
			return nil, fmt.Errorf("%.80q: want one line", text)
		case slices.Contains(owned, option):
			return nil, fmt.Errorf("%.80q: option %s is jjm's own", text, option)
		case !ok:
			return nil, fmt.Errorf("%.80q: option %.20q is not one that may be added", text, option)
		case takes && value == "":
			return nil, fmt.Errorf("%.80q: option %s needs a value", text, option)
		case !takes && value != "":
			return nil, fmt.Errorf("%.80q: option %s takes no value", text, option)
		case strings.HasPrefix(value, "-") && option != "-p", strings.ContainsAny(value, " \t"):
			return nil, fmt.Errorf("%.80q: want one option and one word as its value", text)
		}
		out = append(out, option)
		if takes {
			out = append(out, value)
		}
	}
	return out, nil
}
