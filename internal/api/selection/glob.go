package selection

// Glob is a pattern of texts: * stands for any text, also none, and ? for any one character. Everything else stands for
// itself. The whole text has to fit.
type Glob string

// Fits reports whether a text fits the pattern.
func (g Glob) Fits(text string) bool {
	pattern, rest := []rune(g), []rune(text)
	p, t := 0, 0
	star, from := -1, 0 // the last * in the pattern, and where the text behind what it stands for begins
	for t < len(rest) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from, p = p, t, p+1
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == rest[t]):
			p, t = p+1, t+1
		case star >= 0: // the star stands for one character more
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
