package strict

import (
	"sort"
	"strings"
)

// unknown says that a key is not known, and which was probably meant.
func unknown(key string, known []string) string {
	text := "unknown key " + quote(key)
	if near := Nearest(key, known); near != "" {
		return text + `: did you mean "` + near + `"?`
	}
	if len(known) == 0 {
		return text + ": nothing can be set here"
	}
	names := append([]string(nil), known...)
	sort.Strings(names)
	return text + ": known are " + strings.Join(names, ", ")
}

// Nearest gives the known word that a misspelt one most probably stands for,
// or "" if none is near: at most a third of the letters may differ, or the end
// may be missing.
func Nearest(word string, known []string) string {
	if len(word) > MaxKeyBytes {
		return ""
	}
	plain := strings.NewReplacer("-", "_", " ", "_")
	word = plain.Replace(strings.ToLower(word))
	best, least := "", 1+max(1, len(word)/3)
	for _, k := range known {
		full := plain.Replace(strings.ToLower(k))
		d := distance(word, full)
		if len(word) >= 3 && strings.HasPrefix(full, word) {
			d = 1
		}
		if d < least || d == least && best != "" && k < best {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, change or swap with their
// neighbour to get from a to b (optimal string alignment; Damerau 1964,
// doi:10.1145/363958.363994).
func distance(a, b string) int {
	two, one, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			change := one[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			now[j] = min(one[j]+1, now[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], two[j-2]+1)
			}
		}
		two, one, now = one, now, two
	}
	return one[len(b)]
}
