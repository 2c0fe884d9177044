package gram

import (
	"maps"
	"slices"
	"strings"
)

// String writes the description as RSL that ParseRSL can parse.
func (d Description) String() string {
	var b strings.Builder
	b.WriteByte('&')
	for _, name := range slices.Sorted(maps.Keys(d)) {
		b.WriteByte('(')
		b.WriteString(name)
		b.WriteByte('=')
		writeValues(&b, d[name])
		b.WriteString(")\n")
	}
	return b.String()
}

func writeValues(b *strings.Builder, values []Value) {
	for i, v := range values {
		if i > 0 {
			b.WriteByte(' ')
		}
		if v.List != nil {
			b.WriteByte('(')
			writeValues(b, v.List)
			b.WriteByte(')')
			continue
		}
		b.WriteByte('"')
		b.WriteString(strings.ReplaceAll(v.Word, `"`, `""`))
		b.WriteByte('"')
	}
}
