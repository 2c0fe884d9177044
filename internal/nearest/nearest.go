// Package nearest finds the known word that somebody probably meant: an error
// about an unknown key or command says which one that is.
package nearest

import "strings"

// maxWord is the longest word worth comparing, in bytes: the cost is quadratic.
const maxWord = 64

// shortest is from how many letters on the beginning of a known word stands for it.
const shortest = 3

// Of returns the known word nearest to word, or "" if none is near: more than a
// third of its letters would have to change (at least one, at most three). Letters'
// case does not count, nor whether words are joined by "_", "-" or a blank; where only
// the end is missing, one letter counts as changed. Of two equally near the one that
// comes first in the alphabet is returned, so that the answer depends on no order.
func Of(word string, known []string) string {
	if word == "" || len(word) > maxWord {
		return ""
	}
	word = plain(word)
	best, least := "", min(max(len(word)/3, 1), 3)+1
	for _, k := range known {
		full := plain(k)
		d := distance(word, full)
		if len(word) >= shortest && len(full) <= maxWord && strings.HasPrefix(full, word) {
			d = min(d, 1)
		}
		if d < least || d == least && best != "" && k < best {
			best, least = k, d
		}
	}
	return best
}

// plain drops what does not count in a comparison.
func plain(word string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return '_'
		}
		return r
	}, strings.ToLower(word))
}

// distance is the number of bytes to insert, delete, replace or swap with their
// neighbour to make b of a (optimal string alignment; Damerau 1964,
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
