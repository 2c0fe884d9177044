package jedi

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
)

// numbers is the range of numbers that a word accepts. The zero value means that the word has no number.
type numbers struct{ least, most float64 }

// most is the largest number of files, events and so on.
const most = 1 << 31

// ruleWords returns the implemented words of a split rule.
func ruleWords() map[string]numbers {
	return map[string]numbers{
		"NF": {1, most}, "NE": {1, most}, "NG": {1, 1 << 20}, "MF": {1, most}, "MW": {1, 1 << 16}, "GB": {1, 4}, "RL": {1, 1},
	}
}

// otherRules returns the words of JEDI that job files cannot use. Each value is the reason and names the replacement.
// Task.Rules reads some of these words all the same, so that the package can be compared with JEDI.
func otherRules() map[string]string {
	const merges = "how outputs are merged is said in [merge]"
	return map[string]string{
		"ZF": merges + ": split = { by = \"JEDIMerge\", params = { files_per_job = N } }",
		"ZE": merges + ": events", "ZG": merges + ": bytes", "ZM": merges + ": files",
		"DY": "jobs that fill the least wall time of a queue cannot be made, as jjm does not know it: say with NE how many " +
			"events a part has",
		"MX": "it goes with DY, which is not carried out: say with NE how many events a part has",
		"OM": "it puts all files into one job, which merges them where it runs: say with NF how many files a part has, and " +
			merges,
		"RR": "it keeps scouts from having one file each: leave out scouts of [split.params] instead",
		"EI": "how many events a file has is said in records: events_per_file, or real_events",
		"TN": "jjm does not learn from scouts how large outputs become: say with NG how large a part is",
	}
}

// CheckRule returns an error of kind Invalid for a split rule, such as "NF=3,MW=20", with a
// word that is unknown, not implemented or repeated, or with a number out of range. "" is
// valid.
func CheckRule(rule string) error {
	if rule == "" {
		return nil
	}
	return checkWords(rule, ruleWords(), otherRules())
}

// attributeWords returns the implemented words of a secondary dataset's attributes.
func attributeWords() map[string]numbers {
	return map[string]numbers{
		"repeat": {}, "nosplit": {}, "ru": {}, "ratio": {0, most}, "np": {1, most}, "of": {1, most}, "er": {0, most},
	}
}

// CheckAttributes returns an error of kind Invalid for the attributes of a secondary dataset, such as "repeat,ratio=2",
// if CheckRule would return an error for such words in a rule.
func CheckAttributes(text string) error {
	if text == "" {
		return nil
	}
	return checkWords(text, attributeWords(), otherAttributes())
}

// otherAttributes returns the words of JEDI's attributes that are not implemented. Each value is the reason.
func otherAttributes() map[string]string {
	const outputs = "it is about outputs, and a secondary dataset is read: say it with outputs, outputs_optional and " +
		"[merge] of the job file"
	return map[string]string{
		"rd":       "files are taken by name, never at random: reading them again gives the same local jobs",
		"ps":       "jjm makes such datasets itself: seq_number for sequence numbers, random_seed of the splitter for seeds",
		"an":       outputs,
		"tr":       outputs,
		"mo":       outputs,
		"ic":       "files are not matched by their indices: say with group of each file and GB of the rule what to match",
		"cc":       "files are not matched by their parents: say with include_parents that the parents are read along",
		"manytime": "it says how long copies at other sites are kept, and jjm makes none",
		"cvmfs":    "jjm brings no files of datasets to workers, so there is nothing that could be left out",
	}
}

// checkWords checks words separated by commas. Each word may occur only once.
func checkWords(text string, known map[string]numbers, others map[string]string) error {
	seen := map[string]bool{}
	for word := range strings.SplitSeq(text, ",") {
		name, value, valued := strings.Cut(word, "=")
		want, ok := known[name]
		switch {
		case !ok && others[name] != "":
			return jjm.Errorf(jjm.Invalid, "%s: %s", name, others[name])
		case !ok:
			return unknownWord(name, known)
		case seen[name]:
			return jjm.Errorf(jjm.Invalid, "%s is there twice", name)
		case want == (numbers{}) && valued:
			return jjm.Errorf(jjm.Invalid, "%.60q: %s takes no number", word, name)
		}
		seen[name] = true
		if want == (numbers{}) {
			continue
		}
		if err := want.check(name, value); err != nil {
			return err
		}
	}
	return nil
}

// check checks the number of a word. If least is 0, the number must be above 0 and may be a fraction.
func (b numbers) check(name, value string) error {
	n, err := strconv.ParseFloat(value, 64)
	fraction := b.least == 0
	if err != nil || strings.Trim(value, "0123456789.") != "" || !fraction && strings.Contains(value, ".") ||
		n < b.least || fraction && n <= 0 || n > b.most {
		return jjm.Errorf(jjm.Invalid, "%s=%.40s: want %s", name, value, b)
	}
	return nil
}

func (b numbers) String() string {
	switch {
	case b.least == b.most:
		return fmt.Sprintf("%.0f", b.least)
	case b.least == 0:
		return fmt.Sprintf("a number above 0, up to %.0f", b.most)
	}
	return fmt.Sprintf("a whole number from %.0f to %.0f", b.least, b.most)
}

// unknownWord returns the error for an unknown word. The error names the nearest known word, or all known words if none
// is near.
func unknownWord(name string, known map[string]numbers) error {
	names := slices.Sorted(maps.Keys(known))
	if near := nearest.Of(name, names); near != "" {
		return jjm.Errorf(jjm.Invalid, "unknown word %.40q: did you mean %q?", name, near)
	}
	return jjm.Errorf(jjm.Invalid, "unknown word %.40q: known are %s", name, strings.Join(names, ", "))
}

// Problems returns the problems of a task, each with its key in the job file: an invalid rule, and numbers that have no
// effect without other numbers.
func (t *Task) Problems() jjm.Problems {
	var ps jjm.Problems
	bad := func(field, text string) { ps = append(ps, jjm.Problem{Field: field, Text: text}) }
	if err := CheckRule(t.Rule); err != nil {
		bad("rule", err.Error())
	}
	const hs06 = "changes nothing without hs06 = true"
	for _, c := range []struct {
		field string
		wrong bool
		text  string
	}{
		{"core_power", t.HS06 && !(t.CorePower > 0), "hs06 counts in HS06 seconds: say how many HS06 a core has, such as 10"},
		{"cpu_time", t.HS06 && !(t.CPUTime > 0), "hs06 needs the HS06 seconds of an event"},
		{"efficiency", t.HS06 && !(t.Efficiency >= 0 && t.Efficiency <= 100), "want above 0, up to 100 percent"},
		{"wall_time", t.HS06 && t.Walltime != 0, "with hs06 the wall time comes from cpu_time: give one of both"},
		{"core_power", !t.HS06 && t.CorePower != 0, hs06}, {"cpu_time", !t.HS06 && t.CPUTime != 0, hs06},
		{"efficiency", !t.HS06 && t.Efficiency != 0, hs06}, {"base_wall", !t.HS06 && t.BaseWall != 0, hs06},
		{"out_per_event", t.OutPerEvent && t.OutPerMB == 0,
			"changes nothing without out_per_mb, which then is bytes for each event"},
	} {
		if c.wrong {
			bad(c.field, c.text)
		}
	}
	for field, n := range map[string]float64{"out_per_mb": t.OutPerMB, "work_size": t.WorkSize, "cpu_time": t.CPUTime,
		"wall_time": t.Walltime, "base_wall": t.BaseWall, "core_power": t.CorePower, "copies": t.Copies} {
		if !(n >= 0 && n <= 1e15) {
			bad(field, "want a number from 0 on")
		}
	}
	return ps
}
