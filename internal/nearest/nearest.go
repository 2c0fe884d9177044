// Package nearest finds the known word that somebody probably meant: an error
// about an unknown key or command says which one that is.
package nearest

import "strings"

// maxWord is the longest word worth comparing: the cost is quadratic.
const maxWord = 64

// Of gives the known word nearest to word, letters' case aside, or "" if none
// is near: more than a third of its letters would have to change (at least
// one, at most three). Of two equally near the first wins.
func Of(word string, known []string) string {
	if word == "" || len(word) > maxWord {
		return ""
	}
	best, least := "", min(max(len(word)/3, 1), 3)+1
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of bytes to insert, delete, replace or swap with their
// neighbour to make b of a (optimal string alignment).
func distance(a, b string) int {
	if len(b) > maxWord {
		return maxWord
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
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
