package main

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// jsonText writes jobs as qstat 23.06.06 does. Without any the member Jobs and the last
// newline are missing.
func jsonText(jobs []record) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n    \"timestamp\":%d,\n    \"pbs_version\":%q,\n    \"pbs_server\":%q", time.Now().Unix(), version,
		server)
	if len(jobs) == 0 {
		return []byte(b.String() + "\n}")
	}
	b.WriteString(",\n    \"Jobs\":{")
	for i, r := range jobs {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n        \"%s\":{%s\n        }", r.id, jsonRecord(r))
	}
	b.WriteString("\n    }\n}\n")
	return []byte(b.String())
}

// jsonRecord writes the members of a job; those with the same word before a dot are a group.
func jsonRecord(r record) string {
	var items []string
	var group []pair
	for i, a := range r.attrs {
		outer, inner, grouped := strings.Cut(a.name, ".")
		switch {
		case a.name == "Variable_List":
			items = append(items, jsonGroup(a.name, r.vars))
		case grouped:
			group = append(group, pair{inner, a.value})
			if i+1 == len(r.attrs) || !strings.HasPrefix(r.attrs[i+1].name, outer+".") {
				items, group = append(items, jsonGroup(outer, group)), nil
			}
		default:
			items = append(items, "\n            \""+a.name+"\":"+jsonValue(a.value))
		}
	}
	return strings.Join(items, ",")
}

func jsonGroup(name string, members []pair) string {
	items := make([]string, len(members))
	for i, m := range members {
		items[i] = "\n                \"" + m.name + "\":" + jsonValue(m.value)
	}
	return "\n            \"" + name + "\":{" + strings.Join(items, ",") + "\n            }"
}

// quotedNumber matches numbers of strtod(3) that the writer nevertheless quotes.
var quotedNumber = regexp.MustCompile(`^[+-]?0[0-9xX]|_`)

// beginsNumber are the bytes with which a number of strtod(3) can start, nan and inf
// included. Most values are text, which the first byte shows.
const beginsNumber = "+-.0123456789iInN"

// escaped escapes what the writer escapes; it is safe for concurrent use.
var escaped = strings.NewReplacer(`"`, `\"`, "\n", `\n`, "\t", `\t`)

// jsonValue writes a value. It is not quoted if strtod(3) would read all of it, which
// includes +5, .5 and nan.
func jsonValue(v string) string {
	if v != "" && strings.IndexByte(beginsNumber, v[0]) >= 0 && !quotedNumber.MatchString(v) {
		if _, err := strconv.ParseFloat(v, 64); err == nil || strings.Contains(fmt.Sprint(err), "range") {
			return v
		}
	}
	return `"` + escaped.Replace(v) + `"`
}

func list(vars []pair) string {
	items := make([]string, len(vars))
	for i, v := range vars {
		items[i] = v.name + "=" + v.value
	}
	return strings.Join(items, ",")
}

// plainText writes qstat -f: lines of at most 79 columns, broken after commas.
func plainText(kind string, records []record) []byte {
	var out []byte
	for _, r := range records {
		out = append(out, kind+": "+r.id+"\n"...)
		for _, a := range r.attrs {
			out = append(out, "    "+a.name+" = "+wrap(a.value, 7+len(a.name))+"\n"...)
		}
		out = append(out, '\n')
	}
	return out
}

// columns is the width at which the plain form breaks a line.
const columns = 79

// wrap breaks text after commas, or anywhere if there is no comma.
func wrap(text string, column int) string {
	var b strings.Builder
	for text != "" {
		word := text
		if i := strings.IndexByte(text, ','); i >= 0 {
			word = text[:i+1]
		}
		text = text[len(word):]
		if column+len(word) > columns && column > 8 && len(word) <= columns-8 && b.Len() > 0 {
			b.WriteString("\n\t")
			column = 8
		}
		for column+len(word) > columns {
			cut := columns - column
			b.WriteString(word[:cut] + "\n\t")
			word, column = word[cut:], 8
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// xmlText is Torque's qstat -x: one line, nothing at all if there are no jobs.
func xmlText(records []record) []byte {
	if len(records) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("<Data>")
	for _, r := range records {
		b.WriteString("<Job><Job_Id>" + r.id + "</Job_Id>")
		group := ""
		enter := func(name string) {
			if group != "" && name != group {
				b.WriteString("</" + group + ">")
			}
			if name != "" && name != group {
				b.WriteString("<" + name + ">")
			}
			group = name
		}
		for _, a := range r.attrs {
			name := a.name
			if outer, inner, grouped := strings.Cut(a.name, "."); grouped {
				enter(outer)
				name = inner
			} else {
				enter("")
			}
			b.WriteString("<" + name + ">")
			_ = xml.EscapeText(&b, []byte(a.value))
			b.WriteString("</" + name + ">")
		}
		enter("")
		b.WriteString("</Job>")
	}
	b.WriteString("</Data>\n")
	return []byte(b.String())
}
