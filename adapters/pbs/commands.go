package pbs

import (
	"cmp"
	"slices"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// command is a command line. operands maps each operand to the positions of the references that the operand acts on.
type command struct {
	argv     []string
	operands map[string][]int
}

// verbs maps operations to the commands that perform them.
var verbs = map[adapters.Op]string{adapters.Cancel: "qdel", adapters.HoldJobs: "qhold", adapters.Release: "qrls"}

// operandsAtOnce is the largest number of operands in a command; PBS handles them one by
// one.
const operandsAtOnce = 200

// commands returns the commands for targets. Jobs and whole arrays share a command, up to atOnce of them in each. A
// range or a member of an OpenPBS array has a command of its own, because qdel loses all ranges of one array except the
// first two, and many ranges crash the server. The largest ranges come first. Torque takes the members of one array in
// an option.
func commands(op adapters.Op, d dialect, targets []target, atOnce int) []command {
	var shared, single []command
	for _, t := range targets {
		switch {
		case !t.array:
			shared = addOperand(shared, op, t.seq, t.refs(), atOnce)
		case t.whole:
			shared = addOperand(shared, op, t.seq+"[]", t.refs(), atOnce)
		case d == torque:
			single = append(single, torqueCommand(op, t))
		default:
			for _, r := range t.runs() {
				single = addOperand(single, op, t.seq+"["+r.text+"]", r.refs, 1)
			}
		}
	}
	if d != torque {
		slices.SortStableFunc(single, func(a, b command) int { return cmp.Compare(b.answered(), a.answered()) })
	}
	return append(shared, single...)
}

// addOperand adds an operand to the last command, or to a new command if the last command has atOnce operands.
func addOperand(out []command, op adapters.Op, operand string, refs []int, atOnce int) []command {
	last := len(out) - 1
	if last < 0 || len(out[last].operands) >= atOnce {
		out = append(out, command{argv: []string{verbs[op]}, operands: map[string][]int{}})
		last++
	}
	if _, there := out[last].operands[operand]; !there {
		out[last].argv = append(out[last].argv, operand)
	}
	out[last].operands[operand] = append(out[last].operands[operand], refs...)
	return out
}

// torqueCommand returns the command for members of a Torque array.
func torqueCommand(op adapters.Op, t target) command {
	var spans []string
	for _, r := range t.runs() {
		spans = append(spans, r.text)
	}
	return command{
		argv:     []string{verbs[op], "-t", strings.Join(spans, ","), t.seq + "[]"},
		operands: map[string][]int{t.seq + "[]": t.refs()},
	}
}

// answered returns the number of references that a command answers.
func (c command) answered() (n int) {
	for _, refs := range c.operands {
		n += len(refs)
	}
	return n
}

// outcome sets the answers from the output of a command. The command's exit code is the code of its last error, and
// each error has a line that names an operand. If a line names no operand, or if no line names any operand, the answers
// for all unnamed operands are errors of kind Busy. A command that found no reserved port may exit with 0 although it
// did nothing: all its answers are errors of kind Busy.
func outcome(op adapters.Op, out run.Output, c command, answers []error) {
	if out.Exit == 0 && !saysNoPorts(out.Stderr) {
		return
	}
	named, unnamed := complaints(out.Stderr)
	doubt := len(unnamed) > 0 || len(named) == 0
	for operand, refs := range c.operands {
		text, is := named[operand]
		var err error
		switch {
		case is:
			err = controlError(op, text, operand)
		case doubt:
			err = jjm.Errorf(jjm.Busy, "%s: exit %d: %s", c.argv[0], out.Exit, complaint(out.Stderr))
		}
		for _, ref := range refs {
			answers[ref] = err
		}
	}
}
