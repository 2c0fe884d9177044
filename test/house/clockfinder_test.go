package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"time"
)

// clocks finds, in the tests of one folder, the places where the result of a test depends on a clock (see
// TestClocks_NoVerdictDependsOnOne).
type clocks struct {
	set     *token.FileSet
	files   []*source
	marked  map[string]map[int]bool // the lines with a mark, by file
	names   map[string]definition   // the constants and variables of the package
	module  module                  // those of other packages
	bubbles *bubbles
}

func newClocks(m module) *clocks {
	return &clocks{set: token.NewFileSet(), marked: map[string]map[int]bool{}, names: map[string]definition{}, module: m}
}

// add parses a file and notes its marks and constants. If the file is no test, only its constants count.
func (c *clocks) add(path, text string, test bool) error {
	file, err := parser.ParseFile(c.set, path, text, parser.ParseComments)
	if err != nil {
		return err
	}
	s := newSource(file)
	c.marked[path] = marks(text)
	define(s, c.names, c.isMarked)
	if test {
		c.files = append(c.files, s)
	}
	return nil
}

var mark = regexp.MustCompile(`//\s*(provoked|pause|figure): \S`)

// marks returns the lines of a text that have a mark. A mark on a separate line marks the first line of code below.
func marks(text string) map[int]bool {
	lines, open := map[int]bool{}, false
	for i, line := range strings.Split(text, "\n") {
		alone := strings.HasPrefix(strings.TrimSpace(line), "//")
		found := mark.MatchString(line)
		lines[i+1] = found || open && !alone
		open = alone && (found || open)
	}
	return lines
}

// find returns a text for each place that depends on a clock, with its position.
func (c *clocks) find() (found []string) {
	c.bubbles = newBubbles(c.files)
	for _, file := range c.files {
		for _, i := range file.Imports {
			if i.Name != nil && i.Name.Name == "." && slices.Contains(timing, i.Path.Value) {
				found = append(found, fmt.Sprintf("%s: imports %s with a dot", c.set.Position(i.Pos()), i.Path.Value))
			}
		}
		for _, d := range file.Decls {
			f := finder{evaluator: evaluator{clocks: c, file: file, local: map[string]number{}}, took: map[string]bool{},
				nows: map[string]bool{}, ends: map[string]token.Pos{}, calls: map[ast.Expr]bool{}}
			ast.Inspect(d, f.learn)
			ast.Inspect(d, f.look)
			found = append(found, f.found...)
		}
	}
	return found
}

// timing are the packages whose functions the checks know by name.
var timing = []string{`"time"`, `"context"`, `"net"`, `"net/http"`, `"os/exec"`, `"testing/synctest"`}

func (c *clocks) isMarked(at token.Pos) bool {
	p := c.set.Position(at)
	return c.marked[p.Filename][p.Line]
}

// finder finds the places that depend on a clock in one declaration.
type finder struct {
	evaluator
	took  map[string]bool      // names of durations that were measured
	nows  map[string]bool      // names of moments that time.Now returned
	ends  map[string]token.Pos // names of moments less than a minute in the future
	calls map[ast.Expr]bool    // the functions that are called
	found []string
}

// learn records which of the declaration's names stand for times and moments.
func (f *finder) learn(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		for _, s := range n.Specs {
			if v, ok := s.(*ast.ValueSpec); ok {
				f.values(v)
			}
		}
	case *ast.FuncType:
		for _, p := range n.Params.List {
			for _, name := range p.Names {
				f.name(name, nil)
			}
		}
	case *ast.RangeStmt:
		f.name(n.Key, nil)
		f.name(n.Value, nil)
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if len(n.Lhs) != len(n.Rhs) {
				f.name(left, nil)
			} else if name, ok := left.(*ast.Ident); ok {
				f.assigned(name, n, n.Rhs[i])
			}
		}
	}
	return true
}

func (f *finder) values(v *ast.ValueSpec) {
	for i, name := range v.Names {
		if len(v.Values) == len(v.Names) {
			f.name(name, v.Values[i])
		} else {
			f.name(name, nil)
		}
	}
}

func (f *finder) assigned(name *ast.Ident, at *ast.AssignStmt, value ast.Expr) {
	f.name(name, value)
	if f.measures(value) {
		f.took[name.Name] = true
	}
	if call, ok := value.(*ast.CallExpr); ok && called(call) == "time.Now" {
		f.nows[name.Name] = true
	}
	if f.soon(value) {
		f.ends[name.Name] = at.Pos()
	}
}

// name records the value of a name, or that its value is unknown. A short time remains known if the name has further
// values.
func (f *finder) name(x, value ast.Expr) {
	name, ok := x.(*ast.Ident)
	if !ok || f.local[name.Name].short() {
		return
	}
	v := number{}
	if value != nil && !f.isMarked(name.Pos()) {
		v = f.value(value)
	}
	f.local[name.Name] = v
}

var (
	// limits are the fields with the deadline of a call or the patience of a test.
	limits = []string{"Deadline", "Timeout", "Patience", "WaitDelay"}
	// guards are the names of times that guard against hangs.
	guards = regexp.MustCompile(`(?i)patience$|^(alive|dead|final)within$|^hang$`)
	// waits are the names of functions that wait for a condition.
	waits = regexp.MustCompile(`(?i)^(await|until|untilof|eventually|overwithin|died)$`)
	// processor are the names of functions that return CPU time.
	processor = regexp.MustCompile(`(^|\.)(cpu|childrenCPU|processCPU|threadCPU)$|\.(User|System)Time$|` +
		`\.(Elapsed|NsPerOp)$`)
	// timers maps functions that end something after a time to the position of the argument with the time.
	timers = map[string]int{"context.WithTimeout": 1, "context.WithTimeoutCause": 1, "context.WithDeadline": 1,
		"context.WithDeadlineCause": 1, "net.DialTimeout": 2, "time.After": 0, "time.NewTimer": 0,
		"time.AfterFunc": 0, "SetDeadline": 0, "SetReadDeadline": 0, "SetWriteDeadline": 0}
)

// look adds the places in a node that depend on a clock.
func (f *finder) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if compares(n) && (f.measures(n.X) || f.measures(n.Y)) {
			f.add(n, "compares how long something took")
		}
	case *ast.CallExpr:
		f.calls[n.Fun] = true
		f.call(n)
		f.options(n.Args)
	case *ast.BasicLit:
		f.script(n)
	case *ast.KeyValueExpr:
		f.limit(n.Key, n.Value)
	case *ast.CompositeLit:
		f.command(n)
		f.options(n.Elts)
	case *ast.AssignStmt:
		for i := range min(len(n.Lhs), len(n.Rhs)) {
			if n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
				break
			}
			f.limit(n.Lhs[i], n.Rhs[i])
		}
	case *ast.ForStmt:
		f.loop(n)
		f.poll(n)
	case *ast.RangeStmt:
		f.poll(n)
	case *ast.SelectorExpr:
		f.alias(n)
	case *ast.ReturnStmt:
		if len(n.Results) == 1 && f.isMeasurement(n.Results[0]) {
			f.add(n, "returns how long something took, and another function may compare it")
		}
	case *ast.ValueSpec:
		for i := range min(len(n.Names), len(n.Values)) {
			if _, known := f.lasts(n.Values[i]); known && guards.MatchString(n.Names[i].Name) {
				f.add(n, n.Names[i].Name+" is no await.Guard")
			}
		}
	}
	return true
}

// compares reports whether an operator compares its operands.
func compares(n *ast.BinaryExpr) bool {
	return slices.Contains([]token.Token{token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ}, n.Op)
}

func (f *finder) call(n *ast.CallExpr) {
	name := called(n)
	last := name[strings.LastIndex(name, ".")+1:]
	at, ok := timers[name]
	if !ok {
		at, ok = timers[last]
		ok = ok && strings.HasPrefix(last, "Set")
	}
	switch {
	case ok && at < len(n.Args) && (f.short(n.Args[at]) || f.soon(n.Args[at])):
		f.add(n, name+" of less than a minute")
	case waits.MatchString(last) && slices.ContainsFunc(n.Args, f.literal):
		f.add(n, name+" for less than a minute")
	}
}

// limit adds a field that is set to a deadline below a minute.
func (f *finder) limit(field, value ast.Expr) {
	name := ""
	switch x := field.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	if slices.Contains(limits, name) && f.short(value) {
		f.add(value, name+" of less than a minute")
	}
}

// command adds a run.Cmd without a Deadline, because the product's default deadline would apply.
func (f *finder) command(n *ast.CompositeLit) {
	kind, ok := n.Type.(*ast.SelectorExpr)
	if !ok || kind.Sel.Name != "Cmd" || !isNamed(kind.X, "run") {
		return
	}
	has := func(field string) bool {
		return slices.ContainsFunc(n.Elts, func(x ast.Expr) bool {
			pair, ok := x.(*ast.KeyValueExpr)
			return ok && isNamed(pair.Key, field)
		})
	}
	if has("Argv") && !has("Deadline") {
		f.add(n, "run.Cmd without Deadline")
	}
}

func isNamed(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// loop adds a loop that ends less than a minute after its start.
func (f *finder) loop(n *ast.ForStmt) {
	if a, ok := n.Init.(*ast.AssignStmt); ok && slices.ContainsFunc(a.Rhs, f.soon) {
		f.add(n, "a loop of less than a minute")
		return
	}
	ast.Inspect(n, func(inner ast.Node) bool {
		name, ok := inner.(*ast.Ident)
		if at, end := token.NoPos, false; ok {
			if at, end = f.ends[name.Name]; end && at < n.Pos() && !f.isMarked(at) {
				f.add(n, "a loop of less than a minute")
				return false
			}
		}
		return true
	})
}

func (f *finder) add(n ast.Node, what string) {
	if !f.isMarked(n.Pos()) && !f.bubbles.holds(n.Pos()) {
		f.found = append(f.found, fmt.Sprintf("%s: %s", f.set.Position(n.Pos()), what))
	}
}

// isMeasurement reports whether an expression is a measured duration and nothing else.
func (f *finder) isMeasurement(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return f.took[x.Name]
	case *ast.CallExpr:
		return f.timed(called(x))
	}
	return false
}

// timed reports whether a function with the dotted name returns how long something took, in time or CPU time.
func (f *finder) timed(name string) bool {
	from, sub := strings.CutSuffix(name, ".Sub")
	return name == "time.Since" || name == "time.Now.Sub" || sub && f.nows[from] || processor.MatchString(name)
}

// measures reports whether an expression contains a measured duration outside of comparisons.
func (f *finder) measures(x ast.Expr) (found bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BinaryExpr:
			if compares(n) {
				return false
			}
		case *ast.Ident:
			found = found || f.took[n.Name]
		case *ast.CallExpr:
			found = found || f.timed(called(n))
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "Utime" || n.Sel.Name == "Stime" // of syscall.Rusage
		}
		return !found
	})
	return found
}

// soon reports whether an expression is a moment less than a minute from now.
func (f *finder) soon(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	return ok && called(call) == "time.Now.Add" && len(call.Args) == 1 && f.short(call.Args[0])
}

// short reports whether an expression is a time below a minute.
func (f *finder) short(x ast.Expr) bool { return f.value(x).short() }

// literal reports whether an expression is a time below a minute that is written without names.
func (f *finder) literal(x ast.Expr) bool {
	d, known := evaluator{clocks: &clocks{}, file: f.file}.lasts(x)
	return known && d < time.Minute
}

// alias adds a function of the package time or context that measures or limits time and that is not called by its name.
func (f *finder) alias(n *ast.SelectorExpr) {
	name := dotted(n)
	if _, limits := timers[name]; (limits || name == "time.Since") && !f.calls[n] {
		f.add(n, name+" is used without a call, and hides from the other checks")
	}
}
