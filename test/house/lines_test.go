package house_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	// maxColumns is the maximum length of a line. A tab counts as one column.
	maxColumns = 120
	// maxCut is the maximum length of a text in a program that may be split over several lines. A longer text stays on one
	// line, so that a search for the text of an error finds it.
	maxCut = 50
)

// The lines of sources and documents are short enough for two windows side by side.
func TestLines_AreNotTooLong(t *testing.T) {
	inTree(t)
	for _, file := range append(sources(t), pages(t)...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var whole map[int]bool
		if strings.HasSuffix(file, ".go") {
			whole = longTexts(text)
		} else {
			whole = tables(string(text))
		}
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line); n > maxColumns && !whole[i+1] {
				t.Errorf("%s:%d: %d columns: want at most %d", file, i+1, n, maxColumns)
			}
		}
	}
}

// longTexts returns the lines of a Go source that have a string of more than maxCut bytes, or a part of a string of
// several lines.
func longTexts(src []byte) map[int]bool {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	found := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return found
		}
		if tok != token.STRING || len(text) <= maxCut {
			continue
		}
		first := file.Line(pos)
		for i := range 1 + strings.Count(text, "\n") {
			found[first+i] = true
		}
	}
}

// tables returns the lines of a page that belong to a table or to a code block.
func tables(text string) map[int]bool {
	found, shown := map[int]bool{}, false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			shown = !shown
		}
		found[i+1] = shown || strings.HasPrefix(line, "|")
	}
	return found
}

// sources are the Go files of this project.
func sources(t *testing.T) []string { return filesOf(t, ".go") }

// pages are the documents of this project.
func pages(t *testing.T) []string { return filesOf(t, ".md") }

func filesOf(t *testing.T, extension string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, extension) {
			all = append(all, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The test checks that longTexts and tables find the lines that may be longer than the limit.
func TestLines_ALongOneIsSeen(t *testing.T) {
	inTree(t)
	long := []byte("package p\nvar a = f(" + strings.Repeat("b, ", 50) + "\n\tc)\n" +
		"var s = \"" + strings.Repeat("x", 130) + "\"\n")
	whole := longTexts(long)
	lines := bytes.Split(long, []byte("\n"))
	if len(lines[1]) <= maxColumns || whole[2] || !whole[4] {
		t.Errorf("excused are the lines %v", whole)
	}
	if page := tables("|a|\n```\nb\n```\nc\n"); !page[1] || !page[3] || page[5] {
		t.Errorf("excused are the lines %v of a page", page)
	}
}
