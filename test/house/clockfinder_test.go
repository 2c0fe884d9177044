package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clocks finds, in the tests of one folder, the places where the result of a test depends on a clock (see
// TestClocks_NoVerdictDependsOnOne).
type clocks struct {
	set    *token.FileSet
	files  []*ast.File
	marked map[string]map[int]bool // the lines with a mark, by file
	shorts map[string]bool         // names of package constants that are times below a minute without a mark
}

func newClocks() *clocks {
	return &clocks{set: token.NewFileSet(), marked: map[string]map[int]bool{}, shorts: map[string]bool{}}
}

// add parses a file and notes its marks and constants.
func (c *clocks) add(path, text string) error {
	file, err := parser.ParseFile(c.set, path, text, parser.ParseComments)
	if err != nil {
		return err
	}
	c.files = append(c.files, file)
	c.marked[path] = marks(text)
	for _, d := range file.Decls {
		if d, ok := d.(*ast.GenDecl); ok {
			c.declared(d, c.shorts)
		}
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
	for _, file := range c.files {
		if slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` }) {
			continue // these tests run with fake time
		}
		for _, d := range file.Decls {
			f := finder{clocks: c, shorts: map[string]bool{}, took: map[string]bool{}, nows: map[string]bool{},
				ends: map[string]token.Pos{}}
			ast.Inspect(d, f.learn)
			ast.Inspect(d, f.look)
			found = append(found, f.found...)
		}
	}
	return found
}

// declared adds to shorts the names in a declaration that stand for times below a minute without a mark.
func (c *clocks) declared(d *ast.GenDecl, shorts map[string]bool) {
	for _, s := range d.Specs {
		if v, ok := s.(*ast.ValueSpec); ok && len(v.Values) == len(v.Names) {
			for i, name := range v.Names {
				c.name(name, v.Values[i], shorts)
			}
		}
	}
}

func (c *clocks) name(name *ast.Ident, value ast.Expr, shorts map[string]bool) {
	if d, known := lasts(value); known && d < time.Minute && !c.isMarked(name.Pos()) {
		shorts[name.Name] = true
	}
}

func (c *clocks) isMarked(at token.Pos) bool {
	p := c.set.Position(at)
	return c.marked[p.Filename][p.Line]
}

// finder finds the places that depend on a clock in one declaration.
type finder struct {
	*clocks
	shorts map[string]bool      // names of times below a minute
	took   map[string]bool      // names of durations that were measured
	nows   map[string]bool      // names of moments that time.Now returned
	ends   map[string]token.Pos // names of moments less than a minute in the future
	found  []string
}

// learn records which of the declaration's names stand for times and moments.
func (f *finder) learn(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		f.declared(n, f.shorts)
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if name, ok := left.(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) {
				f.name(name, n.Rhs[i], f.shorts)
				if f.measures(n.Rhs[i]) {
					f.took[name.Name] = true
				}
				if call, ok := n.Rhs[i].(*ast.CallExpr); ok && called(call) == "time.Now" {
					f.nows[name.Name] = true
				}
				if f.soon(n.Rhs[i]) {
					f.ends[name.Name] = n.Pos()
				}
			}
		}
	}
	return true
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
		f.call(n)
	case *ast.KeyValueExpr:
		f.limit(n.Key, n.Value)
	case *ast.CompositeLit:
		f.command(n)
	case *ast.AssignStmt:
		for i := range min(len(n.Lhs), len(n.Rhs)) {
			if n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
				break
			}
			f.limit(n.Lhs[i], n.Rhs[i])
		}
	case *ast.ForStmt:
		f.loop(n)
	case *ast.ReturnStmt:
		if len(n.Results) == 1 && f.isMeasurement(n.Results[0]) {
			f.add(n, "returns how long something took, and another function may compare it")
		}
	case *ast.ValueSpec:
		for i := range min(len(n.Names), len(n.Values)) {
			if _, known := lasts(n.Values[i]); known && guards.MatchString(n.Names[i].Name) {
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
	case waits.MatchString(last) && slices.ContainsFunc(n.Args, literal):
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
	if !f.isMarked(n.Pos()) {
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
func (f *finder) short(x ast.Expr) bool {
	if name, ok := x.(*ast.Ident); ok {
		return f.shorts[name.Name] || f.clocks.shorts[name.Name]
	}
	if call, ok := x.(*ast.CallExpr); ok && len(call.Args) == 1 && strings.HasSuffix(called(call), "Duration") {
		return f.short(call.Args[0])
	}
	if number, ok := x.(*ast.BasicLit); ok { // nanoseconds
		n, _ := value(number)
		return n > 0 && n < float64(time.Minute)
	}
	return literal(x)
}

// literal reports whether an expression is a time below a minute that is written without names.
func literal(x ast.Expr) bool {
	d, known := lasts(x)
	return known && d < time.Minute
}

var units = map[string]time.Duration{"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond,
	"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}

// lasts returns the time of a literal expression. It returns false for zero, which sets no limit.
func lasts(x ast.Expr) (time.Duration, bool) {
	d, unit := value(x)
	return time.Duration(d), unit && d > 0
}

// value returns the number of nanoseconds of an expression, or the plain number if the expression has no unit.
func value(x ast.Expr) (n float64, unit bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		n, _ = strconv.ParseFloat(x.Value, 64)
	case *ast.ParenExpr:
		return value(x.X)
	case *ast.SelectorExpr:
		if p, ok := x.X.(*ast.Ident); ok && p.Name == "time" && units[x.Sel.Name] > 0 {
			return float64(units[x.Sel.Name]), true
		}
	case *ast.CallExpr:
		if len(x.Args) == 1 && strings.HasSuffix(called(x), "Duration") {
			return value(x.Args[0])
		}
	case *ast.BinaryExpr:
		a, ofA := value(x.X)
		b, ofB := value(x.Y)
		switch {
		case x.Op == token.MUL:
			return a * b, ofA || ofB
		case x.Op == token.ADD && ofA && ofB:
			return a + b, true
		case x.Op == token.QUO && ofA && !ofB && b > 0:
			return a / b, true
		}
	}
	return n, false
}

// called returns the dotted name of the called function, without the arguments of the calls in it.
func called(call *ast.CallExpr) string {
	var name func(ast.Expr) string
	name = func(x ast.Expr) string {
		switch x := x.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.SelectorExpr:
			return name(x.X) + "." + x.Sel.Name
		case *ast.CallExpr:
			return name(x.Fun)
		}
		return ""
	}
	return name(call.Fun)
}
