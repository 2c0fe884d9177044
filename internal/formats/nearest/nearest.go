// Package nearest finds the known word that a user probably meant, for errors about an
// unknown key or command.
package nearest

import (
	"cmp"
	"strings"
)

// maxWord is the longest word that is compared, in bytes, because the cost is quadratic.
const maxWord = 64

// shortest is the minimum number of letters of an abbreviation of a known word.
const shortest = 3

// Of returns the known word nearest to word, or "" if no known word is near. A known word is near if at most a third of
// the letters of word would have to change; one letter may always change, and never more than three. Upper and lower
// case count as equal, and so do words joined by "_", "-" or a blank. If word has at least three letters and only lacks
// the end of the known word, the lacking end counts as one changed letter. If several known words are equally near, the
// result is the word with the fewest changed or missing letters, and among equal words the alphabetically first. So the
// result does not depend on the order of known. Of returns "" for words over maxWord bytes.
func Of(word string, known []string) string {
	if word == "" || len(word) > maxWord {
		return ""
	}
	word = plain(word)
	best, least, letters := "", min(max(len(word)/3, 1), 3)+1, 0
	for _, k := range known {
		full := plain(k)
		n := distance(word, full)
		if n >= max(len(word), len(full)) {
			continue // the two words have nothing in common
		}
		d := n
		if len(word) >= shortest && len(full) <= maxWord && strings.HasPrefix(full, word) {
			d = min(d, 1)
		}
		if d < least || d == least && best != "" && cmp.Or(cmp.Compare(n, letters), strings.Compare(k, best)) < 0 {
			best, least, letters = k, d, n
		}
	}
	return best
}

// plain removes differences that do not count in a comparison.
func plain(word string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return '_'
		}
		return r
	}, strings.ToLower(word))
}

// distance returns the number of bytes that must be inserted, deleted, replaced or swapped with their
// neighbour to turn a into b (optimal string alignment; Damerau 1964,
// doi:10.1145/363958.363994).
func distance(a, b string) int {
	if len(b) > maxWord {
		return maxWord
	}
	var rows [3][maxWord + 1]int
	before, prev, cur := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
