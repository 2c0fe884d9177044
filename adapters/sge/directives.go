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

// allowed are the options of qsub(1) that a site or a job file may add; the value is true if the option takes a value.
// All other options are rejected: the options in owned; unsafeOptions; options that would start more jobs, or start
// jobs later, than jjm expects (-tc is allowed, because it only makes an array start fewer jobs at a time); and unknown
// options. qsub accepts no abbreviations and no "-option=value".
var allowed = map[string]bool{
	"-A": true, "-P": true, "-ac": true, "-ar": true, "-binding": true, "-ckpt": true, "-dl": true,
	"-hard": false, "-soft": false, "-js": true, "-l": true, "-m": true, "-M": true,
	"-masterq": true, "-p": true, "-q": true, "-R": true, "-tc": true, "-w": true,
}

// owned are options that a site or a job file may not add. jjm sets some of them itself (-N, -t, -h, -r, -o, -j, -S,
// -b, -wd, -terse, -sync, -now, and -pe from the cluster's settings). The other options would change how a job starts,
// waits, runs or writes its output in a way that jjm does not expect.
var owned = []string{"-N", "-t", "-h", "-r", "-o", "-e", "-i", "-j", "-S", "-b", "-wd", "-cwd", "-terse", "-sync",
	"-now", "-notify", "-v", "-V", "-clear", "-hold_jid", "-hold_jid_ad", "-a", "-c", "-shell", "-verify", "-pe"}

// unsafeOptions are options that run programs or read files on the submit host under the account that runs qsub
// (qsub(1)). The texts say what each option does; for -jsv the text also says what a site can do instead.
var unsafeOptions = map[string]string{
	"-jsv": "runs a program on the submit host: a site sets one for all in sge_request(5), or jsv_url of sge_conf(5)",
	"-@":   "reads a file on the submit host",
	"-C":   "makes qsub read options out of the job's script",
}

// checkDirective returns an error if a line is not one allowed option with a valid value.
func checkDirective(line string) error {
	_, err := words([]string{line})
	return err
}

// priority matches a valid value of the option -p.
var priority = regexp.MustCompile(`^-?[0-9]{1,4}$`)

// words splits options into the words of a command line. Each option comes with its value in one text ("-l os=el9").
// words returns an error that names the first option that is not allowed or has a wrong value. A value must be a single
// word without quotes, because a second word could be an option that jjm sets.
func words(options []string) ([]string, error) {
	var out []string
	for _, text := range options {
		option, value, _ := strings.Cut(strings.TrimSpace(text), " ")
		value = strings.TrimSpace(value)
		takes, ok := allowed[option]
		switch {
		case strings.ContainsFunc(text, unicode.IsControl):
			return nil, fmt.Errorf("%.80q: want one line", text)
		case unsafeOptions[option] != "":
			return nil, fmt.Errorf("%.80q: option %s %s", text, option, unsafeOptions[option])
		case slices.Contains(owned, option):
			return nil, fmt.Errorf("%.80q: option %s belongs to jjm: leave it out", text, option)
		case !ok:
			return nil, fmt.Errorf("%.80q: option %.20q may not be added%s", text, option,
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
			return nil, fmt.Errorf("%.80q: want -w e, w or n: with other values qsub submits nothing", text)
		}
		out = append(out, option)
		if takes {
			out = append(out, value)
		}
	}
	return out, nil
}
