package main

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"jjm/internal/jjm"
)

// maxFilter is the greatest length of a filter, in characters.
const maxFilter = 60

// keysOf returns the keys for the bytes that a terminal sent: a name for each special key that jjm top knows, and each
// other character itself. It leaves out unknown special keys.
func keysOf(text string) (keys []string) {
	for text != "" {
		key, n := keyOf(text)
		if key != "" {
			keys = append(keys, key)
		}
		text = text[n:]
	}
	return keys
}

// keyOf returns the first key in a text that is not empty, and the number of its bytes. key is "" if jjm top does not
// know it.
func keyOf(text string) (key string, n int) {
	if strings.HasPrefix(text, "\x1b[") || strings.HasPrefix(text, "\x1bO") {
		return sequence(text)
	}
	switch text[0] {
	case '\r', '\n':
		return "enter", 1
	case 3:
		return "ctrl-c", 1
	case 8, 127:
		return "backspace", 1
	case 27:
		return "escape", 1
	}
	r, n := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		return "", n
	}
	return text[:n], n
}

// sequence returns the key for the escape sequence at the beginning of a text (ECMA-48, CSI and SS3), and the number of
// its bytes. The sequence ends with the first byte from 0x40 on after its first two bytes.
func sequence(text string) (key string, n int) {
	end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= 0x40 })
	if end < 0 {
		return "", len(text)
	}
	n = 2 + end + 1
	return map[string]string{"A": "up", "B": "down", "H": "home", "F": "end", "5~": "page up", "6~": "page down",
		"1~": "home", "4~": "end"}[text[2:n]], n
}

// key handles the keys that need no request to the daemon.
func (v *topView) key(key string) {
	switch key {
	case "escape", "backspace":
		switch {
		case v.helped:
			v.helped = false
		case v.reasonsOf != 0:
			v.reasonsOf = 0
		default:
			v.filter = ""
		}
	case "?":
		v.helped = !v.helped
	case "s":
		v.sort = (v.sort + 1) % sortCount
	case "/":
		v.typing, v.helped, v.reasonsOf = true, false, 0
	default:
		v.move(key)
	}
}

// move handles the keys that select another grid job.
func (v *topView) move(key string) {
	rows, page := v.rows(), max(len(v.shown)-1, 1)
	by, ok := map[string]int{"up": -1, "k": -1, "down": 1, "j": 1, "page up": -page, "page down": page, "home": -len(rows),
		"end": len(rows)}[key]
	if !ok || len(rows) == 0 || v.helped || v.reasonsOf != 0 {
		return
	}
	at := v.position(rows)
	if at < 0 && by == 1 {
		at = v.first - 1 // the first grid job on the screen
	}
	v.selected = rows[max(min(at+by, len(rows)-1), 0)].Lookup.ID
}

// typeFilter handles the keys while the user types the filter.
func (v *topView) typeFilter(key string) {
	switch {
	case key == "enter":
		v.typing = false
	case key == "escape":
		v.typing, v.filter = false, ""
	case key == "backspace":
		_, n := utf8.DecodeLastRuneInString(v.filter)
		v.filter = v.filter[:len(v.filter)-n]
	case utf8.RuneCountInString(key) == 1 && utf8.RuneCountInString(v.filter) < maxFilter:
		v.filter += key
	}
	v.selected, v.first = jjm.GridID(0), 0
}
