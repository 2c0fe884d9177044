package house_test

import (
	"go/ast"
	"go/token"
	"slices"
)

// poll adds a loop that checks a condition a fixed number of times, with pauses: the number of checks times the pause
// is a deadline.
func (f *finder) poll(n ast.Stmt) {
	counted := false
	switch n := n.(type) {
	case *ast.RangeStmt:
		v := f.value(n.X)
		counted = v.n > 0 && !v.unit
	case *ast.ForStmt:
		counted = f.counts(n)
	}
	if counted && pauses(n) && ends(n) {
		f.add(n, "a fixed number of checks with pauses is a deadline")
	}
}

// counts reports whether a loop counts its rounds and compares the count with a number.
func (f *finder) counts(loop *ast.ForStmt) (found bool) {
	counters := map[string]bool{}
	outsideFunctions(loop, func(n ast.Node) {
		if n, ok := n.(*ast.IncDecStmt); ok {
			counters[dotted(n.X)] = true
		}
	})
	outsideFunctions(loop, func(n ast.Node) {
		if n, ok := n.(*ast.BinaryExpr); ok && compares(n) {
			v := f.value(n.Y)
			down := isNumber(n.Y) && loop.Init != nil && f.fromNumber(loop.Init)
			found = found || counters[dotted(n.X)] && !v.unit && (v.n > 0 || down)
		}
	})
	return found
}

func isNumber(x ast.Expr) bool {
	_, ok := x.(*ast.BasicLit)
	return ok
}

// fromNumber reports whether a statement assigns a positive number.
func (f *finder) fromNumber(s ast.Stmt) bool {
	a, ok := s.(*ast.AssignStmt)
	return ok && slices.ContainsFunc(a.Rhs, func(x ast.Expr) bool { return f.value(x).n > 0 })
}

// pauses reports whether a loop waits in each round.
func pauses(loop ast.Stmt) (found bool) {
	outsideFunctions(loop, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = found || slices.Contains([]string{"time.Sleep", "time.After", "time.Tick"}, called(n))
		case *ast.UnaryExpr:
			from, ok := n.X.(*ast.SelectorExpr)
			found = found || n.Op == token.ARROW && ok && from.Sel.Name == "C"
		}
	})
	return found
}

// ends reports whether a loop can end before its last round or keeps the result of a check.
func ends(loop ast.Stmt) (found bool) {
	outsideFunctions(loop, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.BranchStmt:
			found = found || n.Tok == token.BREAK || n.Tok == token.GOTO
		case *ast.ReturnStmt:
			found = true
		case *ast.AssignStmt:
			found = found || n.Tok == token.ASSIGN && !isNamed(n.Lhs[0], "_")
		case *ast.BinaryExpr:
			if loop, ok := loop.(*ast.ForStmt); ok && loop.Cond != nil && n.Op == token.LAND {
				found = found || loop.Cond.Pos() <= n.Pos() && n.End() <= loop.Cond.End()
			}
		}
	})
	return found
}

// outsideFunctions visits the nodes of a loop, but not those of the function literals in the loop.
func outsideFunctions(loop ast.Stmt, visit func(ast.Node)) {
	ast.Inspect(loop, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		visit(n)
		return true
	})
}
