package house_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// bubbles are the parts of a package's tests that run only with the fake time of testing/synctest.
type bubbles struct {
	starters map[string]bool // functions that run a parameter in a bubble
	spans    [][2]token.Pos  // the arguments of calls of these functions, and the functions that only bubbles use
}

// newBubbles finds the bubbles in the tests of a package.
func newBubbles(files []*source) *bubbles {
	b := &bubbles{starters: map[string]bool{}}
	var functions []*ast.FuncDecl
	for _, file := range files {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				functions = append(functions, d)
			}
		}
	}
	for more := true; more; {
		b.spans, more = nil, false
		for _, f := range functions {
			ast.Inspect(f, b.enter)
			if waitsInBubble(f) {
				b.spans = append(b.spans, [2]token.Pos{f.Pos(), f.End()})
			}
		}
		for _, f := range functions {
			if !b.starters[f.Name.Name] && b.runs(f) {
				b.starters[f.Name.Name], more = true, true
			}
		}
	}
	b.addHelpers(files, functions)
	return b
}

// enter adds the arguments of a call that starts a bubble.
func (b *bubbles) enter(n ast.Node) bool {
	if call, ok := n.(*ast.CallExpr); ok && b.starts(call) {
		b.spans = append(b.spans, [2]token.Pos{call.Lparen, call.Rparen})
	}
	return true
}

// waitsInBubble reports whether a function itself calls synctest.Wait. That call panics outside of a bubble, so no test
// in real time can use the function.
func waitsInBubble(f *ast.FuncDecl) (found bool) {
	outsideFunctions(f.Body, func(n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && called(call) == "synctest.Wait"
	})
	return found
}

func (b *bubbles) starts(call *ast.CallExpr) bool {
	name := called(call)
	return name == "synctest.Test" || b.starters[name[strings.LastIndex(name, ".")+1:]]
}

func (b *bubbles) holds(at token.Pos) bool {
	return slices.ContainsFunc(b.spans, func(s [2]token.Pos) bool { return s[0] <= at && at <= s[1] })
}

// runs reports whether a function uses one of its parameters that are functions in a bubble, and nowhere else.
func (b *bubbles) runs(f *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool {
		if _, ok := p.Type.(*ast.FuncType); !ok {
			return false
		}
		return slices.ContainsFunc(p.Names, func(name *ast.Ident) bool {
			in, out := 0, 0
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if isNode(n, name.Name) && b.holds(n.Pos()) {
					in++
				} else if isNode(n, name.Name) {
					out++
				}
				return true
			})
			return in > 0 && out == 0
		})
	})
}

func isNode(n ast.Node, name string) bool {
	id, ok := n.(*ast.Ident)
	return ok && id.Name == name
}

// addHelpers adds the functions that are used only in bubbles.
func (b *bubbles) addHelpers(files []*source, functions []*ast.FuncDecl) {
	uses := map[string][]token.Pos{}
	for _, file := range files {
		ast.Inspect(file.File, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				uses[id.Name] = append(uses[id.Name], id.Pos())
			}
			return true
		})
	}
	// All functions that something uses are helpers, until a use outside of bubbles and helpers is found.
	helpers := slices.DeleteFunc(slices.Clone(functions), func(f *ast.FuncDecl) bool {
		return len(uses[f.Name.Name]) < 2 || b.starters[f.Name.Name]
	})
	outside := func(f *ast.FuncDecl) bool {
		return slices.ContainsFunc(uses[f.Name.Name], func(at token.Pos) bool {
			declared := slices.ContainsFunc(functions, func(g *ast.FuncDecl) bool { return g.Name.Pos() == at })
			return !declared && !b.holds(at) &&
				!slices.ContainsFunc(helpers, func(h *ast.FuncDecl) bool { return h.Pos() <= at && at <= h.End() })
		})
	}
	for n := -1; n != len(helpers); {
		n = len(helpers)
		kept := slices.DeleteFunc(slices.Clone(helpers), outside)
		helpers = kept
	}
	for _, h := range helpers {
		b.spans = append(b.spans, [2]token.Pos{h.Pos(), h.End()})
	}
}
