package sge

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"jjm/adapters"
)

// allowed are the options of qsub(1) that a site or a job file may add, and
// whether each takes a value. All others are refused: what jjm owns (-N, -t, -h,
// -r, -o, -e, -j, -S, -C, -b, -wd, -cwd, -terse, -sync, -now, -notify, -v, -V),
// what would start more or later jobs than jjm counts (-tc is allowed, it only
// slows), what runs a program or reads a file on the host of qsub (runs), and what
// this list does not know. qsub takes no abbreviations and no "-option=value".
var allowed = map[string]bool{
	"-A": true, "-P": true, "-ac": true, "-ar": true, "-binding": true, "-ckpt": true, "-dl": true,
	"-hard": false, "-soft": false, "-js": true, "-l": true, "-m": true, "-M": true,
	"-masterq": true, "-p": true, "-q": true, "-R": true, "-tc": true, "-w": true,
}

// owned are options that jjm sets itself, for a clearer refusal.
var owned = []string{"-N", "-t", "-h", "-r", "-o", "-e", "-i", "-j", "-S", "-b", "-wd", "-cwd", "-terse", "-sync",
	"-now", "-notify", "-v", "-V", "-clear", "-hold_jid", "-hold_jid_ad", "-a", "-c", "-shell", "-verify", "-pe"}

// runs are options that run programs, or read files, where qsub runs and as the
// account that runs it; qsub(1), and what to do instead.
var runs = map[string]string{
	"-jsv": "runs a program on the submit host: a site sets one for all in sge_request(5), or jsv_url of sge_conf(5)",
	"-@":   "reads a file on the submit host",
	"-C":   "makes qsub read options out of the job's script",
}

// oddDirective says what is wrong with one option.
func oddDirective(line string) error {
	_, err := words([]string{line})
	return err
}

// priority is a value of -p.
var priority = regexp.MustCompile(`^-?[0-9]{1,4}$`)

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
		case strings.ContainsFunc(text, unicode.IsControl):
			return nil, fmt.Errorf("%.80q: want one line", text)
		case runs[option] != "":
			return nil, fmt.Errorf("%.80q: option %s %s", text, option, runs[option])
		case slices.Contains(owned, option):
			return nil, fmt.Errorf("%.80q: option %s is jjm's own", text, option)
		case !ok:
			return nil, fmt.Errorf("%.80q: option %.20q is not one that may be added%s", text, option,
				adapters.Meant(option, slices.Sorted(maps.Keys(allowed))))
		case takes && value == "":
			return nil, fmt.Errorf("%.80q: option %s needs a value", text, option)
		case !takes && value != "":
			return nil, fmt.Errorf("%.80q: option %s takes no value", text, option)
		case strings.HasPrefix(value, "-") && option != "-p", strings.ContainsAny(value, " \t"):
			return nil, fmt.Errorf("%.80q: want one option and one word as its value", text)
		case option == "-p" && !priority.MatchString(value):
			return nil, fmt.Errorf("%.80q: want a number", text)
		case option == "-M":
			if err := adapters.CheckMail(value); err != nil {
				return nil, fmt.Errorf("option -M %w", err)
			}
		case option == "-w" && value != "e" && value != "w" && value != "n":
			return nil, fmt.Errorf("%.80q: want -w e, w or n: with others qsub submits nothing", text)
		}
		out = append(out, option)
		if takes {
			out = append(out, value)
		}
	}
	return out, nil
}
