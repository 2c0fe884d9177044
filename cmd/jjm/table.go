package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"jjm/internal/api/plain"
)

// maxColumns is the longest line of a table.
const maxColumns = 120

// gap is the number of blanks between two columns.
const gap = 2

// leastColumn is the smallest width to which a column is cut.
const leastColumn = 6

// table prints rows in aligned columns. The first row has the names of the columns. Lines
// are at most maxColumns long: the columns named in cuts, which hold texts from outside,
// are cut, the widest first.
func (c *cli) table(rows [][]string, cuts ...string) error {
	return c.aligned(fit(cells(rows), cuts))
}

// cells returns rows with printable cells, and "-" in place of empty ones.
func cells(rows [][]string) [][]string {
	shown := make([][]string, len(rows))
	for i, row := range rows {
		shown[i] = make([]string, len(row))
		for j, cell := range row {
			if shown[i][j] = plain.Printable(cell); shown[i][j] == "" {
				shown[i][j] = "-"
			}
		}
	}
	return shown
}

// leastText is the least width of a last column that is shown whole, if its texts need that much.
const leastText = 40

// wholeTable is table for rows whose last column is the most important column: the last column is not cut, and is
// continued on the next lines. The columns named in cuts are cut to make room. A word that is longer than the column is
// split.
func (c *cli) wholeTable(rows [][]string, cuts ...string) error {
	rows = cells(rows)
	last := len(rows[0]) - 1
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i], row[last] = row[last], shorten(row[last], leastText)
	}
	rows = fit(rows, append(cuts, rows[0][last]))
	width := maxColumns - columnsBefore(rows, last)
	var lines [][]string
	for i, row := range rows {
		for k, text := range wrap(parted(texts[i], width), width) {
			line := make([]string, last+1)
			if k == 0 {
				copy(line, row)
			}
			line[last] = text
			lines = append(lines, line)
		}
	}
	return c.aligned(lines)
}

// columnsBefore returns the number of characters before the last column.
func columnsBefore(rows [][]string, last int) (before int) {
	for j := range last {
		widest := 0
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row[j]))
		}
		before += widest + gap
	}
	return before
}

// parted returns a text in which blanks split the words that are longer than a number of characters.
func parted(text string, width int) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		var pieces []string
		for chars := []rune(word); len(chars) > 0; {
			n := min(width, len(chars))
			pieces, chars = append(pieces, string(chars[:n])), chars[n:]
		}
		words[i] = strings.Join(pieces, " ")
	}
	return strings.Join(words, " ")
}

// aligned prints rows without cutting. Each column is as wide as its widest cell.
func (c *cli) aligned(rows [][]string) error {
	w := tabwriter.NewWriter(c.out, 0, 1, gap, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// fit cuts cells of the columns named in cuts until no row is longer than maxColumns. It always cuts the widest column.
// No column becomes narrower than leastColumn or its name, so that rows may stay longer.
func fit(rows [][]string, cuts []string) [][]string {
	if len(rows) == 0 {
		return rows
	}
	widths, least := make([]int, len(rows[0])), make([]int, len(rows[0]))
	for _, row := range rows {
		for j, cell := range row {
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	total := gap * (len(widths) - 1)
	for j, w := range widths {
		total += w
		least[j] = w
	}
	for j, name := range rows[0] {
		for _, cut := range cuts {
			if name == cut {
				least[j] = min(widths[j], max(leastColumn, utf8.RuneCountInString(name)))
			}
		}
	}
	for ; total > maxColumns; total-- {
		widest := -1
		for j, w := range widths {
			if w > least[j] && (widest < 0 || w > widths[widest]) {
				widest = j
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	for _, row := range rows {
		for j := range row {
			row[j] = shorten(row[j], widths[j])
		}
	}
	return rows
}

// shorten cuts a text to n characters. The last character shows that something was cut. A text of several words is
// cut after a word, unless that would leave less than half of the room.
func shorten(s string, n int) string {
	chars := []rune(s)
	if len(chars) <= n {
		return s
	}
	kept := string(chars[:max(n-1, 0)])
	words := wholeWords(kept, chars[len([]rune(kept))])
	if 2*utf8.RuneCountInString(words) >= n {
		kept = words
	}
	return strings.TrimRight(kept, " ,;:") + "…"
}

// wholeWords returns a text that was cut before next, without a partial word at its end and without final words that
// have no meaning by themselves: "exit code 3 after 2 s on" becomes "exit code 3 after 2 s".
func wholeWords(text string, next rune) string {
	words := strings.Split(text, " ")
	if next != ' ' {
		words = words[:len(words)-1]
	}
	for len(words) > 0 && leadsOn(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return strings.Join(words, " ")
}

// leadsOn reports whether a word means nothing without the words that follow it.
func leadsOn(word string) bool {
	switch word {
	case "", "a", "an", "the", "after", "at", "before", "by", "for", "from", "in", "into", "of", "on", "to", "with",
		"and", "or":
		return true
	}
	return false
}

// manual prints a table of texts that must be complete: the last column is continued in the
// next lines.
func (c *cli) manual(rows [][]string) error {
	last := len(rows[0]) - 1
	before := columnsBefore(rows, last)
	var lines [][]string
	for _, row := range rows {
		for i, text := range wrap(row[last], maxColumns-before) {
			line := make([]string, last+1)
			if line[last] = text; i == 0 {
				copy(line, row[:last])
			}
			lines = append(lines, line)
		}
	}
	return c.aligned(lines)
}

// facts prints lines "name  value" and leaves out lines without a value. A value that is too long for a line is
// continued below its beginning. Words are not split, so that a path can be copied completely.
func (c *cli) facts(rows [][2]string) error {
	widest, kept := 0, rows[:0:0]
	for _, r := range rows {
		if r[1] != "" && r[1] != "-" {
			kept = append(kept, r)
			widest = max(widest, utf8.RuneCountInString(r[0]))
		}
	}
	var lines [][]string
	for _, r := range kept {
		name := "  " + r[0]
		for _, line := range wrap(plain.Printable(r[1]), maxColumns-widest-2-gap) {
			lines = append(lines, []string{name, line})
			name = "  "
		}
	}
	return c.aligned(lines)
}

// wrap splits a text at its blanks into lines of at most width characters. A word that is longer gets a separate line.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Split(text, " ") {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// hanging splits a text into lines of at most maxColumns. All lines but the first are indented.
func hanging(text string) string { return strings.Join(wrap(text, maxColumns-2), "\n  ") }
