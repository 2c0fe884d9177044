package selection

// Glob is a pattern of texts: * matches any text, including the empty text, and ? matches any one character. Every
// other character matches itself. The pattern must match the whole text.
type Glob string

// Fits reports whether the pattern matches a text.
func (g Glob) Fits(text string) bool {
	pattern, rest := []rune(g), []rune(text)
	p, t := 0, 0
	star, from := -1, 0 // the position of the last *, and the position of the text after its match
	for t < len(rest) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from, p = p, t, p+1
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == rest[t]):
			p, t = p+1, t+1
		case star >= 0: // let the last * match one more character
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
