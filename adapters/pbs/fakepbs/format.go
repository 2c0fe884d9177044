package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// jsonHead returns the beginning of the JSON, up to the last member that is always there.
func jsonHead(now time.Time) string {
	return fmt.Sprintf("{\n    \"timestamp\":%d,\n    \"pbs_version\":%q,\n    \"pbs_server\":%q", now.Unix(), version,
		server)
}

// jsonText writes records as qstat 23.06.06 does. Without records the member and the last
// newline are missing.
func jsonText(member string, records []record, now time.Time) []byte {
	head := jsonHead(now)
	if len(records) == 0 {
		return []byte(head + "\n}")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s,\n    %q:{", head, member)
	for i, r := range records {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n        \"%s\":{", r.id)
		jsonRecord(&b, r)
		b.WriteString("\n        }")
	}
	b.WriteString("\n    }\n}\n")
	return []byte(b.String())
}

func jsonRecord(b *strings.Builder, r record) {
	group, first := "", true
	comma := func() {
		if !first {
			b.WriteByte(',')
		}
		first = false
	}
	leave := func() {
		if group != "" {
			b.WriteString("\n            }")
			group, first = "", false
		}
	}
	for _, a := range r.attrs {
		outer, inner, grouped := strings.Cut(a.name, ".")
		if !grouped || outer != group {
			leave()
		}
		switch {
		case a.name == "Variable_List":
			comma()
			b.WriteString("\n            \"Variable_List\":{")
			jsonVariables(b, r.vars)
			b.WriteString("\n            }")
		case grouped && group == "":
			comma()
			fmt.Fprintf(b, "\n            %q:{", outer)
			group, first = outer, true
			fallthrough
		case grouped:
			comma()
			fmt.Fprintf(b, "\n                \"%s\":%s", inner, jsonValue(a.value, true))
		default:
			comma()
			fmt.Fprintf(b, "\n            \"%s\":%s", a.name, jsonValue(a.value, true))
		}
	}
	leave()
}

// jsonVariables writes Variable_List, where backslashes are not escaped and an
// empty value swallows the member after it.
func jsonVariables(b *strings.Builder, vars []pair) {
	for i := 0; i < len(vars); i++ {
		if i > 0 && b.String()[b.Len()-1] != '{' {
			b.WriteByte(',')
		}
		name, value := vars[i].name, vars[i].value
		if value == "" && i+1 < len(vars) {
			i++
			value = "," + vars[i].name + "=" + vars[i].value
		}
		fmt.Fprintf(b, "\n                \"%s\":%s", name, jsonValue(value, false))
	}
}

// quotedNumber matches numbers of strtod(3) that the writer nevertheless quotes.
var quotedNumber = regexp.MustCompile(`^[+-]?0[0-9xX]|_|^[+-]?0[xX]`)

// beginsNumber are the bytes with which a number of strtod(3) can start, nan and inf
// included. Most values are text, which the first byte shows.
const beginsNumber = "+-.0123456789iInN"

// escaped escapes what the writer escapes; it is safe for concurrent use.
var escaped = strings.NewReplacer(`"`, `\"`, "\n", `\n`, "\t", `\t`)

// jsonValue writes a value. It is not quoted if strtod(3) would read all of it, which
// includes +5, .5 and nan.
func jsonValue(v string, _ bool) string {
	if v != "" && strings.IndexByte(beginsNumber, v[0]) >= 0 && !quotedNumber.MatchString(v) {
		if _, err := strconv.ParseFloat(v, 64); err == nil || strings.Contains(fmt.Sprint(err), "range") {
			return v
		}
	}
	return `"` + escaped.Replace(v) + `"`
}

// dsvText writes one line for each record.
func dsvText(records []record, delimiter string) []byte {
	var out []byte
	for _, r := range records {
		line := "Job Id: " + r.id
		for _, a := range r.attrs {
			if a.name == "Variable_List" {
				a.value = list(r.vars)
			}
			line += delimiter + a.name + "=" + a.value
		}
		out = append(out, line+"\n"...)
	}
	return out
}

func list(vars []pair) string {
	items := make([]string, len(vars))
	for i, v := range vars {
		items[i] = v.name + "=" + v.value
	}
	return strings.Join(items, ",")
}

// plainText writes qstat -f: lines of at most 79 columns, broken after commas.
func plainText(kind string, records []record, wide bool) []byte {
	var out []byte
	for _, r := range records {
		if kind == "Job Id" {
			out = append(out, "Job Id: "+r.id+"\n"...)
		} else {
			out = append(out, kind+": "+r.id+"\n"...)
		}
		for _, a := range r.attrs {
			if a.name == "Variable_List" {
				a.value = list(r.vars)
			}
			out = append(out, "    "+a.name+" = "...)
			if wide {
				out = append(out, a.value...)
			} else {
				out = append(out, wrap(a.value, 7+len(a.name))...)
			}
			out = append(out, '\n')
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
