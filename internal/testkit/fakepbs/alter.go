package main

import (
	"fmt"
	"regexp"
	"strconv"
)

// qalter knows the option -r only (array_norerun).
func (c *complex) qalter(q request) response {
	o := parse(q.Args, "r:")
	return c.onJobs(q, o, func(t target) int {
		if t.job.done() {
			return errHistory
		}
		t.job.rerunnable = o.value("r") != "n"
		return 0
	})
}

// element matches one element or one range of an array: 25[3], 25[3-7].pbshost.
var element = regexp.MustCompile(`^([0-9]+)\[([0-9]+)(?:-([0-9]+))?\](\..*)?$`)

// keptRuns and fatalRuns are how many ranges of one array a qdel deletes, and how many end
// the server (qdel_several_operands).
const (
	keptRuns  = 2
	fatalRuns = 11
)

// joined joins the operands of a qdel that follow each other in one array, as its client
// does, and drops the ranges of an array after the first two. crash is true if the server
// dies of their number.
func (c *complex) joined(ids []string) (kept []string, crash bool) {
	last := map[string]int{} // the end of an array's last range
	at := map[string]int{}   // the place of an array's last range in kept; -1 if that is lost
	count := map[string]int{}
	for _, id := range ids {
		m := element.FindStringSubmatch(id)
		if m == nil {
			kept = append(kept, id)
			continue
		}
		seq, first := m[1], number(m[2])
		end := max(first, number(m[3]))
		if count[seq] == 0 || first != last[seq]+1 {
			count[seq]++
			at[seq] = -1
			if count[seq] <= keptRuns {
				at[seq] = len(kept)
				kept = append(kept, id)
			}
		} else if i := at[seq]; i >= 0 {
			m = element.FindStringSubmatch(kept[i])
			kept[i] = fmt.Sprintf("%s[%s-%d]%s", seq, m[2], end, m[4])
		}
		last[seq] = end
		crash = crash || count[seq] >= fatalRuns && c.fault("qdel-crash")
	}
	return kept, crash
}

// elementList matches an operand with a list of elements, which qdel does not accept.
var elementList = regexp.MustCompile(`\[[^\]]*,`)

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
