package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"jjm/internal/api/plain"
)

// maxColumns is the greatest length of an output line, in characters.
const maxColumns = 120

// gap is the number of blanks between two columns.
const gap = 2

// leastColumn is the smallest width, in characters, to which a column is cut.
const leastColumn = 6

// table prints rows in aligned columns. The first row has the names of the columns. So that no line is longer than
// maxColumns, table cuts the columns named in cuts, the widest first. These columns contain texts from outside.
func (c *cli) table(rows [][]string, cuts ...string) error {
	return c.aligned(fit(cells(rows), cuts))
}

// cells returns the rows with printable texts, and "-" in place of empty cells.
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

// leastText is the least width of a last column that must not be cut, if its texts are that long.
const leastText = 40

// wholeTable is table for rows whose last column is the most important one. The last column is not cut, but continued
// on the next lines, and a word that is longer than the column is split. The columns named in cuts are cut to make room
// for it.
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

// columnsBefore returns the number of characters on a line before its last column.
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

// parted returns a text in which blanks split each word that is longer than width characters.
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

// aligned prints rows in aligned columns, without cutting. Each column is as wide as its widest cell.
func (c *cli) aligned(rows [][]string) error {
	w := tabwriter.NewWriter(c.out, 0, 1, gap, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// fit cuts cells of the columns named in cuts until no row is longer than maxColumns. It shortens the widest of these
// columns first. No column becomes narrower than leastColumn or its name, so a row may still be longer.
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

// shorten cuts a text to n characters, of which the last is an ellipsis. It cuts after a whole word, unless less than
// half of the n characters would be left.
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

// wholeWords returns a text that was cut before the character next, without a partial word at its end and without last
// words that need a further word: "exit code 3 after 2 s on" becomes "exit code 3 after 2 s".
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

// leadsOn reports whether a word makes no sense without a following word.
func leadsOn(word string) bool {
	switch word {
	case "", "a", "an", "the", "after", "at", "before", "by", "for", "from", "in", "into", "of", "on", "to", "with",
		"and", "or":
		return true
	}
	return false
}

// manual prints rows in aligned columns without cutting: the last column is continued on the next lines.
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

// facts prints a line "name value" for each row, and leaves out rows without a value. A value that is too long for a
// line is continued below its beginning. Words are not split, so that people can copy a path from the terminal.
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

// wrap breaks a text at its blanks into lines of at most width characters. A word that is longer than a line is on a
// line of its own.
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

// hanging breaks a text into lines of at most maxColumns characters. All lines except the first are indented.
func hanging(text string) string { return strings.Join(wrap(text, maxColumns-2), "\n  ") }
